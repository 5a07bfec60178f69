//! What if a holder is put to sleep while it settles its claim?

use hapax::{Claim, DedupSet, Lease, LeaseLost, Seeds};
use std::time::Duration;

mod stalling;
use stalling::{Stalling, asleep};

const MS: Duration = Duration::from_millis(1);

type Set = DedupSet<Seeds, Stalling>;

fn first(set: &Set, id: u64) -> Lease<'_, Stalling> {
    match set.claim_for(&id, 5000 * MS) {
        Ok(Claim::First(lease)) => lease,
        _ => panic!("{id} is new"),
    }
}

/// Five hundred claims that end together, many outside their home buckets; the `n`-th is slow.
fn slow_claim(set: &Set, n: u64) -> Lease<'_, Stalling> {
    let mut claims: Vec<_> = (0..500).map(|id| first(set, id)).collect();
    let slow = claims.swap_remove(n as usize);
    claims.into_iter().for_each(std::mem::forget);
    slow
}

/// When the slow holder begins to settle, and when another comes, in ms. The leases end at 5000;
/// what covers them lasts to 25,000, and some seconds longer where they lie outside their homes.
const TIMES: [(u32, u32); 10] = [
    (0, 9000),
    (0, 26_000),
    (0, 40_000),
    (0, 9_000_000),
    (20_000, 24_000),
    (20_000, 30_000),
    (24_900, 25_100),
    (24_900, 27_000),
    (24_900, 34_000),
    (24_900, 50_000),
];

/// Lets a slow holder settle, sleeping at each of its readings, while another takes the id.
///
/// `case` is given what the holder was told, whether that may have been true, and over, before the
/// other came, and the lease.
fn settle_late<R: Send>(
    settle: impl Fn(&mut Option<Lease<'_, Stalling>>) -> R + Sync,
    mut case: impl FnMut(R, Option<bool>, Option<Lease<'_, Stalling>>, &str),
) {
    for id in (0..500).step_by(20) {
        for (readings, (start, end)) in (1..5).flat_map(|n| TIMES.map(|times| (n, times))) {
            let clock = Stalling::default();
            let builder = DedupSet::builder().retention(20_000 * MS).shards(1);
            let builder = builder.capacity(500).clock(clock.clone());
            let set = builder.build().unwrap();
            let mut slow = Some(slow_claim(&set, id));
            clock.0.advance(start * MS);
            let (told, slept) = asleep(
                readings,
                || settle(&mut slow),
                || {
                    clock.0.advance((end - start) * MS);
                    if end % 2000 == 0 {
                        assert_eq!(first(&set, id).complete(), Ok(()));
                    } else {
                        assert!(set.check_and_mark(&id), "the lease has ended");
                    }
                    end > start + 20_000
                },
            );
            let text = format!("{start} to {end}, reading {readings}");
            case(told, slept, slow, &text);
        }
    }
}

#[test]
fn holder_that_sleeps_while_it_completes_and_is_overtaken_is_told() {
    let mut lost = 0;
    settle_late(
        |slow| slow.take().unwrap().complete(),
        |completed, over, _, case| match over {
            None => assert_eq!(completed, Ok(()), "{case}"),
            Some(over) => {
                assert!(completed == Err(LeaseLost) || over, "{case}");
                lost += u64::from(completed.is_err());
            }
        },
    );
    assert!(lost >= 200, "{lost}");
}

#[test]
fn holder_that_sleeps_while_it_extends_and_is_overtaken_is_told() {
    settle_late(
        |slow| slow.as_mut().unwrap().extend(20_000 * MS),
        |extended, over, slow, case| match over {
            None => assert_eq!(
                (extended, slow.unwrap().complete()),
                (Ok(()), Ok(())),
                "{case}"
            ),
            Some(over) => {
                assert!(extended == Err(LeaseLost) || over, "{case}");
                assert_eq!(slow.unwrap().complete(), Err(LeaseLost), "{case}");
            }
        },
    );
}
