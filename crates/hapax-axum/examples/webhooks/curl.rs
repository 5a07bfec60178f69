//! Lines to paste into a shell.
//!
//! A stranger needs nothing but `curl`: the signatures are already made. Those that
//! cover a time are good for five minutes, so the service hands out fresh lines at
//! `/try`. Lines for real secrets are never handed out there, and secrets are printed
//! only where everyone knows them.

use crate::{
    endpoints::{Endpoint, Open},
    sign::{Letter, Signed},
};
use std::{
    fmt::Write as _,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

/// How long a signature with a time in it is good: the presets' tolerance.
const GOOD_FOR: Duration = Duration::from_secs(300);

/// The endpoints whose lines are printed at the start; `/try` has all.
const FIRST: usize = 4;

/// Writes what is printed at the start, below the ready line.
pub(crate) fn at_start(open: &[Open], base: &str, public_url: &str) -> String {
    let now = SystemTime::now();
    let mut text = secrets(open);
    let (first, more) = open.split_at(FIRST);
    text += &sections(first, base, public_url, now, true);
    let _ = writeln!(
        text,
        "\n{} more senders, and fresh signatures:\n  curl {base}/try",
        more.len()
    );
    text
}

/// Writes what `/try` answers.
pub(crate) fn fresh(open: &[Open], base: &str, public_url: &str) -> String {
    sections(open, base, public_url, SystemTime::now(), false)
}

/// Writes one line per endpoint, then some with trouble. `ours` tells whether the
/// reader is the one who knows the secrets.
fn sections(open: &[Open], base: &str, public_url: &str, now: SystemTime, ours: bool) -> String {
    let now_s = now.duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let id = format!("evt_{now_s}");
    let mut text = String::new();
    let _ = writeln!(
        text,
        "\nPaste a line twice: 202, then 200. Signatures that cover a time are good until {}.",
        humantime::format_rfc3339_seconds(now + GOOD_FOR)
    );
    let mut github = None;
    for it in open {
        let path = it.endpoint.path;
        let made = (it.secrets.demo || ours).then(|| letter(it, &id, public_url, now_s));
        let Some(signed) = made.flatten() else {
            let _ = writeln!(
                text,
                "  # {path} has a secret of its own: no line for it here"
            );
            continue;
        };
        let _ = writeln!(text, "  {}", line(base, path, &signed));
        if path == "/github" {
            github = Some(signed);
        }
    }
    if let Some(signed) = github {
        text += &troubles(base, &id, &signed);
    }
    text
}

/// Writes lines that watch a failing handler, a copy in flight and a forgery.
///
/// GitHub's id is not part of what is signed, so one signature serves them all.
fn troubles(base: &str, id: &str, signed: &Signed) -> String {
    let line = |path: &str, id: String, signature: Option<&str>| {
        let mut signed = signed.clone();
        for (name, value) in &mut signed.headers {
            match (*name, signature) {
                ("x-github-delivery", _) => value.clone_from(&id),
                ("x-hub-signature-256", Some(other)) => other.clone_into(value),
                _ => {}
            }
        }
        line(base, path, &signed)
    };
    let forged = format!("sha256={}", "0".repeat(64));
    format!(
        "\nA handler that fails: 500, and then the same id is accepted: 202 (also: simulate=panic)\n  {}\n  {}\n\
         \nA copy of one that is being handled: 503 with Retry-After; then the first answer\n  {} &\n  sleep 0.5; {}; wait\n\
         \nA wrong signature: 401\n  {}\n",
        line("/github?simulate=fail", format!("{id}-fail"), None),
        line("/github", format!("{id}-fail"), None),
        line("/github?simulate=slow", format!("{id}-slow"), None),
        line("/github", format!("{id}-slow"), None),
        line("/github", format!("{id}-forged"), Some(&forged)),
    )
}

/// Lists where each secret is from.
fn secrets(open: &[Open]) -> String {
    let mut text = String::from("\nSecrets:\n");
    for it in open {
        let Endpoint { path, variable, .. } = it.endpoint;
        let from = match (variable.is_empty(), it.secrets.demo) {
            (true, _) => "none: unsigned, anyone can send".to_owned(),
            (false, false) => format!("{} from {variable}", it.secrets.values.len()),
            (false, true) => format!("demo, set {variable}: {}", it.endpoint.demo_secret),
        };
        let _ = writeln!(text, "  {path:<13} {from}");
    }
    text
}

fn letter(open: &Open, id: &str, public_url: &str, now_s: u64) -> Option<Signed> {
    // A real SendGrid secret is a public key: nothing to sign with.
    if open.endpoint.batch && !open.secrets.demo {
        return None;
    }
    let first = open.secrets.values.first();
    Some((open.endpoint.sign)(&Letter {
        id,
        note: "Said only once.",
        secret: first.map_or("", String::as_str),
        url: &open.endpoint.url(public_url),
        now_s,
    }))
}

fn line(base: &str, path: &str, signed: &Signed) -> String {
    // -w: the shell's prompt on a line of its own.
    let mut line = format!("curl -iw '\\n' {}", quoted(&format!("{base}{path}")));
    for (name, value) in &signed.headers {
        if (*name, &**value) == ("content-type", "application/json") {
            continue; // True, but nobody here asks, and the line is long enough.
        }
        let _ = write!(line, " -H {}", quoted(&format!("{name}: {value}")));
    }
    let _ = write!(line, " -d {}", quoted(&signed.body));
    line
}

/// Quotes for a POSIX shell, where that is needed.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/:._-".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_survive_the_shell() {
        assert_eq!(quoted("http://a/b"), "http://a/b");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("It's"), r"'It'\''s'");
    }
}
