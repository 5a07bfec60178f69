//! Keyed hashes as data: one table of knobs covers most providers.

use super::{TimeUnit, Timestamp};
use std::borrow::Cow;

/// Describes one keyed hash.
///
/// # Examples
///
/// A sender that writes `X-Acme-Signature: sha256=<hex>` over `<timestamp>.<body>`:
///
/// ```
/// use hapax_axum::signature::{BasePart, HmacScheme};
///
/// let acme = HmacScheme::sha256("x-acme-signature")
///     .prefix("sha256=")
///     .timestamp_header("x-acme-timestamp")
///     .signs([BasePart::Timestamp, BasePart::Text(".".into()), BasePart::Body]);
/// # let _ = acme;
/// ```
#[derive(Debug, Clone)]
pub struct HmacScheme {
    pub(crate) header: Cow<'static, str>,
    pub(crate) digest: Digest,
    pub(crate) encoding: Encoding,
    pub(crate) form: SignatureForm,
    pub(crate) base: Cow<'static, [BasePart]>,
    pub(crate) timestamp: Timestamp,
    pub(crate) id_header: Option<Cow<'static, str>>,
    pub(crate) key: KeyForm,
}

/// Names the hash under the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Digest {
    /// SHA-1, 20 bytes. Sound under HMAC, and what older senders use.
    Sha1,
    /// SHA-256, 32 bytes.
    Sha256,
}

/// Names how the hash is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Encoding {
    /// Hexadecimal, either case.
    Hex,
    /// Standard base64 with padding.
    Base64,
}

/// Names how the header's value holds one or more signatures.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SignatureForm {
    /// One signature behind a fixed text, which may be empty.
    Plain(Cow<'static, str>),
    /// A list separated by spaces, each item `version,signature`. Items of another
    /// version are skipped.
    List(Cow<'static, str>),
    /// Fields separated by commas, each `name=value`; the named one may come several
    /// times. Others are skipped.
    Fields(Cow<'static, str>),
}

/// Names one piece of what was signed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum BasePart {
    /// The raw body, as it came over the wire.
    Body,
    /// The timestamp's text.
    Timestamp,
    /// The value of the scheme's id header.
    Id,
    /// A fixed text.
    Text(Cow<'static, str>),
    /// The public URL given to the builder.
    Url,
}

/// Names how a secret is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyForm {
    /// Its bytes are the key.
    Raw,
    /// `whsec_` (or nothing) and base64.
    Whsec,
}

impl HmacScheme {
    /// Describes HMAC-SHA256 in hexadecimal over the body: the plainest scheme, and
    /// the start of the others.
    pub fn sha256(header: impl Into<Cow<'static, str>>) -> Self {
        Self {
            header: header.into(),
            digest: Digest::Sha256,
            encoding: Encoding::Hex,
            form: SignatureForm::Plain(Cow::Borrowed("")),
            base: Cow::Borrowed(&[BasePart::Body]),
            timestamp: Timestamp::None,
            id_header: None,
            key: KeyForm::Raw,
        }
    }

    /// Takes SHA-1 instead.
    #[must_use]
    pub fn sha1(mut self) -> Self {
        self.digest = Digest::Sha1;
        self
    }

    /// Takes base64 instead of hexadecimal.
    #[must_use]
    pub fn base64(mut self) -> Self {
        self.encoding = Encoding::Base64;
        self
    }

    /// Expects a fixed text before the signature.
    #[must_use]
    pub fn prefix(mut self, prefix: impl Into<Cow<'static, str>>) -> Self {
        self.form = SignatureForm::Plain(prefix.into());
        self
    }

    /// Expects a list of `version,signature`, separated by spaces.
    #[must_use]
    pub fn list(mut self, version: impl Into<Cow<'static, str>>) -> Self {
        self.form = SignatureForm::List(version.into());
        self
    }

    /// Expects `name=value` fields, separated by commas, with the signature and the
    /// timestamp (in seconds) under these names.
    #[must_use]
    pub fn fields(
        mut self,
        signature: impl Into<Cow<'static, str>>,
        timestamp: impl Into<Cow<'static, str>>,
    ) -> Self {
        self.form = SignatureForm::Fields(signature.into());
        self.timestamp(Timestamp::Field(timestamp.into(), TimeUnit::Seconds))
    }

    /// Expects the timestamp, in seconds, in a header.
    #[must_use]
    pub fn timestamp_header(self, header: impl Into<Cow<'static, str>>) -> Self {
        self.timestamp(Timestamp::Header(header.into(), TimeUnit::Seconds))
    }

    /// Sets where the timestamp stands and what it counts.
    #[must_use]
    pub fn timestamp(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Names the header that holds the id and is part of what was signed.
    #[must_use]
    pub fn id_header(mut self, name: impl Into<Cow<'static, str>>) -> Self {
        self.id_header = Some(name.into());
        self
    }

    /// Sets what was signed, piece after piece.
    #[must_use]
    pub fn signs(mut self, parts: impl IntoIterator<Item = BasePart>) -> Self {
        self.base = parts.into_iter().collect();
        self
    }

    /// Sets how secrets are written.
    #[must_use]
    pub fn key(mut self, key: KeyForm) -> Self {
        self.key = key;
        self
    }

    pub(super) fn signs_url(&self) -> bool {
        self.base.contains(&BasePart::Url)
    }

    /// Returns what is read without being signed, or signed without being read.
    pub(super) fn fault(&self) -> Option<&'static str> {
        let signs = |part| self.base.contains(&part);
        let in_fields = matches!(self.form, SignatureForm::Fields(_));
        let timed = self.timestamp != Timestamp::None;
        match (signs(BasePart::Timestamp), signs(BasePart::Id)) {
            _ if !signs(BasePart::Body) => Some("the body is not signed"),
            (false, _) if timed => Some("the timestamp is not signed"),
            (true, _) if !timed => Some("there is no timestamp to sign"),
            (_, false) if self.id_header.is_some() => Some("the id header is not signed"),
            (_, true) if self.id_header.is_none() => Some("there is no id header to sign"),
            _ if matches!(self.timestamp, Timestamp::Field(..)) && !in_fields => {
                Some("a timestamp field needs signature fields")
            }
            _ => None,
        }
    }
}
