//! Twilio's scheme: what is signed depends on the body's type.
//!
//! A form: HMAC-SHA1 over the full URL, then every field's name and value without
//! separators, sorted by name and then by value, equal pairs once. Anything else: the
//! URL alone, whose `bodySHA256` parameter must be the hash of the body.
//! <https://www.twilio.com/docs/usage/webhooks/webhooks-security>

use super::{Digest, Setup, Signed, hmac::Keyed, signature_text};
use crate::{BuildError, Reason};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderName, HeaderValue, header::CONTENT_TYPE, request::Parts};
use sha2::{Digest as _, Sha256};
use std::{collections::BTreeSet, sync::Arc};
use subtle::ConstantTimeEq;

static SIGNATURE: HeaderName = HeaderName::from_static("x-twilio-signature");

/// The most form fields that are sorted; Twilio sends some dozens.
const FIELDS_MOST: usize = 1000;

pub(crate) struct TwilioVerifier {
    url: Arc<str>,
    keys: Vec<Keyed>,
}

impl TwilioVerifier {
    pub(super) fn build(setup: &Setup<'_>) -> Result<Self, BuildError> {
        let url = setup.url.clone().ok_or(BuildError::UrlMissing {
            provider: setup.provider.into(),
        })?;
        let keys = setup.secrets.iter();
        Ok(Self {
            url,
            keys: keys.map(|key| Keyed::new(Digest::Sha1, key)).collect(),
        })
    }

    pub(super) fn check(&self, parts: &Parts, body: &Bytes) -> Result<Signed, Reason> {
        let mut signature = [0; 24];
        let len = STANDARD
            .decode_slice(signature_text(&parts.headers, &SIGNATURE)?, &mut signature)
            .map_err(|_| Reason::SignatureMalformed)?;
        // The configured URL is the address; what came behind `?` is the sender's, unless
        // the address has a query of its own: then nobody signed another.
        let query = match self.url.split_once('?') {
            None => parts.uri.query(),
            Some(_) => None,
        };
        let fields = if is_form(parts) {
            // Counted before equal ones fall together: what is not looked at here is in
            // no signature.
            if form_urlencoded::parse(body).nth(FIELDS_MOST).is_some() {
                return Err(Reason::SignatureMalformed);
            }
            form_urlencoded::parse(body).collect::<BTreeSet<_>>()
        } else {
            let own = self.url.split_once('?').map(|(_, own)| own);
            body_hash_matches(own.or(query), body)?;
            BTreeSet::new()
        };
        let found = self.keys.iter().any(|key| {
            let mut mac = key.clone();
            mac.update(self.url.as_bytes());
            if let Some(query) = query {
                mac.update(b"?");
                mac.update(query.as_bytes());
            }
            for (name, value) in &fields {
                mac.update(name.as_bytes());
                mac.update(value.as_bytes());
            }
            mac.matches(&signature[..len])
        });
        if found {
            Ok(Signed::default())
        } else {
            Err(Reason::SignatureWrong)
        }
    }
}

fn is_form(parts: &Parts) -> bool {
    let kind = parts.headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    kind.is_some_and(|kind| {
        kind.get(..33)
            .is_some_and(|kind| kind.eq_ignore_ascii_case(b"application/x-www-form-urlencoded"))
    })
}

fn body_hash_matches(query: Option<&str>, body: &Bytes) -> Result<(), Reason> {
    let mut given = form_urlencoded::parse(query.unwrap_or_default().as_bytes())
        .filter(|(name, _)| name == "bodySHA256");
    let hash = match (given.next(), given.next()) {
        (Some((_, hash)), None) => hash,
        // Nothing vouches for the body, unless there is none.
        (None, _) if body.is_empty() => return Ok(()),
        (None, _) => return Err(Reason::SignatureMissing),
        (Some(_), Some(_)) => return Err(Reason::SignatureRepeated),
    };
    let hash = hex::decode(&*hash).map_err(|_| Reason::SignatureMalformed)?;
    if Sha256::digest(body).as_slice().ct_eq(&hash).into() {
        Ok(())
    } else {
        Err(Reason::SignatureWrong)
    }
}
