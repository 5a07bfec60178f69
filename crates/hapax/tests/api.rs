//! What does each method return, to one thread, and which settings are refused?

use hapax::{
    BuildError, Builder, Claim, Clock, DedupSet, Full, InstantClock, Lease, LeaseLost, ManualClock,
    OwnedLease, Prefixed, Retention, Seeds, Stats, SystemClock, WhenFull,
};
use std::{error::Error, sync::Arc, time::Duration};

const MS: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(60 * 60);
const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);

fn hour() -> DedupSet {
    DedupSet::new(HOUR)
}

const fn shared<T: Send + Sync + 'static>() {}
const fn error<T: Error + Send + Sync + Copy + 'static>() {}

const _: () = {
    shared::<DedupSet>();
    shared::<DedupSet<Prefixed<std::hash::RandomState>, ManualClock>>();
    shared::<Lease<'static>>();
    shared::<OwnedLease>();
    shared::<Claim<OwnedLease>>();
    shared::<Builder>();
    shared::<Retention>();
    shared::<Stats>();
    shared::<Seeds>();
    shared::<SystemClock>();
    shared::<InstantClock>();
    error::<BuildError>();
    error::<Full>();
    error::<LeaseLost>();
};

#[test]
fn second_mark_is_duplicate() {
    let set = hour();
    assert!(set.check_and_mark("a"));
    assert!(!set.check_and_mark("a"));
    assert_eq!(set.try_check_and_mark("a"), Ok(false));
    assert_eq!(set.try_check_and_mark("b"), Ok(true));
    assert!(matches!(set.claim("a"), Ok(Claim::Duplicate)));
}

#[test]
fn owned_and_borrowed_strings_are_one_id() {
    let set = hour();
    assert!(set.check_and_mark("evt"));
    assert!(!set.check_and_mark(&"evt"));
    assert!(!set.check_and_mark(&String::from("evt")));
    assert!(!set.check_and_mark(&Box::<str>::from("evt")));
    assert!(!set.check_and_mark(&std::borrow::Cow::Borrowed("evt")));
    assert!(set.contains("evt") && set.forget(&String::from("evt")));
}

#[test]
fn any_hash_type_of_any_length_is_an_id() {
    let set = hour();
    let long = "x".repeat(1 << 20);
    assert!(set.check_and_mark(""));
    assert!(set.check_and_mark(long.as_str()));
    assert!(set.check_and_mark(&long[1..]));
    assert!(set.check_and_mark(&[0u8; 0][..]));
    assert!(set.check_and_mark(&("tenant", 7u32)));
    assert!(set.check_and_mark(&("tenant", 8u32)));
    assert!(set.check_and_mark(&u128::MAX));
    assert!(set.check_and_mark(&Some(1u8)));
    assert!(!set.check_and_mark(long.as_str()));
    assert!(!set.check_and_mark(&("tenant", 7u32)));
}

#[test]
fn neighbouring_ids_are_told_apart() {
    let set = hour();
    for id in 0..20_000u32 {
        assert!(set.check_and_mark(&id), "{id}");
    }
    for id in 0..20_000u32 {
        assert!(set.contains(&id), "{id}");
        assert!(!set.contains(&(id + 20_000)), "{id}");
    }
}

#[test]
fn forgotten_id_is_first_again() {
    let set = hour();
    assert!(!set.forget("a"), "never seen");
    set.check_and_mark("a");
    assert!(set.forget("a"));
    assert!(!set.forget("a"), "only once");
    assert!(!set.contains("a"));
    assert!(set.check_and_mark("a"));
}

#[test]
fn in_flight_id_is_known_and_cannot_be_forgotten() {
    let set = hour();
    let Ok(Claim::First(lease)) = set.claim("a") else {
        panic!("nobody else is here")
    };
    assert!(!set.check_and_mark("a"));
    assert_eq!(set.try_check_and_mark("a"), Ok(false));
    assert!(set.contains("a"));
    assert!(!set.forget("a"));
    set.clear();
    assert!(
        matches!(set.claim("a"), Ok(Claim::InFlight { .. })),
        "`clear` leaves it"
    );
    assert_eq!((set.len(), set.stats().in_flight), (1, 1));
    assert_eq!(lease.complete(), Ok(()));
    assert!(set.forget("a"));
}

#[test]
fn clear_forgets_all_that_is_done() {
    let set = hour();
    (0..5000).for_each(|id| assert!(set.check_and_mark(&id)));
    assert_eq!(set.len(), 5000);
    set.clear();
    assert!(set.is_empty());
    assert_eq!(set.stats().cleared, 5000);
    (0..5000).for_each(|id| assert!(set.check_and_mark(&id)));
}

#[test]
fn len_counts_marks_claims_and_nothing_twice() {
    let set = hour();
    assert!(set.is_empty());
    set.check_and_mark("a");
    set.check_and_mark("a");
    let claim = set.claim("b");
    assert_eq!(set.len(), 2);
    drop(claim);
    assert_eq!(set.len(), 1);
    set.forget("a");
    assert!(set.is_empty());
}

#[test]
fn defaults_are_a_day_and_half_a_minute() {
    let set = DedupSet::builder().build().unwrap();
    assert_eq!(set.default_retention(), 24 * HOUR);
    assert_eq!(set.default_lease(), Duration::from_secs(30));
    let short = DedupSet::new(10 * MS);
    assert_eq!(
        (short.default_retention(), short.default_lease()),
        (10 * MS, 10 * MS)
    );
}

#[test]
fn settings_at_their_limits_are_taken() {
    for retention in [
        MS,
        MS + Duration::from_nanos(1),
        YEAR - Duration::from_nanos(1),
        YEAR,
    ] {
        let set = DedupSet::builder()
            .retention(retention)
            .lease(retention)
            .build()
            .unwrap();
        assert_eq!(
            (set.default_retention(), set.default_lease()),
            (retention, retention)
        );
        assert!(set.check_and_mark("a"));
    }
    for shards in [1, 2, 3, 1000, 1024] {
        let set = DedupSet::builder().shards(shards).build().unwrap();
        assert_eq!(set.stats().tables, shards.next_power_of_two() as u64);
    }
    let set = DedupSet::builder()
        .max_entries(1)
        .capacity(1)
        .build()
        .unwrap();
    assert_eq!(set.try_check_and_mark("a"), Ok(true));
    let set = DedupSet::builder()
        .clock(Coarse(HOUR))
        .retention(MS)
        .build()
        .unwrap();
    assert!(set.check_and_mark("a"));
}

#[derive(Clone)]
struct Coarse(Duration);
impl Clock for Coarse {
    fn now(&self) -> Duration {
        Duration::from_secs(5)
    }
    fn resolution(&self) -> Duration {
        self.0
    }
}

#[test]
fn build_error_names_the_value_and_the_limit() {
    use BuildError as E;
    let b = DedupSet::builder;
    let given = b().capacity(usize::MAX).shards(1).build().unwrap_err();
    let E::CapacityTooLarge { most, .. } = given else {
        panic!("{given:?}")
    };
    let ns = Duration::from_nanos;

    #[rustfmt::skip]
    let table = [
        (b().retention(Duration::ZERO), E::RetentionTooShort { given: Duration::ZERO, least: MS }, "retention of 0ns is shorter than 1ms"),
        (b().retention(ns(999_999)), E::RetentionTooShort { given: ns(999_999), least: MS }, "retention of 999.999µs is shorter than 1ms"),
        (b().retention(YEAR + ns(1)), E::RetentionTooLong { given: YEAR + ns(1), most: YEAR }, "retention of 31536000.000000001s is longer than 31536000s"),
        (b().retention(Duration::MAX), E::RetentionTooLong { given: Duration::MAX, most: YEAR }, "retention of 18446744073709551615.999999999s is longer than 31536000s"),
        (b().lease(Duration::ZERO), E::LeaseTooShort { given: Duration::ZERO, least: MS }, "lease of 0ns is shorter than 1ms"),
        (b().lease(Duration::MAX), E::LeaseTooLong { given: Duration::MAX, most: 24 * HOUR }, "lease of 18446744073709551615.999999999s is longer than the retention of 86400s"),
        (b().retention(MS).lease(2 * MS), E::LeaseTooLong { given: 2 * MS, most: MS }, "lease of 2ms is longer than the retention of 1ms"),
        (b().shards(0), E::NoShards, "0 shards leave room for nothing"),
        (b().shards(1025), E::TooManyShards { given: 1025, most: 1024 }, "1025 shards are more than 1024"),
        (b().shards(usize::MAX), E::TooManyShards { given: usize::MAX, most: 1024 }, "18446744073709551615 shards are more than 1024"),
        (b().shards(1).capacity(most + 1), E::CapacityTooLarge { given: most + 1, most }, "capacity of 442918477 entries is more than 442918476"),
        (b().max_entries(0), E::NoEntries, "limit of 0 entries leaves room for nothing"),
        (b().shards(1).max_entries(usize::MAX), E::MaxEntriesTooLarge { given: usize::MAX, most }, "limit of 18446744073709551615 entries is more than 442918476"),
        (b().max_entries(9).capacity(10), E::MaxEntriesBelowCapacity { given: 9, least: 10 }, "limit of 9 entries is less than the capacity of 10"),
    ];
    for (builder, expected, message) in table {
        let error = builder.build().unwrap_err();
        assert_eq!(error, expected);
        if usize::BITS == 64 {
            assert_eq!(error.to_string(), message);
        }
    }
    let coarse = HOUR + ns(1);
    let error = b().clock(Coarse(coarse)).build().unwrap_err();
    assert_eq!(
        error,
        E::ResolutionTooCoarse {
            given: coarse,
            most: HOUR
        }
    );
    assert_eq!(
        error.to_string(),
        "clock resolution of 3600.000000001s is coarser than 3600s"
    );
    let error = b().clock(Coarse(Duration::MAX)).build().unwrap_err();
    assert_eq!(
        error,
        E::ResolutionTooCoarse {
            given: Duration::MAX,
            most: HOUR
        }
    );
}

#[test]
fn huge_numbers_everywhere_are_errors_not_panics() {
    for shards in [1, 7, 1024, usize::MAX] {
        for capacity in [0, usize::MAX / 64, usize::MAX / 2, usize::MAX] {
            for limit in [1, usize::MAX / 64, usize::MAX] {
                for span in [Duration::ZERO, Duration::MAX] {
                    let builder = DedupSet::builder().shards(shards).capacity(capacity);
                    let builder = builder.max_entries(limit).retention(span).lease(span);
                    assert!(builder.build().is_err());
                    let builder = DedupSet::builder().shards(shards).capacity(capacity);
                    let built = builder
                        .max_entries(limit)
                        .when_full(WhenFull::Refuse)
                        .build();
                    let possible = shards <= 1024 && capacity == 0 && limit == 1;
                    assert_eq!(built.is_ok(), possible, "{built:?}");
                }
            }
        }
    }
}

#[test]
fn impossible_retention_panics_with_the_message_of_the_error() {
    let panic = std::panic::catch_unwind(|| DedupSet::new(Duration::ZERO)).unwrap_err();
    let message = panic.downcast_ref::<String>().expect("a message");
    assert_eq!(message, "retention of 0ns is shorter than 1ms");
    assert!(std::panic::catch_unwind(|| DedupSet::new(Duration::MAX)).is_err());
}

#[test]
fn lease_of_one_call_is_clamped() {
    let clock = ManualClock::new();
    let set = DedupSet::builder()
        .retention(HOUR)
        .clock(clock.clone())
        .build()
        .unwrap();
    for (lease, least, most) in [
        (Duration::ZERO, MS, 4 * MS),
        (Duration::from_nanos(1), MS, 4 * MS),
        (10 * MS, 10 * MS, 13 * MS),
        (Duration::MAX, HOUR, HOUR + 3 * MS),
    ] {
        let Ok(Claim::First(mut held)) = set.claim_for("a", lease) else {
            panic!("{lease:?}")
        };
        let Ok(Claim::InFlight { remaining }) = set.claim("a") else {
            panic!("{lease:?}")
        };
        assert!(
            (least..=most).contains(&remaining),
            "{lease:?} became {remaining:?}"
        );
        assert_eq!(held.extend(lease), Ok(()));
        let Ok(Claim::InFlight { remaining }) = set.claim("a") else {
            panic!("{lease:?}")
        };
        assert!(
            (least..=most).contains(&remaining),
            "{lease:?} was extended to {remaining:?}"
        );
    }
}

#[test]
fn retention_of_one_call_is_checked_by_the_set() {
    let set = hour();
    let too_short = BuildError::RetentionTooShort {
        given: Duration::ZERO,
        least: MS,
    };
    assert_eq!(set.retention(Duration::ZERO), Err(too_short));
    let too_long = BuildError::RetentionTooLong {
        given: Duration::MAX,
        most: HOUR,
    };
    assert_eq!(set.retention(Duration::MAX), Err(too_long));
    assert_eq!(
        too_long.to_string().split(" is ").nth(1),
        Some("longer than 3600s")
    );
    assert!(set.retention(MS).unwrap() < set.retention(HOUR).unwrap());
    assert!(set.check_and_mark_for("a", set.retention(MS).unwrap()));
    assert!(set.check_and_mark_for("b", set.retention(HOUR).unwrap()));
}

#[test]
fn debug_tells_settings_and_no_ids() {
    let set = hour();
    set.check_and_mark("secret");
    let text = format!("{set:?}");
    assert!(
        text.starts_with("DedupSet") && text.contains("3600s"),
        "{text}"
    );
    assert!(!text.contains("secret"));
    assert!(format!("{:?}", set.claim("a")).starts_with("Ok(First("));
    assert_eq!(format!("{:?}", set.claim_owned_in_vain()), "Ok(Duplicate)");
}

trait InVain {
    fn claim_owned_in_vain(self) -> Result<Claim<OwnedLease>, Full>;
}
impl InVain for DedupSet {
    fn claim_owned_in_vain(self) -> Result<Claim<OwnedLease>, Full> {
        Arc::new(self).claim_owned("secret")
    }
}

#[test]
fn claim_of_a_set_with_any_clock_can_be_printed() {
    // `Coarse` is not `Debug`, and a test that unwraps a claim should compile all the same.
    let set = DedupSet::builder().clock(Coarse(MS)).build().unwrap();
    assert!(format!("{:?}", set.claim("a").unwrap()).starts_with("First("));
    assert!(format!("{:?}", Arc::new(set).claim_owned("a")).starts_with("Ok(First("));
}

#[test]
fn set_can_be_used_through_a_shared_reference_everywhere() {
    let set = Arc::new(hour());
    let copy = Arc::clone(&set);
    assert!(
        std::thread::spawn(move || copy.check_and_mark("a"))
            .join()
            .unwrap()
    );
    assert!(!set.check_and_mark("a"));
    set.tick();
    assert!(set.max_bytes() as u64 >= set.stats().bytes);
}
