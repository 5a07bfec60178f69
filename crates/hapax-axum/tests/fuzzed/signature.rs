//! Does the layer believe exactly what the second opinion believes?

use super::{
    draw::Draw,
    reference::{Plain, Sender, accepts},
    sender::{NOW_S, spoil, time},
};
use axum::{body::Body, extract::Request, response::Response};
use hapax_axum::{Ending, Handshake, IdSource, WebhookLayer};
use hapax_store::MemoryStore;
use http::{HeaderName, HeaderValue};
use std::{
    convert::Infallible,
    time::{Duration, UNIX_EPOCH},
};
use tower::{Layer, ServiceExt, service_fn};

/// Signs one request well, spoils it up to three times, and compares.
///
/// # Panics
///
/// If the two disagree.
pub(crate) fn signature(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let draw = &mut draw;
    let sender = draw.pick(Sender::KEYED);
    let known = sender.known(draw);
    let mut plain = draft(draw);
    let key = match draw.below(4) {
        0 | 1 => known.secrets[0].clone(),
        2 => known.secrets[1].clone(),
        _ => b"d3Jvbmc=".to_vec(),
    };
    let time = time(draw);
    let id = draw.pick(&["evt_1", "a.b", "", "\u{e9}"]);
    sender.sign(&mut plain, &known, &key, &time, id);
    for _ in 0..draw.below(4) {
        spoil(&mut plain, draw);
    }
    let Some(request) = real(&plain) else { return };

    let provider = sender.provider();
    let layer = WebhookLayer::builder(
        provider
            .id(IdSource::function(|_, _| Ok("id".into())))
            .handshake(Handshake::None),
        MemoryStore::new(Duration::from_secs(96 * 3600)),
    )
    .secrets(&known.secrets)
    .url(known.url.clone())
    .wall_clock(|| UNIX_EPOCH + Duration::from_secs(NOW_S as u64))
    .build()
    .expect("a good configuration");
    let handler =
        service_fn(|_: Request| async { Ok::<Response, Infallible>(Response::default()) });
    let answer = super::request::run(layer.layer(handler).oneshot(request));
    let Ok(answer) = answer;
    let ending = answer.extensions().get::<Ending>();
    let believed = ending == Some(&Ending::Completed);
    let expected = accepts(sender, &plain, &known);
    assert_eq!(
        believed, expected,
        "{sender:?}: the layer says {ending:?} to {plain:?}, knowing {known:?}"
    );
    assert!(believed || matches!(answer.status().as_u16(), 400 | 401));
}

/// A request before it is signed.
fn draft(draw: &mut Draw<'_>) -> Plain {
    let mut plain = Plain {
        target: draw
            .pick(&["/hook", "/hook?a=1", "/hook?", "/hook?bodySHA256=zz"])
            .into(),
        body: draw
            .pick(&[&b"a=1"[..], b"", b"{}", b"a=1&b=%41+%zz&a=1"])
            .into(),
        headers: Vec::new(),
    };
    match draw.below(3) {
        0 => {}
        1 => plain.headers.push((
            "content-type".into(),
            b"application/x-www-form-urlencoded".into(),
        )),
        _ => plain
            .headers
            .push(("content-type".into(), b"application/json".into())),
    }
    plain
}

/// The request as the layer gets it; none if no server would have passed it on.
pub(crate) fn real(plain: &Plain) -> Option<Request> {
    let mut request = Request::post(&plain.target)
        .body(Body::from(plain.body.clone()))
        .ok()?;
    for (name, value) in &plain.headers {
        // A server strips blanks around values before anybody sees them.
        let name = HeaderName::try_from(name).ok()?;
        let value = HeaderValue::from_bytes(value).ok()?;
        request.headers_mut().append(name, value);
    }
    Some(request)
}
