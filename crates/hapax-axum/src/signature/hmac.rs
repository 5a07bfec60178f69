//! Keyed hashes at work: read the signatures, hash once per key, compare.

use super::{
    BasePart, CANDIDATES_MOST, Digest, Encoding, HmacScheme, KeyForm, Setup, SignatureForm, Signed,
    header_name, signature_text, single,
    time::{Place, TimeCheck},
};
use crate::{BuildError, Reason};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, HeaderName, request::Parts};
use sha1::Sha1;
use sha2::Sha256;
use std::{borrow::Cow, sync::Arc};

/// A scheme with its keys. Each key is a hash state that has eaten the key already;
/// a request clones it.
#[derive(Debug)]
pub(crate) struct HmacVerifier {
    header: HeaderName,
    encoding: Encoding,
    form: SignatureForm,
    base: Cow<'static, [BasePart]>,
    id_header: Option<HeaderName>,
    time: TimeCheck,
    url: Option<Arc<str>>,
    keys: Vec<Keyed>,
}

impl HmacVerifier {
    pub(super) fn build(scheme: &HmacScheme, setup: &Setup<'_>) -> Result<Self, BuildError> {
        if let Some(fault) = scheme.fault() {
            return Err(BuildError::SchemeIncomplete {
                provider: setup.provider.into(),
                fault,
            });
        }
        let keys = setup.secrets.iter().enumerate().map(|(index, secret)| {
            let key = match scheme.key {
                KeyForm::Raw => Cow::Borrowed(&secret[..]),
                KeyForm::Whsec => Cow::Owned(whsec(secret).ok_or(BuildError::SecretMalformed {
                    provider: setup.provider.into(),
                    index,
                    expected: "`whsec_` and base64",
                })?),
            };
            Ok(Keyed::new(scheme.digest, &key))
        });
        Ok(Self {
            header: header_name(&scheme.header)?,
            encoding: scheme.encoding,
            form: scheme.form.clone(),
            base: scheme.base.clone(),
            id_header: scheme.id_header.as_deref().map(header_name).transpose()?,
            time: TimeCheck::build(&scheme.timestamp, setup.tolerance, setup.clock.clone())?,
            url: setup.url.clone(),
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn is_present(&self, headers: &HeaderMap) -> bool {
        headers.contains_key(&self.header)
    }

    pub(super) fn check(&self, parts: &Parts, body: &Bytes) -> Result<Signed, Reason> {
        let value = signature_text(&parts.headers, &self.header)?;
        let mut candidates = Candidates::default();
        let timestamp = match &self.place_field() {
            Some(field) => self.read_fields(value, field, &mut candidates)?,
            None => {
                self.read_value(value, &mut candidates)?;
                self.time.header_text(&parts.headers)?
            }
        };
        // Cheapest first: an old or future timestamp costs no hash.
        self.time.judge(timestamp)?;
        let id = match &self.id_header {
            Some(name) => single(&parts.headers, name, Reason::IdMissing)?.as_bytes(),
            None => b"",
        };
        let found = self.keys.iter().any(|key| {
            let mut mac = key.clone();
            for part in &*self.base {
                mac.update(match part {
                    BasePart::Body => body,
                    BasePart::Timestamp => timestamp.as_bytes(),
                    BasePart::Id => id,
                    BasePart::Text(text) => text.as_bytes(),
                    BasePart::Url => self.url.as_deref().unwrap_or_default().as_bytes(),
                });
            }
            candidates
                .iter()
                .any(|candidate| mac.clone().matches(candidate))
        });
        if found {
            Ok(Signed {
                id_header: self.id_header.clone(),
            })
        } else {
            Err(Reason::SignatureWrong)
        }
    }

    fn place_field(&self) -> Option<&str> {
        match &self.time.place {
            Place::Field(name) => Some(name),
            _ => None,
        }
    }

    /// Reads `t=…,v1=…,v1=…` and returns the timestamp's text.
    fn read_fields<'a>(
        &self,
        value: &'a str,
        timestamp: &str,
        candidates: &mut Candidates,
    ) -> Result<&'a str, Reason> {
        let SignatureForm::Fields(signature) = &self.form else {
            return Err(Reason::SignatureMalformed);
        };
        let mut time = None;
        for field in value.split(',') {
            let (name, text) = field.split_once('=').ok_or(Reason::SignatureMalformed)?;
            let name = name.trim();
            if name == timestamp {
                if time.replace(text).is_some() {
                    return Err(Reason::TimestampMalformed);
                }
            } else if name == signature {
                candidates.push(self.encoding, text)?;
            }
        }
        candidates.some()?;
        time.ok_or(Reason::TimestampMissing)
    }

    /// Reads a value that holds signatures only.
    fn read_value(&self, value: &str, candidates: &mut Candidates) -> Result<(), Reason> {
        match &self.form {
            SignatureForm::Plain(prefix) => {
                let text = value
                    .strip_prefix(&**prefix)
                    .ok_or(Reason::SignatureMalformed)?;
                candidates.push(self.encoding, text)?;
            }
            SignatureForm::List(version) => {
                for item in value.split(' ').filter(|item| !item.is_empty()) {
                    let (name, text) = item.split_once(',').ok_or(Reason::SignatureMalformed)?;
                    if name == version {
                        candidates.push(self.encoding, text)?;
                    }
                }
            }
            SignatureForm::Fields(signature) => {
                for field in value.split(',') {
                    let (name, text) = field.split_once('=').ok_or(Reason::SignatureMalformed)?;
                    if name.trim() == signature {
                        candidates.push(self.encoding, text)?;
                    }
                }
            }
        }
        candidates.some()
    }
}

/// The longest digest we know, in bytes.
const DIGEST_MOST: usize = 32;

/// Decoded signatures of one request. No allocation; bounded.
#[derive(Default)]
struct Candidates {
    bytes: [[u8; DIGEST_MOST]; CANDIDATES_MOST],
    lens: [u8; CANDIDATES_MOST],
    len: usize,
}

impl Candidates {
    /// Takes one signature. One that does not decode to a digest's length cannot match
    /// and is kept with length 0, so that a good one beside it still counts.
    fn push(&mut self, encoding: Encoding, text: &str) -> Result<(), Reason> {
        let (Some(slot), Some(len)) = (self.bytes.get_mut(self.len), self.lens.get_mut(self.len))
        else {
            return Err(Reason::SignaturesTooMany);
        };
        *len = decode(encoding, text, slot).unwrap_or(0);
        self.len += 1;
        Ok(())
    }

    fn some(&self) -> Result<(), Reason> {
        match self.lens[..self.len].iter().max() {
            None => Err(Reason::SignatureMissing),
            Some(0) => Err(Reason::SignatureMalformed),
            Some(_) => Ok(()),
        }
    }

    fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let both = self.bytes.iter().zip(self.lens).take(self.len);
        both.map(|(bytes, len)| &bytes[..usize::from(len)])
    }
}

/// Decodes into `slot` and returns how many bytes came out.
fn decode(encoding: Encoding, text: &str, slot: &mut [u8; DIGEST_MOST]) -> Option<u8> {
    let len = match encoding {
        Encoding::Hex => {
            let len = text.len() / 2;
            hex::decode_to_slice(text, slot.get_mut(..len)?).ok()?;
            len
        }
        Encoding::Base64 => {
            // The engine wants room for its estimate, which rounds up to whole groups.
            let mut wide = [0; DIGEST_MOST + 4];
            let len = STANDARD.decode_slice(text, &mut wide).ok()?;
            slot.get_mut(..len)?.copy_from_slice(&wide[..len]);
            len
        }
    };
    u8::try_from(len).ok()
}

/// A hash state under one key.
#[derive(Clone, Debug)]
pub(super) enum Keyed {
    Sha1(Hmac<Sha1>),
    Sha256(Hmac<Sha256>),
}

impl Keyed {
    pub(super) fn new(digest: Digest, key: &[u8]) -> Self {
        // HMAC takes keys of any length: longer ones are hashed, shorter ones padded.
        const ANY_LENGTH: &str = "HMAC takes keys of any length";
        match digest {
            Digest::Sha1 => Self::Sha1(Hmac::new_from_slice(key).expect(ANY_LENGTH)),
            Digest::Sha256 => Self::Sha256(Hmac::new_from_slice(key).expect(ANY_LENGTH)),
        }
    }

    pub(super) fn update(&mut self, data: &[u8]) {
        match self {
            Self::Sha1(mac) => mac.update(data),
            Self::Sha256(mac) => mac.update(data),
        }
    }

    /// Compares in constant time.
    pub(super) fn matches(self, signature: &[u8]) -> bool {
        match self {
            Self::Sha1(mac) => mac.verify_slice(signature).is_ok(),
            Self::Sha256(mac) => mac.verify_slice(signature).is_ok(),
        }
    }
}

/// Decodes `whsec_` and base64.
fn whsec(secret: &[u8]) -> Option<Vec<u8>> {
    let text = secret.strip_prefix(b"whsec_").unwrap_or(secret);
    let key = STANDARD.decode(text).ok()?;
    (!key.is_empty()).then_some(key)
}
