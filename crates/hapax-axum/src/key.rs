//! Where a delivery's id is, and the key it becomes.
//!
//! An id has one or more parts. Each part is 1 to [`ID_MOST`] bytes of UTF-8 without
//! control characters. The key is the scope and the parts, each behind its length, so
//! that no two different lists meet.

use crate::{
    BuildError, MissingId, Reason, Scope,
    pointer::Pointer,
    signature::{Signed, header_name},
};
use axum::extract::OriginalUri;
use bytes::Bytes;
use hapax_store::Key;
use http::{HeaderMap, HeaderName, header::CONTENT_TYPE, request::Parts};
use percent_encoding::percent_decode;
use serde_json::value::RawValue;
use sha2::{Digest, Sha256};
use std::{borrow::Cow, fmt, sync::Arc};

/// The longest part of an id, in bytes.
pub const ID_MOST: usize = 255;

/// Tells where the id of a delivery is.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum IdSource {
    /// The body is one event; its id is these parts together.
    ///
    /// The first part is what [`Delivery::id`](crate::Delivery::id) shows.
    Parts(Cow<'static, [IdPart]>),
    /// The body is a JSON array of events; the id of each is these parts, whose
    /// pointers start at the item.
    Items(Cow<'static, [IdPart]>),
    /// CloudEvents: `id` and `source`, from `ce-` headers (binary mode), from the body
    /// (`application/cloudevents+json`), or from each item of a batch
    /// (`application/cloudevents-batch+json`).
    CloudEvents,
}

/// Names one part of an id.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum IdPart {
    /// A header's value. Most senders do not sign their headers: see
    /// [`IdPart::BodyHash`].
    Header(Cow<'static, str>),
    /// The header that the signature scheme names and that was part of what was signed.
    SignedHeader,
    /// The string at a JSON pointer (RFC 6901) into the body.
    Pointer(Cow<'static, str>),
    /// The SHA-256 of the body. Beside an unsigned id header it ties the id to what was
    /// signed: nobody can use up the id of an event with another body.
    BodyHash,
    /// What a function finds.
    Function(IdFn),
}

/// A function from a request to a part of its id.
#[derive(Clone)]
pub struct IdFn(Arc<Finding>);

type Finding = dyn Fn(&Parts, &Bytes) -> Result<String, Reason> + Send + Sync;

impl IdSource {
    /// Takes the id from one part.
    #[must_use]
    pub fn part(part: IdPart) -> Self {
        Self::Parts(Cow::Owned(vec![part]))
    }

    /// Composes the id of several parts.
    pub fn parts(parts: impl IntoIterator<Item = IdPart>) -> Self {
        Self::Parts(parts.into_iter().collect())
    }

    /// Takes the id from a header.
    pub fn header(name: impl Into<Cow<'static, str>>) -> Self {
        Self::part(IdPart::Header(name.into()))
    }

    /// Takes the id from the string at a JSON pointer, such as `/data/id`.
    pub fn pointer(pointer: impl Into<Cow<'static, str>>) -> Self {
        Self::part(IdPart::Pointer(pointer.into()))
    }

    /// Takes the id from a function of the request and its raw body.
    ///
    /// A refusal should be one of the id reasons of [`Reason`]; any is answered with
    /// its own status. A panic is answered 500 ([`Reason::CheckPanicked`]).
    pub fn function(
        f: impl Fn(&Parts, &Bytes) -> Result<String, Reason> + Send + Sync + 'static,
    ) -> Self {
        Self::part(IdPart::Function(IdFn(Arc::new(f))))
    }

    /// Reads the body as an array of events with the id of each at a JSON pointer.
    pub fn items(pointer: impl Into<Cow<'static, str>>) -> Self {
        Self::Items(Cow::Owned(vec![IdPart::Pointer(pointer.into())]))
    }
}

impl IdSource {
    /// Tells whether the id is, in part, the header that was signed.
    pub(crate) fn needs_signed_header(&self) -> bool {
        let (Self::Parts(parts) | Self::Items(parts)) = self else {
            return false;
        };
        parts
            .iter()
            .any(|part| matches!(part, IdPart::SignedHeader))
    }
}

impl fmt::Debug for IdFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("IdFn")
    }
}

/// An id and the key it became.
#[derive(Debug)]
pub(crate) struct Named {
    pub(crate) id: Arc<str>,
    pub(crate) key: Key,
}

/// What the finder found.
pub(crate) enum Found {
    /// One event; no name if the policy lets nameless ones pass.
    One(Option<Named>),
    /// An array of events.
    Many(Vec<FoundItem>),
}

/// One event of an array.
pub(crate) struct FoundItem {
    pub(crate) name: Option<Named>,
    pub(crate) body: Bytes,
}

/// Finds ids. Built once from an [`IdSource`].
#[derive(Debug)]
pub(crate) struct IdFinder {
    source: Source,
    missing: MissingId,
    scope: Scope,
    items_most: usize,
}

#[derive(Debug)]
enum Source {
    One(Vec<Part>),
    Items(Vec<Part>),
    CloudEvents {
        binary: Vec<Part>,
        structured: Vec<Part>,
    },
}

#[derive(Debug)]
enum Part {
    Header(HeaderName),
    /// A header that may be percent-encoded.
    EncodedHeader(HeaderName),
    SignedHeader,
    Pointer(Pointer),
    BodyHash,
    Function(IdFn),
}

impl IdFinder {
    pub(crate) fn build(
        source: &IdSource,
        bind_body: bool,
        missing: MissingId,
        scope: Scope,
        items_most: usize,
    ) -> Result<Self, BuildError> {
        let extra = bind_body.then_some(IdPart::BodyHash);
        let build = |parts: &[IdPart]| {
            let parts = parts.iter().chain(&extra).map(Part::build);
            parts.collect::<Result<Vec<_>, _>>()
        };
        let source = match source {
            IdSource::Parts(parts) => Source::One(build(parts)?),
            IdSource::Items(parts) => Source::Items(build(parts)?),
            IdSource::CloudEvents => Source::CloudEvents {
                binary: vec![
                    Part::EncodedHeader(HeaderName::from_static("ce-id")),
                    Part::EncodedHeader(HeaderName::from_static("ce-source")),
                ],
                structured: vec![
                    Part::Pointer(Pointer::parse("/id")?),
                    Part::Pointer(Pointer::parse("/source")?),
                ],
            },
        };
        Ok(Self {
            source,
            missing,
            scope,
            items_most,
        })
    }

    pub(crate) fn find(
        &self,
        parts: &Parts,
        body: &Bytes,
        signed: &Signed,
    ) -> Result<Found, Reason> {
        let request = Request {
            parts,
            body,
            signed,
        };
        match &self.source {
            Source::One(list) => self.name(list, request).map(Found::One),
            Source::Items(list) => self.items(list, request),
            Source::CloudEvents { binary, structured } => match cloud_events_mode(parts) {
                Mode::Binary => self.name(binary, request).map(Found::One),
                Mode::Structured => self.name(structured, request).map(Found::One),
                Mode::Batch => self.items(structured, request),
            },
        }
    }

    fn items(&self, list: &[Part], request: Request<'_>) -> Result<Found, Reason> {
        let text = std::str::from_utf8(request.body).map_err(|_| Reason::NotJson)?;
        let items = match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(items) => items,
            // Not an array, or not JSON at all.
            Err(_) if serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok() => {
                return Err(Reason::NotArray);
            }
            Err(_) => return Err(Reason::NotJson),
        };
        if items.len() > self.items_most {
            return Err(Reason::BatchTooLarge);
        }
        let items = items.into_iter().map(|item| {
            let body = request.body.slice_ref(item.get().as_bytes());
            let item = Request {
                body: &body,
                ..request
            };
            let name = self.name(list, item)?;
            Ok(FoundItem { name, body })
        });
        items.collect::<Result<_, _>>().map(Found::Many)
    }

    /// Names one event.
    fn name(&self, list: &[Part], request: Request<'_>) -> Result<Option<Named>, Reason> {
        let found = match list {
            // The usual case without a list of its own.
            [part] => part.find(request).map(|text| {
                let key = self.key(request.parts, &[text.as_bytes()]);
                let id = Arc::from(text);
                Named { id, key }
            }),
            list => list
                .iter()
                .map(|part| part.find(request))
                .collect::<Result<Vec<_>, _>>()
                .map(|texts| {
                    let pieces: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
                    let id = texts.first().map_or("", |text| text);
                    Named {
                        id: Arc::from(id),
                        key: self.key(request.parts, &pieces),
                    }
                }),
        };
        match (found, self.missing) {
            (Ok(named), _) => Ok(Some(named)),
            (Err(Reason::IdMissing), MissingId::PassThrough) => Ok(None),
            (Err(Reason::IdMissing), MissingId::BodyHash) => {
                let hash = body_hash(request.body);
                Ok(Some(Named {
                    // A part that no real id can be: it would have to be empty.
                    key: self.key(request.parts, &[b"", hash.as_bytes()]),
                    id: hash.into(),
                }))
            }
            (Err(reason), _) => Err(reason),
        }
    }

    fn key(&self, parts: &Parts, id: &[&[u8]]) -> Key {
        match &self.scope {
            Scope::Path => {
                // Nested routers shorten the path; two of them may then look alike.
                let original = parts.extensions.get::<OriginalUri>();
                let uri = original.map_or(&parts.uri, |original| &original.0);
                Key::from_parts(uri.path(), id)
            }
            Scope::Named(name) => Key::from_parts(name, id),
            Scope::Function(f) => Key::from_parts(&f(parts), id),
        }
    }
}

/// What a part may look at.
#[derive(Clone, Copy)]
struct Request<'a> {
    parts: &'a Parts,
    body: &'a Bytes,
    signed: &'a Signed,
}

impl Part {
    fn build(part: &IdPart) -> Result<Self, BuildError> {
        Ok(match part {
            IdPart::Header(name) => Self::Header(header_name(name)?),
            IdPart::SignedHeader => Self::SignedHeader,
            IdPart::Pointer(pointer) => Self::Pointer(Pointer::parse(pointer)?),
            IdPart::BodyHash => Self::BodyHash,
            IdPart::Function(f) => Self::Function(f.clone()),
        })
    }

    fn find<'a>(&self, request: Request<'a>) -> Result<Cow<'a, str>, Reason> {
        let text = match self {
            Self::Header(name) => Cow::Borrowed(header(&request.parts.headers, name)?),
            Self::EncodedHeader(name) => {
                let value = header(&request.parts.headers, name)?;
                percent_decode(value.as_bytes())
                    .decode_utf8()
                    .map_err(|_| Reason::IdUnprintable)?
            }
            Self::SignedHeader => match &request.signed.id_header {
                Some(name) => {
                    // The name lives in `signed`, the value in the request.
                    Cow::Borrowed(header(&request.parts.headers, name)?)
                }
                None => return Err(Reason::IdMissing),
            },
            Self::Pointer(pointer) => pointer.find(request.body)?,
            Self::BodyHash => Cow::Owned(body_hash(request.body)),
            Self::Function(f) => Cow::Owned((f.0)(request.parts, request.body)?),
        };
        check(&text)?;
        Ok(text)
    }
}

fn header<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Reason> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Err(Reason::IdMissing),
        (Some(_), Some(_)) => Err(Reason::IdRepeated),
        (Some(value), None) => {
            std::str::from_utf8(value.as_bytes()).map_err(|_| Reason::IdUnprintable)
        }
    }
}

/// Refuses what must not be an id.
fn check(text: &str) -> Result<(), Reason> {
    if text.trim().is_empty() {
        Err(Reason::IdEmpty)
    } else if text.len() > ID_MOST {
        Err(Reason::IdTooLong)
    } else if text.chars().any(char::is_control) {
        Err(Reason::IdUnprintable)
    } else {
        Ok(())
    }
}

fn body_hash(body: &[u8]) -> String {
    hex::encode(Sha256::digest(body))
}

enum Mode {
    Binary,
    Structured,
    Batch,
}

/// Tells the mode by the media type alone, as the HTTP binding does.
/// <https://github.com/cloudevents/spec/blob/v1.0.2/cloudevents/bindings/http-protocol-binding.md>
fn cloud_events_mode(parts: &Parts) -> Mode {
    let kind = parts.headers.get(CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim();
    if kind.eq_ignore_ascii_case("application/cloudevents-batch+json") {
        Mode::Batch
    } else if kind.eq_ignore_ascii_case("application/cloudevents+json") {
        Mode::Structured
    } else {
        Mode::Binary
    }
}
