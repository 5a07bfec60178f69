//! The table at the end of a storm.

use super::{node::Account, sender::Tally, verdict::Verdict};
use std::{fmt::Write as _, time::Duration};

/// How a storm went.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) planned: u32,
    pub(crate) seed: u64,
    pub(crate) retention: Duration,
    pub(crate) took: Duration,
    pub(crate) tally: Tally,
    pub(crate) verdict: Verdict,
    /// What the layers have counted, of all processes that were not killed.
    pub(crate) account: Account,
    /// How many runs the same processes wrote down themselves.
    pub(crate) written: u64,
    /// Processes other than this one, if there were any.
    pub(crate) nodes: Option<Nodes>,
}

/// The processes of a storm on a server.
#[derive(Debug)]
pub(crate) struct Nodes {
    pub(crate) count: usize,
    /// How often one was killed and started again.
    pub(crate) kills: u16,
    /// What the keys on the server begin with.
    pub(crate) prefix: String,
}

impl Report {
    /// Whether nothing was lost, processed twice, left open, or counted wrongly, and every
    /// kill hit something.
    pub(crate) fn is_good(&self) -> bool {
        let open = self.tally.unanswered + self.tally.unexpected;
        self.verdict.is_good()
            && open == 0
            && self.account.cut_off == 0
            && self.missed() == 0
            && self.miscounted() == 0
    }

    fn kills(&self) -> u16 {
        self.nodes.as_ref().map_or(0, |nodes| nodes.kills)
    }

    /// Kills that hit nothing, and so prove nothing.
    fn missed(&self) -> u64 {
        u64::from(self.kills()).saturating_sub(self.verdict.cut_short as u64)
    }

    /// How far the layers' counters are from the handlers' own account.
    fn miscounted(&self) -> u64 {
        self.account.called.abs_diff(self.written)
    }

    /// Draws the table.
    pub(crate) fn table(&self) -> String {
        let (tally, verdict) = (&self.tally, &self.verdict);
        // Each kill has an event of its own.
        let planned = u64::from(self.planned) + u64::from(self.kills());
        let retries = tally.sent.saturating_sub(planned);
        let mut text = format!(
            "storm of {} signed deliveries, seed {}, retention {}\n\n",
            grouped(self.planned.into()),
            self.seed,
            humantime::format_duration(self.retention)
        );
        if let Some(Nodes { count, kills, .. }) = &self.nodes {
            let _ = writeln!(
                text,
                "  {count} processes on one server; killed without warning and started again: {kills}\n"
            );
        }
        let mut row = |name: &str, n: u64, what: &str| {
            let _ = writeln!(text, "  {name:<21} {:>10}   {what}", grouped(n));
        };
        row(
            "sent",
            tally.sent,
            &format!("{} of them retries", grouped(retries)),
        );
        row("first", tally.first, "ran to completion, answered 202");
        row("duplicates dropped", tally.duplicate, "answered 200");
        row(
            "in-flight answers",
            tally.in_flight,
            "asked to come back, 503 or 429 with Retry-After",
        );
        row(
            "released and retried",
            tally.failed,
            "the handler failed or panicked, answered 500",
        );
        row(
            "hung up",
            tally.hung_up,
            "the sender left, the handler went on",
        );
        row(
            "overtaken",
            verdict.overtaken as u64,
            "outlasted their lease; the next copy ran",
        );
        if self.kills() > 0 {
            row(
                "knocked in vain",
                tally.killed,
                "the node was killed meanwhile or not back yet",
            );
            row(
                "cut short",
                verdict.cut_short as u64,
                "running when their node was killed; never acknowledged",
            );
            row(
                "ran again after kill",
                verdict.again_after_kill as u64,
                "had completed, and the node was killed before it could say so",
            );
        }
        row(
            "lost",
            verdict.lost.len() as u64,
            "acknowledged, but never ran to completion",
        );
        row(
            "processed twice",
            verdict.twice.len() as u64,
            "while done or under another's lease",
        );
        let mut if_any = |name: &str, n: u64, what: &str| {
            if n > 0 {
                row(name, n, what);
            }
        };
        if_any(
            "acknowledged early",
            verdict.early.len() as u64,
            "before any run to completion had ended",
        );
        if_any("unanswered", tally.unanswered, "given up without a success");
        if_any("unexpected answers", tally.unexpected, "");
        if_any(
            "cut off",
            self.account.cut_off as u64,
            "handlers that did not end",
        );
        if_any("missed", self.missed(), "kills that hit no running handler");
        if_any(
            "miscounted",
            self.miscounted(),
            "runs; the layers' counters are off",
        );
        if self.account.unsettled > verdict.overtaken as u64 {
            if_any(
                "not settled",
                self.account.unsettled,
                "the lease was over, or the server did not answer",
            );
        }
        for surprise in &tally.surprises {
            let _ = writeln!(text, "    {surprise}");
        }
        for (what, events) in [
            ("lost", &verdict.lost),
            ("processed twice", &verdict.twice),
            ("acknowledged early", &verdict.early),
        ] {
            for event in events.iter().take(5) {
                let _ = writeln!(text, "    {what}: {event}");
            }
        }
        let quantile = |q: f64| milliseconds(tally.latency_us.value_at_quantile(q));
        let _ = writeln!(
            text,
            "\n  {} requests/s over {:.1} s; latency p50 {}, p99 {}, p99.9 {}\n  \
             (of {} answers that no handler was told to delay; closed loop, client and server share the machine)",
            grouped(per_second(tally.sent, self.took)),
            self.took.as_secs_f64(),
            quantile(0.5),
            quantile(0.99),
            quantile(0.999),
            grouped(tally.latency_us.len()),
        );
        if let Some(Nodes { prefix, .. }) = &self.nodes {
            let Account {
                answered_here,
                answered_by_server,
                ..
            } = self.account;
            let _ = writeln!(
                text,
                "  {} duplicates known without asking the server, {} asked\n  \
                 the keys {prefix}:* are gone from the server {} from now",
                grouped(answered_here),
                grouped(answered_by_server),
                humantime::format_duration(self.retention),
            );
        }
        text
    }
}

fn per_second(n: u64, took: Duration) -> u64 {
    let ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX).max(1);
    n.saturating_mul(1000) / ms
}

fn milliseconds(us: u64) -> String {
    format!("{}.{:02} ms", us / 1000, us % 1000 / 10)
}

/// Writes a number with commas.
fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!(grouped(0), "0");
        assert_eq!(grouped(999), "999");
        assert_eq!(grouped(1_000), "1,000");
        assert_eq!(grouped(12_345_678), "12,345,678");
    }
}
