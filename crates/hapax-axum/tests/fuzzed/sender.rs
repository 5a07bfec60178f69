//! Plays the senders: signs a request well, and then spoils it.

use super::{
    draw::Draw,
    reference::{Known, Plain, Sender, base64, hex, hmac1, hmac256, unbase64, unhex},
};
use hapax_axum::{
    Provider,
    signature::{BasePart, HmacScheme, Scheme, TimeUnit, Timestamp},
};
use p256::ecdsa::{DerSignature, SigningKey, signature::Signer};
use sha2::{Digest, Sha256};
use std::time::Duration;

pub(crate) const NOW_S: i64 = 1_700_000_000;

/// RFC 6979, appendix A.2.5.
const PRIVATE: [u8; 32] = [
    0xc9, 0xaf, 0xa9, 0xd8, 0x45, 0xba, 0x75, 0x16, 0x6b, 0x5c, 0x21, 0x57, 0x67, 0xb1, 0xd6, 0x93,
    0x4e, 0x50, 0xc3, 0xdb, 0x36, 0xe8, 0x9b, 0x12, 0x7b, 0x8a, 0x62, 0x2b, 0x12, 0x0f, 0x67, 0x21,
];

impl Sender {
    /// Those that sign with a keyed hash.
    pub(crate) const KEYED: &[Self] = &[
        Self::GitHub,
        Self::Stripe,
        Self::Standard,
        Self::Svix,
        Self::Slack,
        Self::Shopify,
        Self::Square,
        Self::Twilio,
        Self::GitLabSigned,
        Self::OldStyle,
        Self::Millis,
    ];

    /// The sender of a preset; none for the unsigned ones and for PayPal.
    pub(crate) fn of(preset: &str) -> Option<Self> {
        Some(match preset {
            "github" => Self::GitHub,
            "stripe" => Self::Stripe,
            "standard-webhooks" => Self::Standard,
            "svix" => Self::Svix,
            "slack" => Self::Slack,
            "shopify" => Self::Shopify,
            "square" => Self::Square,
            "twilio" => Self::Twilio,
            "gitlab-signed" => Self::GitLabSigned,
            "sendgrid" => Self::SendGrid,
            "gitlab" => Self::GitLabToken,
            "cloudevents" => Self::Bearer,
            _ => return None,
        })
    }

    pub(crate) fn provider(self) -> Provider {
        let custom = |scheme| Provider::custom("custom").scheme(Scheme::hmac(scheme));
        match self {
            Self::GitHub => Provider::github(),
            Self::Stripe => Provider::stripe(),
            Self::Standard => Provider::standard_webhooks(),
            Self::Svix => Provider::svix(),
            Self::Slack => Provider::slack(),
            Self::Shopify => Provider::shopify(),
            Self::Square => Provider::square(),
            Self::Twilio => Provider::twilio(),
            Self::GitLabSigned => Provider::gitlab_signed(),
            Self::SendGrid => Provider::sendgrid(),
            Self::GitLabToken => Provider::gitlab(),
            Self::Bearer => Provider::cloudevents(),
            Self::OldStyle => custom(HmacScheme::sha256("x-old-signature").sha1().prefix("sha1=")),
            Self::Millis => custom(
                HmacScheme::sha256("x-signature")
                    .fields("s", "unused")
                    .timestamp(Timestamp::Header("x-time".into(), TimeUnit::Millis))
                    .signs([BasePart::Body, BasePart::Timestamp]),
            )
            .tolerance(Duration::from_secs(60)),
        }
    }

    /// Two secrets, so that both a new and an old one are good.
    pub(crate) fn known(self, draw: &mut Draw<'_>) -> Known {
        let url = draw.pick(&["https://x.example/hook", "https://x.example/hook?a=1&b"]);
        let whsec = |key: &[u8]| format!("whsec_{}", base64(key)).into_bytes();
        let secrets = match self {
            Self::Standard | Self::Svix | Self::GitLabSigned => {
                vec![whsec(b"a key"), whsec(&[7; 80])]
            }
            Self::SendGrid => vec![spki().into_bytes()],
            _ => vec![b"hush".to_vec(), vec![b'k'; 80]],
        };
        Known {
            secrets,
            url: url.to_owned(),
            now_s: NOW_S,
        }
    }

    /// Adds what proves the request, under `key`, at `time` as the sender writes it.
    pub(crate) fn sign(self, plain: &mut Plain, known: &Known, key: &[u8], time: &str, id: &str) {
        let body = plain.body.clone();
        let body = &body[..];
        let mut put = |name: &str, value: String| plain.headers.push((name.into(), value.into()));
        match self {
            Self::GitHub => put(
                "x-hub-signature-256",
                format!("sha256={}", hex(&hmac256(key, &[body]))),
            ),
            Self::OldStyle => put(
                "x-old-signature",
                format!("sha1={}", hex(&hmac1(key, &[body]))),
            ),
            Self::Shopify => put("x-shopify-hmac-sha256", base64(&hmac256(key, &[body]))),
            Self::Square => put(
                "x-square-hmacsha256-signature",
                base64(&hmac256(key, &[known.url.as_bytes(), body])),
            ),
            Self::Stripe => {
                let mac = hex(&hmac256(key, &[time.as_bytes(), b".", body]));
                put("stripe-signature", format!("t={time},v1={mac},v0=00"));
            }
            Self::Millis => {
                let time = format!("{time}000");
                let mac = hex(&hmac256(key, &[body, time.as_bytes()]));
                put("x-time", time);
                put("x-signature", format!("s={mac}"));
            }
            Self::Slack => {
                let mac = hex(&hmac256(key, &[b"v0:", time.as_bytes(), b":", body]));
                put("x-slack-request-timestamp", time.to_owned());
                put("x-slack-signature", format!("v0={mac}"));
            }
            Self::Standard | Self::Svix | Self::GitLabSigned => {
                // Svix signs under the standard's names, too.
                let svix = self == Self::Svix && body.len().is_multiple_of(2);
                let prefix = if svix { "svix" } else { "webhook" };
                let text = key.strip_prefix(b"whsec_").unwrap_or(key);
                let key = std::str::from_utf8(text).ok().and_then(unbase64);
                let pieces = [id.as_bytes(), b".", time.as_bytes(), b".", body];
                let mac = base64(&hmac256(&key.unwrap_or_default(), &pieces));
                put(&format!("{prefix}-id"), id.to_owned());
                put(&format!("{prefix}-timestamp"), time.to_owned());
                put(&format!("{prefix}-signature"), format!("v1a,AA== v1,{mac}"));
            }
            Self::Twilio => {
                let (target, url) = (plain.target.clone(), &known.url);
                let query = target.split_once('?').map(|(_, query)| query);
                let query = query.filter(|_| !url.contains('?'));
                let mut signed = url.clone().into_bytes();
                if let Some(query) = query {
                    signed.extend(format!("?{query}").bytes());
                }
                // A body of one plain pair, or of none.
                if let Ok(text) = std::str::from_utf8(body)
                    && plain.headers.iter().any(|(name, _)| name == "content-type")
                {
                    signed.extend(text.replacen('=', "", 1).bytes());
                }
                let mac = base64(&hmac1(key, &[&signed]));
                plain
                    .headers
                    .push(("x-twilio-signature".into(), mac.into()));
            }
            Self::SendGrid => {
                let key = SigningKey::from_bytes(&PRIVATE.into()).expect("a good key");
                let signed = [time.as_bytes(), body].concat();
                let signature: DerSignature = key.sign(&signed);
                put("x-twilio-email-event-webhook-timestamp", time.to_owned());
                put(
                    "x-twilio-email-event-webhook-signature",
                    base64(signature.as_bytes()),
                );
            }
            Self::GitLabToken => put("x-gitlab-token", String::from_utf8_lossy(key).into_owned()),
            Self::Bearer => put(
                "authorization",
                format!("Bearer {}", String::from_utf8_lossy(key)),
            ),
        }
    }
}

/// The public key as SendGrid shows it: RFC 5480's fixed head, then the point.
fn spki() -> String {
    const HEAD: &str = "3059301306072a8648ce3d020106082a8648ce3d030107034200";
    let key = SigningKey::from_bytes(&PRIVATE.into()).expect("a good key");
    let mut der = unhex(HEAD).expect("hexadecimal");
    der.extend_from_slice(key.verifying_key().to_sec1_point(false).as_bytes());
    base64(&der)
}

/// A timestamp as a text: mostly good, or just so, or just not, or no number.
pub(crate) fn time(draw: &mut Draw<'_>) -> String {
    match draw.below(16) {
        0..=7 => NOW_S.to_string(),
        8 => (NOW_S - 300).to_string(),
        9 => (NOW_S + 300).to_string(),
        10 => (NOW_S - 301).to_string(),
        11 => (NOW_S + 301).to_string(),
        12 => i64::MIN.to_string(),
        13 => i64::MAX.to_string(),
        14 => format!("+{NOW_S}"),
        _ => String::from_utf8_lossy(draw.bytes()).into_owned(),
    }
}

/// Spoils one thing, or makes it look different.
pub(crate) fn spoil(plain: &mut Plain, draw: &mut Draw<'_>) {
    let count = plain.headers.len();
    let which = draw.below(count);
    let kind = draw.below(14);
    let Some((_, value)) = plain.headers.get_mut(which) else {
        return;
    };
    let at = draw.below(value.len() + 1);
    match kind {
        // One byte of a header.
        0 => {
            if let Some(byte) = value.get_mut(at) {
                *byte = draw.byte();
            }
        }
        1 => value.insert(at, draw.byte()),
        2 => value.truncate(at),
        3 => {
            value.splice(at..at, draw.bytes().iter().copied());
        }
        // Whole headers.
        4 => {
            plain.headers.remove(which);
        }
        5 => {
            let copy = plain.headers[which].clone();
            plain.headers.push(copy);
        }
        6 => {
            let (name, bytes) = (plain.headers[which].0.clone(), draw.bytes().to_vec());
            plain.headers.insert(0, (name, bytes));
        }
        // The list in a header, longer.
        7 => {
            let separator = draw.pick(b", ");
            let (piece, times) = (value.clone(), draw.below(120));
            for _ in 0..times {
                value.push(separator);
                value.extend_from_slice(&piece);
            }
        }
        8 => {
            let signature = value.iter().rposition(|b| b",=".contains(b));
            let piece = value[signature.map_or(0, |i| i + 1)..].to_vec();
            value.extend_from_slice(draw.pick(&[b",v1=", b" v1,", b",s=\0", b"sha1"]));
            value.retain(|b| *b != 0);
            value.extend(piece);
        }
        9 => value.make_ascii_uppercase(),
        // The body and the target.
        10 => {
            let at = draw.below(plain.body.len().max(1));
            if let Some(byte) = plain.body.get_mut(at) {
                *byte = draw.byte();
            }
        }
        11 => plain.body.extend_from_slice(draw.bytes()),
        12 if plain.body.len() < 100 => {
            let piece = plain.body.clone();
            let times = draw.pick(&[1, 20, 998, 999, 1000, 1099]);
            for _ in 0..times {
                plain.body.push(b'&');
                plain.body.extend_from_slice(&piece);
            }
        }
        _ => {
            let hash = hex(&Sha256::digest(&plain.body));
            let mark = if plain.target.contains('?') { '&' } else { '?' };
            plain.target.push_str(&format!("{mark}bodySHA256={hash}"));
        }
    }
}
