//! A second opinion on signatures, written from the senders' documentation: a function
//! per sender in place of a table, and keyed hashes, base64, hexadecimal and forms from
//! scratch. Only the two plain hashes and the curve are the same crates.

use p256::{
    ecdsa::{DerSignature, VerifyingKey, signature::Verifier},
    pkcs8::DecodePublicKey,
};
use sha1::Sha1;
use sha2::{Digest, Sha256};

/// A request as a list of things, in the order of the wire.
#[derive(Clone, Debug, Default)]
pub(crate) struct Plain {
    pub(crate) target: String,
    /// Names in lower case.
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Vec<u8>,
}

/// What the receiver knows.
#[derive(Clone, Debug)]
pub(crate) struct Known {
    pub(crate) secrets: Vec<Vec<u8>>,
    pub(crate) url: String,
    pub(crate) now_s: i64,
}

/// Every sender with a signature that can be checked from the request alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sender {
    GitHub,
    Stripe,
    Standard,
    Svix,
    Slack,
    Shopify,
    Square,
    Twilio,
    GitLabSigned,
    /// SHA-1 in hexadecimal behind `sha1=`.
    OldStyle,
    /// Milliseconds in a header, the signature in fields.
    Millis,
    SendGrid,
    GitLabToken,
    Bearer,
}

/// Longest signature header and longest list that are looked at.
const HEADER_MOST: usize = 4096;
const SIGNATURES_MOST: usize = 16;

impl Plain {
    fn all(&self, name: &str) -> Vec<&[u8]> {
        let named = self.headers.iter().filter(|(n, _)| n == name);
        named.map(|(_, value)| &value[..]).collect()
    }

    /// The header's only value.
    fn one(&self, name: &str) -> Option<&[u8]> {
        match self.all(name)[..] {
            [value] => Some(value),
            _ => None,
        }
    }

    /// The header's only value, if it is printable ASCII.
    fn text(&self, name: &str) -> Option<&str> {
        let value = self.one(name)?;
        let printable = |b: &u8| (0x20..0x7f).contains(b) || *b == b'\t';
        value.iter().all(printable).then_some(())?;
        std::str::from_utf8(value).ok()
    }

    fn signature(&self, name: &str) -> Option<&str> {
        self.text(name).filter(|text| text.len() <= HEADER_MOST)
    }

    fn query(&self) -> Option<&str> {
        self.target.split_once('?').map(|(_, query)| query)
    }
}

/// Tells whether the request is the sender's.
pub(crate) fn accepts(sender: Sender, plain: &Plain, known: &Known) -> bool {
    match sender {
        Sender::GitHub => whole(plain, known, "x-hub-signature-256", "sha256=", unhex),
        Sender::Shopify => whole(plain, known, "x-shopify-hmac-sha256", "", unbase64),
        Sender::Square => square(plain, known),
        Sender::OldStyle => old_style(plain, known),
        Sender::Stripe => stripe(plain, known),
        Sender::Millis => millis(plain, known),
        Sender::Slack => slack(plain, known),
        Sender::Standard | Sender::GitLabSigned => standard("webhook", plain, known),
        Sender::Svix => {
            let own = !plain.all("svix-signature").is_empty();
            standard(if own { "svix" } else { "webhook" }, plain, known)
        }
        Sender::Twilio => twilio(plain, known),
        Sender::SendGrid => sendgrid(plain, known),
        Sender::GitLabToken => token(plain, known, "x-gitlab-token", ""),
        Sender::Bearer => token(plain, known, "authorization", "bearer "),
    }
    .unwrap_or(false)
}

type Decode = fn(&str) -> Option<Vec<u8>>;

fn whole(p: &Plain, k: &Known, header: &str, prefix: &str, decode: Decode) -> Option<bool> {
    let given = decode(p.signature(header)?.strip_prefix(prefix)?)?;
    Some(
        k.secrets
            .iter()
            .any(|key| hmac256(key, &[&p.body]) == given),
    )
}

fn square(p: &Plain, k: &Known) -> Option<bool> {
    let given = unbase64(p.signature("x-square-hmacsha256-signature")?)?;
    let mac = |key: &Vec<u8>| hmac256(key, &[k.url.as_bytes(), &p.body]);
    Some(k.secrets.iter().any(|key| mac(key) == given))
}

fn old_style(p: &Plain, k: &Known) -> Option<bool> {
    let given = unhex(p.signature("x-old-signature")?.strip_prefix("sha1=")?)?;
    Some(k.secrets.iter().any(|key| hmac1(key, &[&p.body]) == given))
}

/// `name=value` pairs; every piece must be one.
fn pairs(text: &str) -> Option<Vec<(&str, &str)>> {
    let pairs = text.split(',').map(|pair| pair.split_once('='));
    pairs.map(|pair| Some((pair?.0.trim(), pair?.1))).collect()
}

fn stripe(p: &Plain, k: &Known) -> Option<bool> {
    let pairs = pairs(p.signature("stripe-signature")?)?;
    let named = |name| {
        let some = pairs.iter().filter(move |(n, _)| *n == name);
        some.map(|(_, value)| *value).collect::<Vec<_>>()
    };
    let [time] = named("t")[..] else { return None };
    let given = named("v1");
    if given.len() > SIGNATURES_MOST || (k.now_s - seconds(time)?).abs() > 300 {
        return None;
    }
    let mac = |key: &Vec<u8>| hmac256(key, &[time.as_bytes(), b".", &p.body]);
    let macs: Vec<_> = k.secrets.iter().map(mac).collect();
    Some(
        given
            .iter()
            .filter_map(|g| unhex(g))
            .any(|g| macs.contains(&g)),
    )
}

fn millis(p: &Plain, k: &Known) -> Option<bool> {
    let pairs = pairs(p.signature("x-signature")?)?;
    let given: Vec<_> = pairs.iter().filter(|(name, _)| *name == "s").collect();
    let time = p.text("x-time")?;
    let off = i128::from(k.now_s) * 1000 - i128::from(integer(time)?);
    if given.len() > SIGNATURES_MOST || off.abs() > 60_000 {
        return None;
    }
    let mac = |key: &Vec<u8>| hmac256(key, &[&p.body, time.as_bytes()]);
    let macs: Vec<_> = k.secrets.iter().map(mac).collect();
    Some(
        given
            .iter()
            .filter_map(|(_, g)| unhex(g))
            .any(|g| macs.contains(&g)),
    )
}

fn slack(p: &Plain, k: &Known) -> Option<bool> {
    let given = unhex(p.signature("x-slack-signature")?.strip_prefix("v0=")?)?;
    let time = p.text("x-slack-request-timestamp")?;
    if (k.now_s - seconds(time)?).abs() > 300 {
        return None;
    }
    let mac = |key: &Vec<u8>| hmac256(key, &[b"v0:", time.as_bytes(), b":", &p.body]);
    Some(k.secrets.iter().any(|key| mac(key) == given))
}

fn standard(prefix: &str, p: &Plain, k: &Known) -> Option<bool> {
    let list = p.signature(&format!("{prefix}-signature"))?;
    let time = p.text(&format!("{prefix}-timestamp"))?;
    let id = p.one(&format!("{prefix}-id"))?;
    if (k.now_s - seconds(time)?).abs() > 300 {
        return None;
    }
    let mut given = Vec::new();
    for item in list.split(' ').filter(|item| !item.is_empty()) {
        let (version, text) = item.split_once(',')?;
        if version == "v1" {
            given.push(unbase64(text));
        }
    }
    if given.len() > SIGNATURES_MOST {
        return None;
    }
    let macs = k.secrets.iter().map(|secret| {
        let secret = secret.strip_prefix(b"whsec_").unwrap_or(secret);
        let key = unbase64(std::str::from_utf8(secret).unwrap()).unwrap();
        hmac256(&key, &[id, b".", time.as_bytes(), b".", &p.body])
    });
    let macs: Vec<_> = macs.collect();
    Some(given.iter().flatten().any(|g| macs.contains(g)))
}

fn twilio(p: &Plain, k: &Known) -> Option<bool> {
    let given = unbase64(p.signature("x-twilio-signature")?)?;
    // The address that was signed: the configured one, and the request's query behind it
    // unless it has one of its own.
    let url = match p.query() {
        Some(query) if !k.url.contains('?') => format!("{}?{query}", k.url),
        _ => k.url.clone(),
    };
    let form = b"application/x-www-form-urlencoded";
    let kind = p.all("content-type").first().copied().unwrap_or_default();
    let is_form = kind.len() >= form.len() && kind[..form.len()].eq_ignore_ascii_case(form);
    let mut signed = url.clone().into_bytes();
    if is_form {
        let mut fields = fields(&p.body);
        if fields.len() > 1000 {
            return None;
        }
        fields.sort();
        fields.dedup();
        for (name, value) in fields {
            signed.extend_from_slice(name.as_bytes());
            signed.extend_from_slice(value.as_bytes());
        }
    } else {
        let query = url.split_once('?').map_or("", |(_, query)| query);
        let fields = fields(query.as_bytes());
        let hashes: Vec<_> = fields.iter().filter(|(n, _)| n == "bodySHA256").collect();
        match hashes[..] {
            [] if p.body.is_empty() => {}
            [(_, hash)] if unhex(hash)? == Sha256::digest(&p.body).to_vec() => {}
            _ => return None,
        }
    }
    Some(k.secrets.iter().any(|key| hmac1(key, &[&signed]) == given))
}

fn sendgrid(p: &Plain, k: &Known) -> Option<bool> {
    let given = unbase64(p.signature("x-twilio-email-event-webhook-signature")?)?;
    let given = DerSignature::try_from(&given[..]).ok()?;
    let time = p.text("x-twilio-email-event-webhook-timestamp")?;
    if (k.now_s - seconds(time)?).abs() > 48 * 3600 {
        return None;
    }
    let signed = [time.as_bytes(), &p.body].concat();
    Some(k.secrets.iter().any(|key| {
        let spki = unbase64(std::str::from_utf8(key).unwrap()).unwrap();
        let key = VerifyingKey::from_public_key_der(&spki).unwrap();
        key.verify(&signed, &given).is_ok()
    }))
}

fn token(p: &Plain, k: &Known, header: &str, prefix: &str) -> Option<bool> {
    let text = p.signature(header)?;
    let given = text.get(prefix.len()..)?;
    let same = text[..prefix.len()].eq_ignore_ascii_case(prefix);
    Some(same && k.secrets.iter().any(|secret| secret == given.as_bytes()))
}

/// Digits, perhaps behind a minus.
fn integer(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let all = !digits.is_empty() && digits.chars().all(|c| c.is_ascii_digit());
    all.then(|| text.parse().ok()).flatten()
}

/// Seconds, kept from overflowing when subtracted.
fn seconds(text: &str) -> Option<i64> {
    integer(text).map(|s| s.clamp(i64::MIN / 4, i64::MAX / 4))
}

/// RFC 2104, block of 64 bytes.
pub(crate) fn hmac256(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    rfc2104(key, pieces, |data| Sha256::digest(data).to_vec())
}

pub(crate) fn hmac1(key: &[u8], pieces: &[&[u8]]) -> Vec<u8> {
    rfc2104(key, pieces, |data| Sha1::digest(data).to_vec())
}

fn rfc2104(key: &[u8], pieces: &[&[u8]], hash: impl Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    let mut block = if key.len() > 64 {
        hash(key)
    } else {
        key.to_vec()
    };
    block.resize(64, 0);
    let pad = |with: u8| block.iter().map(|b| b ^ with).collect::<Vec<_>>();
    let mut inner = pad(0x36);
    inner.extend(pieces.concat());
    let mut outer = pad(0x5c);
    outer.extend(hash(&inner));
    hash(&outer)
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|b| format!("{b:02x}")).collect()
}

pub(crate) fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u32>> = text.chars().map(|c| c.to_digit(16)).collect();
    let digits = digits?;
    let bytes = digits.chunks(2).map(|pair| match pair {
        [high, low] => Some((high * 16 + low) as u8),
        _ => None,
    });
    bytes.collect()
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(crate) fn base64(bytes: &[u8]) -> String {
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let mut group = [0; 3];
        group[..chunk.len()].copy_from_slice(chunk);
        let bits = u32::from_be_bytes([0, group[0], group[1], group[2]]);
        for i in 0..4 {
            let sextet = (bits >> (18 - 6 * i)) as usize & 63;
            text.push(if i <= chunk.len() {
                ALPHABET[sextet] as char
            } else {
                '='
            });
        }
    }
    text
}

/// Decodes the one spelling that `base64` has for the bytes, and no other.
pub(crate) fn unbase64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for chunk in text.trim_end_matches('=').as_bytes().chunks(4) {
        let mut bits = 0;
        for byte in chunk {
            bits = bits << 6 | ALPHABET.iter().position(|a| a == byte)?;
        }
        bits <<= 6 * (4 - chunk.len());
        bytes.extend_from_slice(&(bits as u32).to_be_bytes()[1..chunk.len()]);
    }
    (base64(&bytes) == text).then_some(bytes)
}

/// A form's fields, decoded.
fn fields(body: &[u8]) -> Vec<(String, String)> {
    let decode = |text: &[u8]| {
        let mut bytes = Vec::new();
        let mut rest = text;
        while let [first, tail @ ..] = rest {
            rest = tail;
            let escaped = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
            match (first, escaped.and_then(unhex)) {
                (b'%', Some(byte)) => {
                    bytes.extend(byte);
                    rest = &tail[2..];
                }
                (b'+', _) => bytes.push(b' '),
                (other, _) => bytes.push(*other),
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let fields = body.split(|b| *b == b'&').filter(|field| !field.is_empty());
    let fields = fields.map(|field| {
        let equals = field.iter().position(|b| *b == b'=');
        let (name, value) = match equals {
            Some(at) => (&field[..at], &field[at + 1..]),
            None => (field, &b""[..]),
        };
        (decode(name), decode(value))
    });
    fields.collect()
}
