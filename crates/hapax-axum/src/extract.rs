//! Extractors: what a handler may ask of the layer in front of it.

use crate::{ClaimHandle, Delivery, DeliveryOutcome, Items, guard::Slot};
use axum::{
    extract::{FromRequest, FromRequestParts, OptionalFromRequestParts, Request},
    response::{IntoResponse, Response},
};
use http::{StatusCode, request::Parts};
use std::{convert::Infallible, error::Error, fmt, sync::Arc};

/// What the layer leaves in a request's extensions beside the [`Delivery`].
#[derive(Clone)]
pub(crate) enum Carried {
    /// The layer did not look at the request, by its method.
    Passed,
    /// One event and its claim.
    Claim(Arc<Slot>),
    /// Several events.
    Items(Items),
}

/// Extracts `T`, and vouches that the layer has checked the signature of the very
/// bytes `T` is made from.
///
/// It adds nothing to `T` but the proof that the layer is there: a route that lost its
/// layer answers 500 instead of believing anyone.
///
/// # Examples
///
/// ```
/// use axum::{Json, body::Bytes};
/// use hapax_axum::Verified;
///
/// async fn bytes(Verified(body): Verified<Bytes>) -> String {
///     format!("{} bytes", body.len())
/// }
///
/// async fn json(Verified(Json(event)): Verified<Json<serde_json::Value>>) -> String {
///     event["type"].to_string()
/// }
/// # let _ = (bytes, json);
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Verified<T>(pub T);

/// Tells why an extractor of this crate refuses. Answered 500: it is the service that
/// is put together wrongly, not the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MissingLayer {
    /// There is no `WebhookLayer` around this handler.
    NotThere,
    /// There is one, but it does not deduplicate this request's method.
    PassedBy,
    /// A [`ClaimHandle`] where there is no claim to take: the layer let the request
    /// through unchecked, or it is a batch. Ask for `Option<ClaimHandle>`.
    NoClaim,
    /// The claim was taken before.
    ClaimTaken,
    /// [`Items`] of a body that is not a batch.
    NoItems,
}

/// Tells why [`Verified`] refuses: the layer is missing, or `T` refuses.
#[derive(Debug)]
pub enum VerifiedRejection<R> {
    /// The layer is missing.
    Layer(MissingLayer),
    /// `T`'s own rejection.
    Inner(R),
}

impl<S: Send + Sync> FromRequestParts<S> for Delivery {
    type Rejection = MissingLayer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingLayer> {
        delivery(parts).cloned()
    }
}

/// `None` where the layer is missing or passed the request by.
impl<S: Send + Sync> OptionalFromRequestParts<S> for Delivery {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Option<Self>, Infallible> {
        Ok(delivery(parts).ok().cloned())
    }
}

impl<S: Send + Sync> FromRequestParts<S> for ClaimHandle {
    type Rejection = MissingLayer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingLayer> {
        delivery(parts)?;
        let Some(Carried::Claim(slot)) = parts.extensions.get() else {
            return Err(MissingLayer::NoClaim);
        };
        let slot = Arc::clone(slot);
        let guard = slot.take().await.ok_or(MissingLayer::ClaimTaken)?;
        Ok(Self::new(guard))
    }
}

/// `None` where there is no claim to take: the request was let through unchecked.
impl<S: Send + Sync> OptionalFromRequestParts<S> for ClaimHandle {
    type Rejection = MissingLayer;

    async fn from_request_parts(
        parts: &mut Parts,
        state: &S,
    ) -> Result<Option<Self>, MissingLayer> {
        match <Self as FromRequestParts<S>>::from_request_parts(parts, state).await {
            Ok(handle) => Ok(Some(handle)),
            Err(MissingLayer::NoClaim) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Items {
    type Rejection = MissingLayer;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, MissingLayer> {
        let delivery = delivery(parts)?;
        match parts.extensions.get() {
            Some(Carried::Items(items)) => Ok(items.clone()),
            _ if delivery.outcome() == DeliveryOutcome::Batch => Err(MissingLayer::NotThere),
            _ => Err(MissingLayer::NoItems),
        }
    }
}

impl<S, T> FromRequest<S> for Verified<T>
where
    S: Send + Sync,
    T: FromRequest<S>,
{
    type Rejection = VerifiedRejection<T::Rejection>;

    async fn from_request(request: Request, state: &S) -> Result<Self, Self::Rejection> {
        let (parts, body) = request.into_parts();
        delivery(&parts).map_err(VerifiedRejection::Layer)?;
        T::from_request(Request::from_parts(parts, body), state)
            .await
            .map(Self)
            .map_err(VerifiedRejection::Inner)
    }
}

fn delivery(parts: &Parts) -> Result<&Delivery, MissingLayer> {
    match parts.extensions.get() {
        Some(delivery) => Ok(delivery),
        None => match parts.extensions.get() {
            Some(Carried::Passed) => Err(MissingLayer::PassedBy),
            _ => Err(MissingLayer::NotThere),
        },
    }
}

impl fmt::Display for MissingLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotThere => "missing layer: add a hapax_axum::WebhookLayer to this route",
            Self::PassedBy => "the WebhookLayer of this route does not check this method",
            Self::NoClaim => "the WebhookLayer of this route holds no claim for this request",
            Self::ClaimTaken => "the claim of this delivery was already taken",
            Self::NoItems => "the body of this delivery is not a batch",
        })
    }
}

impl Error for MissingLayer {}

impl IntoResponse for MissingLayer {
    fn into_response(self) -> Response {
        (StatusCode::INTERNAL_SERVER_ERROR, self.to_string()).into_response()
    }
}

impl<R: fmt::Display> fmt::Display for VerifiedRejection<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Layer(layer) => layer.fmt(f),
            Self::Inner(inner) => inner.fmt(f),
        }
    }
}

impl<R: Error + 'static> Error for VerifiedRejection<R> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Layer(layer) => Some(layer),
            Self::Inner(inner) => Some(inner),
        }
    }
}

impl<R: IntoResponse> IntoResponse for VerifiedRejection<R> {
    fn into_response(self) -> Response {
        match self {
            Self::Layer(layer) => layer.into_response(),
            Self::Inner(inner) => inner.into_response(),
        }
    }
}
