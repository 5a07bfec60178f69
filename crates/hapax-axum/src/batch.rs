//! A body with several events: each is claimed, handled and settled for itself.
//!
//! The handler sees the items that came first and no others. It settles them all by
//! its answer, or one by one. The sender has one answer for the whole body, so:
//!
//! - every item is done now or was done before → the handler's answer, or a duplicate's;
//! - an item failed, or a copy of it is in flight → 503. The sender sends the body
//!   again, and then the items that are done are duplicates.

use crate::{
    DeliveryOutcome, Ending, Reason, Verdict,
    deliver::{self, Work},
    extract::Carried,
    guard::Guard,
    key::{FoundItem, Named},
    layer::{Leasing, Shared},
    observe, respond,
    service::BoxError,
};
use axum::{body::HttpBody, extract::Request, response::Response};
use bytes::{BufMut, Bytes, BytesMut};
use hapax_store::{ClaimStore, Key, Outcome, StoreError};
use http::{HeaderValue, header::CONTENT_LENGTH};
use std::{
    collections::HashSet,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};
use tower_service::Service;

/// The items of a batch that were seen for the first time. An extractor.
///
/// The request's body holds the same items, as a JSON array.
///
/// # Examples
///
/// ```
/// use axum::http::StatusCode;
/// use hapax_axum::Items;
///
/// # async fn store(_: &[u8]) -> bool { true }
/// async fn handler(items: Items) -> StatusCode {
///     for item in items.iter() {
///         if !store(item.body()).await {
///             item.fail(); // this one is sent again
///         }
///     }
///     StatusCode::OK
/// }
/// # let _ = handler;
/// ```
#[derive(Clone)]
pub struct Items(Arc<[Entry]>);

/// One item of a batch.
#[derive(Clone, Copy)]
pub struct Item<'a>(&'a Entry);

struct Entry {
    id: Arc<str>,
    body: Bytes,
    /// What the handler said about this item alone.
    verdict: Mutex<Option<Verdict>>,
}

impl Items {
    /// Returns the items in the order of the body.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Item<'_>> {
        self.0.iter().map(Item)
    }

    /// Returns how many there are; at least one.
    #[must_use]
    #[allow(clippy::len_without_is_empty)] // A handler is not called for nothing.
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

impl<'a> Item<'a> {
    /// Returns the item's id; empty where the policy let an item without one pass.
    #[must_use]
    pub fn id(&self) -> &'a str {
        &self.0.id
    }

    /// Returns the item's JSON, byte for byte as it came.
    #[must_use]
    pub fn body(&self) -> &'a Bytes {
        &self.0.body
    }

    /// Keeps this item done even if the handler fails as a whole. The last word on an
    /// item counts.
    pub fn complete(&self) {
        self.0.say(Verdict::Complete);
    }

    /// Releases this item even if the handler succeeds as a whole. The sender is asked
    /// to send the batch again.
    pub fn fail(&self) {
        self.0.say(Verdict::Release);
    }
}

impl Entry {
    fn say(&self, verdict: Verdict) {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner) = Some(verdict);
    }

    fn said(&self) -> Option<Verdict> {
        *self.verdict.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Items {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl fmt::Debug for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Item")
            .field("id", &observe::Hashed(self.id()))
            .field("bytes", &self.body().len())
            .finish()
    }
}

/// What claiming a batch came to.
#[derive(Default)]
struct Claims {
    /// The items for the handler.
    entries: Vec<Entry>,
    /// Their claims, in the same order; none for an item that is let through.
    guards: Vec<Option<Guard>>,
    /// Whether a copy of an item is being handled.
    in_flight: bool,
    /// The longest time until an item in flight may be free.
    remaining: Duration,
}

/// Claims the items and runs the handler with those that are first.
pub(crate) async fn deliver<S, ResB>(
    mut work: Work<S>,
    found: Vec<FoundItem>,
) -> Result<Response, S::Error>
where
    S: Service<Request, Response = Response<ResB>>,
    ResB: HttpBody<Data = Bytes> + Send + 'static,
    ResB::Error: Into<BoxError>,
{
    let shared = Arc::clone(&work.shared);
    let count = found.len();
    let attempt = work.attempt();
    let mut claims = match claim(&shared, attempt, found).await {
        Ok(claims) => claims,
        Err(response) => return Ok(response),
    };
    if claims.entries.is_empty() {
        return Ok(nothing_to_do(&shared, attempt, count, &claims));
    }

    let delivery = shared.delivery(Arc::from(""), attempt, DeliveryOutcome::Batch);
    if claims.entries.len() < count {
        work.body = join(&claims.entries);
        let length = HeaderValue::from(work.body.len());
        // Only where there was one: a chunked request has none.
        if let Some(old) = work.parts.headers.get_mut(CONTENT_LENGTH) {
            *old = length;
        }
    }
    let items = Items(std::mem::take(&mut claims.entries).into());
    work.carry(delivery.clone(), Carried::Items(items.clone()));
    let guards = tokio::sync::Mutex::new(std::mem::take(&mut claims.guards));
    let ran = work.run(keep_alive(&guards, shared.rules.leasing)).await;

    let (answer, overall) = deliver::judge(&shared, &delivery, ran);
    let mut failed = false;
    let mut lost = false;
    for (entry, guard) in items.0.iter().zip(guards.into_inner()) {
        let verdict = entry.said().unwrap_or(overall);
        failed |= verdict == Verdict::Release;
        let ending = match (guard, verdict) {
            (None, _) => Ending::Unchecked,
            (Some(guard), Verdict::Complete) => match guard.complete().await {
                Ok(()) => Ending::Completed,
                Err(_) => Ending::Lost,
            },
            (Some(guard), Verdict::Release) => {
                let _ = guard.release().await;
                Ending::Released
            }
        };
        lost |= ending == Ending::Lost;
        observe::ended(&shared, &entry.id, ending);
    }
    let ending = match (failed, claims.in_flight, lost) {
        (true, _, _) => Ending::Released,
        (false, true, _) => Ending::InFlight,
        (false, false, true) => Ending::Lost,
        (false, false, false) => Ending::Completed,
    };
    let answer = answer?;
    // A success that is not the whole truth would make the sender stop.
    let incomplete = failed || claims.in_flight;
    let answer = if incomplete && answer.status().is_success() {
        respond::try_again()
    } else {
        answer
    };
    Ok(respond::finish(&shared, answer, ending))
}

/// Claims each id once; an item that stands twice in the body is its own duplicate.
async fn claim(
    shared: &Arc<Shared>,
    attempt: Option<u32>,
    found: Vec<FoundItem>,
) -> Result<Claims, Response> {
    let mut claims = Claims::default();
    let mut seen = HashSet::new();
    let mut items = Vec::with_capacity(found.len());
    let mut keys: Vec<Key> = Vec::with_capacity(found.len());
    for item in found {
        if let Some(Named { id, key }) = &item.name {
            if !seen.insert(key.clone()) {
                shared.counting.duplicate.add(1);
                observe::ended(shared, id, Ending::Duplicate);
                continue;
            }
            keys.push(key.clone());
        }
        items.push(item);
    }

    let length = shared.rules.leasing.length;
    let claiming = shared.store.claim_many(&keys, length);
    let answers = match deliver::in_time(shared, claiming).await {
        Ok(answers) => answers,
        // Asked together, late together.
        Err(late) => keys
            .iter()
            .map(|_| Err(StoreError::new(late.kind())))
            .collect(),
    };
    let mut answers = answers.into_iter();
    for FoundItem { name, body } in items {
        let (id, guard) = match name {
            None => (Arc::from(""), None),
            Some(Named { id, .. }) => match answers.next() {
                Some(Ok(Outcome::First(lease))) => {
                    shared.counting.first.add(1);
                    let delivery =
                        shared.delivery(Arc::clone(&id), attempt, DeliveryOutcome::First);
                    let guard = Guard::new(lease, Arc::clone(shared), delivery);
                    (id, Some(guard))
                }
                Some(Ok(Outcome::Duplicate { .. })) => {
                    shared.counting.duplicate.add(1);
                    observe::ended(shared, &id, Ending::Duplicate);
                    continue;
                }
                Some(Ok(Outcome::InFlight { remaining })) => {
                    shared.counting.in_flight.add(1);
                    claims.in_flight = true;
                    claims.remaining = claims.remaining.max(remaining);
                    observe::ended(shared, &id, Ending::InFlight);
                    continue;
                }
                Some(Err(error)) => match deliver::refusal(shared, &error) {
                    // Returning drops the guards: what was won is free again.
                    Some(reason) => return Err(respond::refuse(shared, reason)),
                    None => (id, None),
                },
                // A store that answers less than it was asked has not claimed the rest.
                None => return Err(respond::refuse(shared, Reason::StoreUnavailable)),
            },
        };
        if guard.is_none() {
            shared.counting.unchecked.add(1);
        }
        claims.entries.push(Entry {
            id,
            body,
            verdict: Mutex::new(None),
        });
        claims.guards.push(guard);
    }
    Ok(claims)
}

/// Answers a batch without a first item. An empty array is done before it began.
fn nothing_to_do(shared: &Shared, attempt: Option<u32>, count: usize, claims: &Claims) -> Response {
    if claims.in_flight {
        let answer = respond::in_flight(shared, claims.remaining);
        return respond::finish(shared, answer, Ending::InFlight);
    }
    let delivery = shared.delivery(Arc::from(""), attempt, DeliveryOutcome::Duplicate);
    let answer = respond::duplicate(shared, &delivery);
    if count > 0 {
        return respond::finish(shared, answer, Ending::Duplicate);
    }
    shared.counting.empty.add(1);
    observe::ended(shared, "", Ending::Empty);
    respond::finish(shared, answer, Ending::Empty)
}

/// Extends all claims of a batch again and again; never ends.
async fn keep_alive(guards: &tokio::sync::Mutex<Vec<Option<Guard>>>, leasing: Leasing) {
    let Some(every) = leasing.extend_every else {
        return std::future::pending().await;
    };
    loop {
        tokio::time::sleep(every).await;
        for guard in guards.lock().await.iter_mut().flatten() {
            // Settling will find a lost one and count it.
            let _ = guard.extend(leasing.length).await;
        }
    }
}

/// Writes the items as a JSON array again.
fn join(entries: &[Entry]) -> Bytes {
    let length: usize = entries.iter().map(|entry| entry.body.len() + 1).sum();
    let mut body = BytesMut::with_capacity(length + 1);
    body.put_u8(b'[');
    for (i, entry) in entries.iter().enumerate() {
        if i > 0 {
            body.put_u8(b',');
        }
        body.put_slice(&entry.body);
    }
    body.put_u8(b']');
    body.freeze()
}
