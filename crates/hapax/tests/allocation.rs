//! Which calls allocate? In the steady state: none.

use hapax::{Claim, DedupSet, ManualClock};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::{alloc::System, sync::Arc, time::Duration};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const MS: Duration = Duration::from_millis(1);

/// A call that is to be measured, and its name.
type Case<'c> = (&'static str, Box<dyn FnMut() + 'c>);

/// How many allocations and reallocations `run` makes, after it has run once to warm up.
///
/// The counter is the whole process's, so this file has a single test.
fn allocations(mut run: impl FnMut()) -> usize {
    run();
    let region = Region::new(ALLOCATOR);
    run();
    let change = region.change();
    assert_eq!(
        change.deallocations, change.allocations,
        "what was made is given back"
    );
    change.allocations + change.reallocations
}

#[test]
fn steady_state_allocates_nothing() {
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .retention(Duration::from_secs(1))
        .shards(2);
    let set = Arc::new(builder.clock(clock.clone()).build().unwrap());
    // Several tables, so that nothing is left to the easy case of one.
    (0..5000).for_each(|id| assert!(set.check_and_mark(&("grown", id))));
    assert!(set.stats().tables > 4);
    let brief = set.retention(MS).unwrap();
    let mut next = 0u64;
    let mut fresh = || {
        next += 1;
        next
    };
    let mut answers = Vec::with_capacity(100);

    let mut cases: Vec<Case<'_>> = Vec::new();
    cases.push((
        "check_and_mark, first",
        Box::new(|| assert!(set.check_and_mark(&fresh()))),
    ));
    cases.push((
        "check_and_mark, duplicate",
        Box::new(|| assert!(!set.check_and_mark(&1u64))),
    ));
    cases.push((
        "a string",
        Box::new(|| assert!(!set.check_and_mark("evt") || set.len() > 1)),
    ));
    cases.push((
        "check_and_mark_for and forget",
        Box::new(|| assert!(set.check_and_mark_for("brief", brief) && set.forget("brief"))),
    ));
    cases.push((
        "contains",
        Box::new(|| assert!(set.contains(&1u64) && !set.contains("no"))),
    ));
    cases.push((
        "claim, extend and complete",
        Box::new(|| {
            let Ok(Claim::First(mut lease)) = set.claim("claimed") else {
                panic!("is new")
            };
            assert!(matches!(set.claim("claimed"), Ok(Claim::InFlight { .. })));
            assert_eq!(lease.extend(20 * MS), Ok(()));
            assert_eq!(lease.complete(), Ok(()));
            assert!(matches!(set.claim("claimed"), Ok(Claim::Duplicate)));
            assert!(set.forget("claimed"));
        }),
    ));
    cases.push(("claim and drop", Box::new(|| drop(set.claim("dropped")))));
    cases.push((
        "claim_owned and complete",
        Box::new(|| {
            let Ok(Claim::First(lease)) = set.claim_owned("owned") else {
                panic!("is new")
            };
            assert_eq!(lease.complete(), Ok(()));
            assert!(set.forget("owned"));
        }),
    ));
    cases.push((
        "check_and_mark_many",
        Box::new(|| set.check_and_mark_many(&["a", "b", "a"], &mut answers)),
    ));
    cases.push((
        "len and stats",
        Box::new(|| assert!(set.len() as u64 <= set.stats().first)),
    ));
    for (name, run) in &mut cases {
        assert_eq!(allocations(run), 0, "{name}");
    }
    drop(cases);

    // A turn of many retentions at a load that the tables hold: nothing grows, nothing allocates.
    let settle = |rounds: std::ops::Range<u64>| {
        for round in rounds {
            (0..20).for_each(|id| assert!(set.check_and_mark(&("steady", round, id))));
            assert!(!set.check_and_mark(&("steady", round, 7)));
            clock.advance(10 * MS);
        }
    };
    settle(0..1000);
    let region = Region::new(ALLOCATOR);
    settle(1000..3000);
    let change = region.change();
    assert_eq!(
        (change.allocations, change.bytes_allocated),
        (0, 0),
        "{change:?}"
    );
}
