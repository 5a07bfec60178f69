//! Signatures under the sender's public key: nothing to leak on our side.

use super::{Setup, Signed, TimeUnit, Timestamp, header_name, signature_text, time::TimeCheck};
use crate::{BuildError, Reason};
use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use http::{HeaderMap, HeaderName};
use p256::{
    ecdsa::{Signature, VerifyingKey, signature::DigestVerifier},
    pkcs8::DecodePublicKey,
};
use sha2::{Digest, Sha256};
use std::borrow::Cow;

/// Describes ECDSA on P-256 with SHA-256 over the timestamp directly followed by the
/// body, written in DER and base64.
///
/// The builder's secrets are public keys here: SPKI in base64, as the sender's
/// settings page shows them.
#[derive(Debug, Clone)]
pub struct EcdsaScheme {
    pub(crate) header: Cow<'static, str>,
    pub(crate) timestamp_header: Cow<'static, str>,
}

impl EcdsaScheme {
    /// Describes the scheme by its two headers; the timestamp is in seconds.
    pub fn p256(
        signature_header: impl Into<Cow<'static, str>>,
        timestamp_header: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self {
            header: signature_header.into(),
            timestamp_header: timestamp_header.into(),
        }
    }
}

#[derive(Debug)]
pub(crate) struct EcdsaVerifier {
    header: HeaderName,
    time: TimeCheck,
    keys: Vec<VerifyingKey>,
}

impl EcdsaVerifier {
    pub(super) fn build(scheme: &EcdsaScheme, setup: &Setup<'_>) -> Result<Self, BuildError> {
        let keys = setup.secrets.iter().enumerate().map(|(index, text)| {
            let der = STANDARD.decode(text).ok();
            der.and_then(|der| VerifyingKey::from_public_key_der(&der).ok())
                .ok_or(BuildError::SecretMalformed {
                    provider: setup.provider.into(),
                    index,
                    expected: "a P-256 public key, SPKI in base64",
                })
        });
        let timestamp = Timestamp::Header(scheme.timestamp_header.clone(), TimeUnit::Seconds);
        Ok(Self {
            header: header_name(&scheme.header)?,
            time: TimeCheck::build(&timestamp, setup.tolerance, setup.clock.clone())?,
            keys: keys.collect::<Result<_, _>>()?,
        })
    }

    pub(super) fn check(&self, headers: &HeaderMap, body: &Bytes) -> Result<Signed, Reason> {
        let text = signature_text(headers, &self.header)?;
        // The longest P-256 signature in DER is 72 bytes.
        let mut der = [0; 96];
        let len = STANDARD
            .decode_slice(text, &mut der)
            .map_err(|_| Reason::SignatureMalformed)?;
        let signature = Signature::from_der(&der[..len]).map_err(|_| Reason::SignatureMalformed)?;
        let timestamp = self.time.header_text(headers)?;
        self.time.judge(timestamp)?;
        let found = self.keys.iter().any(|key| {
            let message = |digest: &mut Sha256| {
                digest.update(timestamp.as_bytes());
                digest.update(body);
                Ok(())
            };
            key.verify_digest(message, &signature).is_ok()
        });
        if found {
            Ok(Signed::default())
        } else {
            Err(Reason::SignatureWrong)
        }
    }
}
