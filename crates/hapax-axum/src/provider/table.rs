//! The documentation's table of presets, written from the rows.

use super::{Handshake, Provider};
use crate::{
    InFlight,
    key::{IdPart, IdSource},
    signature::{BasePart, Digest, Encoding, HmacScheme, Scheme, SignatureForm, Timestamp},
};
use std::{fmt::Write, time::Duration};

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/presets.md");

#[test]
fn documentations_table_is_the_data() {
    let written = std::fs::read_to_string(FILE).unwrap_or_default();
    assert!(
        written == table(),
        "docs/presets.md is stale; write it with `cargo test -p hapax-axum --lib -- --ignored`"
    );
}

#[test]
#[ignore = "writes docs/presets.md"]
fn write_the_documentations_table() {
    std::fs::write(FILE, table()).expect("docs/ can be written");
}

#[test]
fn every_preset_names_its_source_and_day() {
    for preset in Provider::presets() {
        let (source, checked) = preset.source();
        assert_eq!(source.is_empty(), preset.name() == "unsigned-json");
        assert_eq!(checked.is_empty(), source.is_empty());
    }
}

fn table() -> String {
    let mut text = String::from(
        "# Presets\n\n\
         Written from the data and tested against it. *Least* is the shortest retention that\n\
         `build` takes: the window in which the sender retries, and a margin.\n\n\
         | preset | id | signature | tolerance | sender retries for | least | in flight | handshake | checked |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for preset in Provider::presets() {
        writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            preset.name(),
            id(preset),
            scheme(&preset.scheme),
            preset
                .tolerance
                .map_or("–".into(), |t| format!("±{}", span(t))),
            span(preset.retry_window),
            span(preset.least_retention),
            in_flight(preset.in_flight),
            handshake(preset.handshake),
            match preset.source() {
                ("", _) => "–".to_owned(),
                (source, day) => format!("[{day}]({source})"),
            },
        )
        .expect("a string takes everything");
    }
    text
}

fn id(preset: &Provider) -> String {
    let list = |parts: &[IdPart]| {
        let parts = parts.iter().map(|part| match part {
            IdPart::Header(name) => format!("header `{name}`"),
            IdPart::SignedHeader => "signed id header".to_owned(),
            IdPart::Pointer(pointer) => format!("body `{pointer}`"),
            IdPart::BodyHash => "body's hash".to_owned(),
            IdPart::Function(_) => "a function".to_owned(),
        });
        parts.collect::<Vec<_>>().join(" + ")
    };
    match &preset.id {
        Some(IdSource::Parts(parts)) => list(parts),
        Some(IdSource::Items(parts)) => format!("each item's {}", list(parts)),
        Some(IdSource::CloudEvents) => "`id` + `source`, in header, body or items".to_owned(),
        None => "–".to_owned(),
    }
}

fn scheme(scheme: &Scheme) -> String {
    match scheme {
        Scheme::Unsigned => "**none**".to_owned(),
        Scheme::Hmac(schemes) => schemes.iter().map(hmac).collect::<Vec<_>>().join(" or "),
        Scheme::Token(token) => {
            let prefix = token.prefix.trim_end();
            let prefix = if prefix.is_empty() { "token" } else { prefix };
            format!("`{}`: {prefix}", token.header)
        }
        Scheme::Twilio => {
            "`x-twilio-signature`: HMAC-SHA1, base64, over url and sorted form fields".to_owned()
        }
        Scheme::Ecdsa(ecdsa) => format!(
            "`{}`: ECDSA P-256, base64, over timestamp, body",
            ecdsa.header
        ),
        Scheme::External => "your `Verify`".to_owned(),
    }
}

fn hmac(hmac: &HmacScheme) -> String {
    let digest = match hmac.digest {
        Digest::Sha1 => "SHA1",
        Digest::Sha256 => "SHA256",
    };
    let encoding = match hmac.encoding {
        Encoding::Hex => "hex",
        Encoding::Base64 => "base64",
    };
    let form = match &hmac.form {
        SignatureForm::Plain(prefix) if prefix.is_empty() => String::new(),
        SignatureForm::Plain(prefix) => format!(" behind `{prefix}`"),
        SignatureForm::List(version) => format!(", list of `{version},…`"),
        SignatureForm::Fields(name) => match &hmac.timestamp {
            Timestamp::Field(time, _) => format!(", fields `{time}=`, `{name}=`"),
            _ => format!(", fields `{name}=`"),
        },
    };
    let parts = hmac.base.iter().filter_map(|part| match part {
        BasePart::Body => Some("body"),
        BasePart::Timestamp => Some("timestamp"),
        BasePart::Id => Some("id"),
        BasePart::Url => Some("url"),
        BasePart::Text(_) => None,
    });
    let parts = parts.collect::<Vec<_>>().join(", ");
    format!(
        "`{}`: HMAC-{digest}, {encoding}{form}, over {parts}",
        hmac.header
    )
}

fn in_flight(answer: InFlight) -> &'static str {
    match answer {
        InFlight::Unavailable => "503",
        InFlight::TooManyRequests => "429",
        InFlight::Conflict => "409",
        InFlight::Accepted => "202",
        InFlight::Wait(_) => "waits",
    }
}

fn handshake(handshake: Handshake) -> &'static str {
    match handshake {
        Handshake::None => "–",
        Handshake::UrlVerification => "`url_verification`",
        Handshake::WebHookOrigin => "`OPTIONS`",
    }
}

/// Writes a span as a human would: `75 h 35 m 5 s`.
fn span(time: Duration) -> String {
    let seconds = time.as_secs();
    let units = [
        (seconds / 3600, "h"),
        (seconds / 60 % 60, "m"),
        (seconds % 60, "s"),
    ];
    let units = units.iter().filter(|(n, _)| *n > 0);
    let text = units
        .map(|(n, unit)| format!("{n} {unit}"))
        .collect::<Vec<_>>();
    if text.is_empty() {
        "–".to_owned()
    } else {
        text.join(" ")
    }
}
