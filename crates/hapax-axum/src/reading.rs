//! A body, read up to a limit into one piece of memory.
//!
//! A body that comes in one frame is passed on as it is. From the second frame on there
//! is one buffer that grows: a list of the frames would cost a sender of single bytes
//! nothing and us thirty times the body's length, and each frame would hold on to the
//! connection's buffer it was cut from.

use crate::Reason;
use axum::body::{Body, HttpBody};
use bytes::{Bytes, BytesMut};
use http_body_util::LengthLimitError;
use std::{
    error::Error,
    pin::Pin,
    task::{Context, Poll, ready},
};

/// A body on its way. Holds at most the limit, and as much again while it grows.
pub(crate) struct Reading {
    body: Body,
    limit: usize,
    /// The first frame, as long as it is the only one.
    first: Bytes,
    /// All frames, from the second one on.
    all: BytesMut,
}

impl Reading {
    pub(crate) fn new(body: Body, limit: usize) -> Self {
        Self {
            body,
            limit,
            first: Bytes::new(),
            all: BytesMut::new(),
        }
    }

    /// Returns the whole body once it is there. Trailers are read and dropped.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Bytes, Reason>> {
        loop {
            let frame = match ready!(Pin::new(&mut self.body).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Err(broken(&error))),
                None => return Poll::Ready(Ok(self.take())),
            };
            if let Ok(data) = frame.into_data() {
                let length = self.first.len() + self.all.len();
                if data.len() > self.limit - length {
                    return Poll::Ready(Err(Reason::BodyTooLarge));
                }
                self.push(data);
            }
        }
    }

    fn push(&mut self, data: Bytes) {
        if self.all.is_empty() {
            if self.first.is_empty() {
                self.first = data;
                return;
            }
            self.all.reserve(self.first.len() + data.len());
            self.all.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.all.extend_from_slice(&data);
    }

    fn take(&mut self) -> Bytes {
        if self.all.is_empty() {
            std::mem::take(&mut self.first)
        } else {
            std::mem::take(&mut self.all).freeze()
        }
    }
}

/// Tells a body over the limit (another layer's, perhaps) from one that broke off.
fn broken(error: &(dyn Error + 'static)) -> Reason {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<LengthLimitError>() {
            return Reason::BodyTooLarge;
        }
        cause = error.source();
    }
    Reason::BodyBroken
}
