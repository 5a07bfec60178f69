//! Is this request from who it says it is? Answered before the store is touched.
//!
//! A [`Scheme`] is data: which header, which digest, what was signed. `build()` turns
//! it and the secrets into a verifier, which holds keyed states and no plain secret it
//! does not need. Every comparison is in constant time, and the work for
//! one request is bounded: at most [`SECRETS_MOST`] secrets times
//! [`CANDIDATES_MOST`] signatures, one pass over the body per secret.

mod ecdsa;
mod external;
mod hmac;
mod hmac_scheme;
mod time;
mod token;
mod twilio;

pub use ecdsa::EcdsaScheme;
pub(crate) use external::{DynVerify, Verifying};
pub use external::{SignedRequest, Verify, VerifyError};
pub use hmac_scheme::{BasePart, Digest, Encoding, HmacScheme, KeyForm, SignatureForm};
pub(crate) use time::WallClock;
pub use time::{TimeUnit, Timestamp};
pub use token::TokenScheme;

use crate::{BuildError, Reason};
use bytes::Bytes;
use http::{HeaderMap, HeaderName, HeaderValue, request::Parts};
use std::{borrow::Cow, sync::Arc, time::Duration};

/// Most secrets one layer takes: enough for any rotation.
pub const SECRETS_MOST: usize = 16;

/// Most signatures compared in one header value; a longer list is refused.
pub const CANDIDATES_MOST: usize = 16;

/// Longest signature header that is looked at, in bytes.
const HEADER_MOST: usize = 4096;

/// Describes how a provider proves that a request is its own.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Scheme {
    /// Nothing is proven. Anyone who can reach the endpoint can claim any id, and so
    /// make the real event vanish. For closed networks.
    Unsigned,
    /// A keyed hash over the body and more. Where there are several, the first whose
    /// signature header came is used.
    Hmac(Cow<'static, [HmacScheme]>),
    /// A shared token in a header. Proves nothing about the body.
    Token(TokenScheme),
    /// Twilio's: the URL and the sorted form fields, or the URL with the body's hash.
    Twilio,
    /// A signature under the sender's public key.
    Ecdsa(EcdsaScheme),
    /// The user's own check, a [`Verify`]. Certificates, tokens of an identity
    /// provider, anything that must ask somebody.
    External,
}

impl Scheme {
    /// Describes a single keyed hash.
    #[must_use]
    pub fn hmac(scheme: HmacScheme) -> Self {
        Self::Hmac(Cow::Owned(vec![scheme]))
    }

    /// Tells whether secrets (or public keys) belong to the scheme.
    pub(crate) fn needs_secret(&self) -> bool {
        !matches!(self, Self::Unsigned | Self::External)
    }

    /// Tells whether every way to sign covers a header with the id.
    pub(crate) fn signs_id_header(&self) -> bool {
        match self {
            Self::Hmac(schemes) => schemes.iter().all(|scheme| scheme.id_header.is_some()),
            _ => false,
        }
    }

    /// Tells whether the URL is part of what is signed.
    pub(crate) fn needs_url(&self) -> bool {
        match self {
            Self::Twilio => true,
            Self::Hmac(schemes) => schemes.iter().any(HmacScheme::signs_url),
            _ => false,
        }
    }
}

/// What `build()` knows when it turns a scheme into a verifier.
pub(crate) struct Setup<'a> {
    pub(crate) provider: &'a str,
    pub(crate) secrets: &'a [Vec<u8>],
    pub(crate) url: Option<Arc<str>>,
    pub(crate) external: Option<Arc<dyn DynVerify>>,
    pub(crate) tolerance: Option<Duration>,
    pub(crate) clock: WallClock,
}

/// Checks requests. Built once, shared by all of them.
pub(crate) enum Verifier {
    Unsigned,
    Hmac(Vec<hmac::HmacVerifier>),
    Token(token::TokenVerifier),
    Twilio(twilio::TwilioVerifier),
    Ecdsa(ecdsa::EcdsaVerifier),
    External(Arc<dyn DynVerify>),
}

/// What the check found out beyond yes.
#[derive(Debug, Default)]
pub(crate) struct Signed {
    /// The header whose value is an id and was part of what was signed.
    pub(crate) id_header: Option<HeaderName>,
}

impl Verifier {
    pub(crate) fn build(scheme: &Scheme, setup: &Setup<'_>) -> Result<Self, BuildError> {
        Ok(match scheme {
            Scheme::Unsigned => Self::Unsigned,
            Scheme::Hmac(schemes) => Self::Hmac(
                schemes
                    .iter()
                    .map(|scheme| hmac::HmacVerifier::build(scheme, setup))
                    .collect::<Result<_, _>>()?,
            ),
            Scheme::Token(scheme) => Self::Token(token::TokenVerifier::build(scheme, setup)?),
            Scheme::Twilio => Self::Twilio(twilio::TwilioVerifier::build(setup)?),
            Scheme::Ecdsa(scheme) => Self::Ecdsa(ecdsa::EcdsaVerifier::build(scheme, setup)?),
            Scheme::External => match &setup.external {
                Some(external) => Self::External(Arc::clone(external)),
                None => {
                    return Err(BuildError::VerifierMissing {
                        provider: setup.provider.into(),
                    });
                }
            },
        })
    }

    /// Checks one request; `None` if somebody must be asked first.
    pub(crate) fn check(&self, parts: &Parts, body: &Bytes) -> Option<Result<Signed, Reason>> {
        Some(match self {
            Self::Unsigned => Ok(Signed::default()),
            Self::Hmac(families) => {
                let present = |family: &&hmac::HmacVerifier| family.is_present(&parts.headers);
                match families.iter().find(present) {
                    Some(family) => family.check(parts, body),
                    None => Err(Reason::SignatureMissing),
                }
            }
            Self::Token(token) => token.check(&parts.headers),
            Self::Twilio(twilio) => twilio.check(parts, body),
            Self::Ecdsa(ecdsa) => ecdsa.check(&parts.headers, body),
            Self::External(_) => return None,
        })
    }
}

/// Returns the one value of a header, refusing two.
fn single<'a>(
    headers: &'a HeaderMap,
    name: &HeaderName,
    missing: Reason,
) -> Result<&'a HeaderValue, Reason> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (Some(value), None) => Ok(value),
        (None, _) => Err(missing),
        (Some(_), Some(_)) => Err(Reason::SignatureRepeated),
    }
}

/// Returns the one value of a signature header as text of bounded length.
fn signature_text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<&'a str, Reason> {
    let value = single(headers, name, Reason::SignatureMissing)?;
    if value.len() > HEADER_MOST {
        return Err(Reason::SignaturesTooMany);
    }
    value.to_str().map_err(|_| Reason::SignatureMalformed)
}

/// Parses a header name given as data.
pub(crate) fn header_name(name: &str) -> Result<HeaderName, BuildError> {
    name.parse().map_err(|_| BuildError::HeaderName {
        given: name.to_owned(),
    })
}
