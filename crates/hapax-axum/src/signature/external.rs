//! The user's own check.

use bytes::Bytes;
use http::{HeaderMap, Uri};
use std::{error::Error, fmt, future::Future, pin::Pin, sync::Arc};

/// Checks requests in a way that no scheme here describes: certificates, an identity
/// provider's tokens.
///
/// # Examples
///
/// ```
/// use hapax_axum::signature::{SignedRequest, Verify, VerifyError};
///
/// struct ByAddress;
///
/// impl Verify for ByAddress {
///     async fn verify(&self, request: &SignedRequest) -> Result<(), VerifyError> {
///         match request.headers.get("x-client-cert-subject") {
///             Some(subject) if subject == "CN=acme" => Ok(()),
///             Some(_) => Err(VerifyError::Wrong),
///             None => Err(VerifyError::Missing),
///         }
///     }
/// }
/// ```
pub trait Verify: Send + Sync + 'static {
    /// Checks one request.
    ///
    /// # Panics
    ///
    /// A panic is answered 500 and counted as
    /// [`Reason::CheckPanicked`](crate::Reason::CheckPanicked).
    ///
    /// # Errors
    ///
    /// [`VerifyError::Missing`] and [`Wrong`](VerifyError::Wrong) are answered 401,
    /// [`Unavailable`](VerifyError::Unavailable) 503, so that the sender retries.
    ///
    /// # Cancellation
    ///
    /// Dropped when the sender hangs up, or after
    /// [`Builder::store_timeout`](crate::Builder::store_timeout), which is answered 503:
    /// nothing is claimed yet.
    fn verify(
        &self,
        request: &SignedRequest,
    ) -> impl Future<Output = Result<(), VerifyError>> + Send;
}

/// Shows a verifier what came.
#[derive(Clone)]
#[non_exhaustive]
pub struct SignedRequest {
    /// The headers, as they came.
    pub headers: HeaderMap,
    /// The target, shortened by nested routers.
    pub uri: Uri,
    /// The raw body.
    pub body: Bytes,
}

impl fmt::Debug for SignedRequest {
    /// Shows which headers there are and how long the body is: values are tokens, ids
    /// and the sender's data.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SignedRequest")
            .field("path", &self.uri.path())
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("bytes", &self.body.len())
            .finish_non_exhaustive()
    }
}

/// Tells why a request was not accepted.
#[derive(Debug)]
#[non_exhaustive]
pub enum VerifyError {
    /// There is nothing to check.
    Missing,
    /// It was checked and is not the sender's.
    Wrong,
    /// It could not be checked just now.
    Unavailable(Box<dyn Error + Send + Sync>),
}

impl fmt::Display for VerifyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Missing => "the request is not signed",
            Self::Wrong => "the signature is wrong",
            Self::Unavailable(_) => "the signature could not be checked",
        })
    }
}

impl Error for VerifyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Unavailable(source) => Some(&**source),
            _ => None,
        }
    }
}

/// A check under way.
pub(crate) type Verifying = Pin<Box<dyn Future<Output = Result<(), VerifyError>> + Send>>;

/// [`Verify`] as a trait object.
pub(crate) trait DynVerify: Send + Sync {
    fn verify(self: Arc<Self>, request: SignedRequest) -> Verifying;
}

impl<V: Verify> DynVerify for V {
    fn verify(self: Arc<Self>, request: SignedRequest) -> Verifying {
        Box::pin(async move { Verify::verify(&*self, &request).await })
    }
}

impl SignedRequest {
    pub(crate) fn new(parts: &http::request::Parts, body: &Bytes) -> Self {
        Self {
            headers: parts.headers.clone(),
            uri: parts.uri.clone(),
            body: body.clone(),
        }
    }
}
