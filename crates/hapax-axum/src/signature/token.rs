//! Shared tokens: the header holds the secret itself.

use super::{HEADER_MOST, Setup, Signed, header_name, signature_text};
use crate::{BuildError, Reason};
use http::{HeaderMap, HeaderName};
use std::borrow::Cow;
use subtle::ConstantTimeEq;

/// Describes a header that holds a shared token behind a fixed text.
#[derive(Debug, Clone)]
pub struct TokenScheme {
    pub(crate) header: Cow<'static, str>,
    pub(crate) prefix: Cow<'static, str>,
}

impl TokenScheme {
    /// Describes a header whose whole value is the token.
    pub fn header(name: impl Into<Cow<'static, str>>) -> Self {
        Self {
            header: name.into(),
            prefix: Cow::Borrowed(""),
        }
    }

    /// Describes `Authorization: Bearer <token>`.
    #[must_use]
    pub fn bearer() -> Self {
        Self {
            header: Cow::Borrowed("authorization"),
            prefix: Cow::Borrowed("Bearer "),
        }
    }
}

/// The scheme with its tokens.
pub(crate) struct TokenVerifier {
    header: HeaderName,
    prefix: Cow<'static, str>,
    tokens: Vec<Vec<u8>>,
}

impl TokenVerifier {
    /// Refuses a token that no header can hold, or that `check` would not look at.
    pub(super) fn build(scheme: &TokenScheme, setup: &Setup<'_>) -> Result<Self, BuildError> {
        let most = HEADER_MOST.saturating_sub(scheme.prefix.len());
        let printable = |byte: &u8| matches!(byte, b' '..=b'~');
        let bad = |token: &Vec<u8>| token.len() > most || !token.iter().all(printable);
        if let Some(index) = setup.secrets.iter().position(bad) {
            return Err(BuildError::SecretMalformed {
                provider: setup.provider.into(),
                index,
                expected: "printable ascii that makes a header of at most 4096 bytes",
            });
        }
        Ok(Self {
            header: header_name(&scheme.header)?,
            prefix: scheme.prefix.clone(),
            tokens: setup.secrets.to_vec(),
        })
    }

    pub(super) fn check(&self, headers: &HeaderMap) -> Result<Signed, Reason> {
        let value = signature_text(headers, &self.header)?;
        // `Bearer` is matched without case, as HTTP schemes are.
        let (scheme, token) = value
            .split_at_checked(self.prefix.len())
            .ok_or(Reason::SignatureMalformed)?;
        if !scheme.eq_ignore_ascii_case(&self.prefix) {
            return Err(Reason::SignatureMalformed);
        }
        // Every token is compared, so that the time does not tell which one matched.
        // Only the length of a token may show.
        let found = self
            .tokens
            .iter()
            .fold(subtle::Choice::from(0), |found, ours| {
                found | ours.ct_eq(token.as_bytes())
            });
        if found.into() {
            Ok(Signed::default())
        } else {
            Err(Reason::SignatureWrong)
        }
    }
}
