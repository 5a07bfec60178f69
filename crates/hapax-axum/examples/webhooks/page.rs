//! The live page, and the stream of server-sent events behind it.

use crate::{Service, status};
use axum::{
    extract::State,
    http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY},
    response::{
        Html, IntoResponse, Sse,
        sse::{Event, KeepAlive},
    },
};
use futures_util::{Stream, StreamExt, stream};
use std::{convert::Infallible, sync::Arc, time::Duration};

/// One file, nothing from elsewhere.
const PAGE: &str = include_str!("page.html");

/// Makes the browser refuse whatever is not in the page itself.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
                      img-src data:; connect-src 'self'; base-uri 'none'; form-action 'none'";

pub(crate) async fn page() -> impl IntoResponse {
    let headers = [
        (CONTENT_SECURITY_POLICY, POLICY),
        (CACHE_CONTROL, "no-cache"),
    ];
    (headers, Html(PAGE))
}

/// Sends the whole board, then a frame a second until the viewer leaves or the service
/// stops. A viewer that cannot keep up is cut off; its browser comes back by itself and
/// starts with the whole board.
pub(crate) async fn events(State(service): State<Arc<Service>>) -> impl IntoResponse {
    let (board, frames) = service.live.watch(&status::totals(&service));
    let later = stream::unfold(frames, |mut frames| async move {
        let frame = frames.recv().await.ok()?;
        Some((frame, frames))
    });
    let whole = Event::default().event("board").data(board);
    let all = stream::iter([whole])
        .chain(later.map(|frame| Event::default().event("tick").data(frame)))
        .take_until(service.stopping.clone().cancelled_owned());
    Sse::new(infallible(all)).keep_alive(KeepAlive::default())
}

/// Ends the page's seconds, one after the other.
pub(crate) async fn tick(service: Arc<Service>) {
    let mut seconds = tokio::time::interval(Duration::from_secs(1));
    loop {
        seconds.tick().await;
        service.live.tick(&status::totals(&service));
    }
}

fn infallible<T>(stream: impl Stream<Item = T>) -> impl Stream<Item = Result<T, Infallible>> {
    stream.map(Ok)
}
