//! Does a batch answer as single calls would, one after the other?

use hapax::{Claim, DedupSet, ManualClock, WhenFull};
use std::{
    collections::HashSet,
    sync::{
        Barrier,
        atomic::{AtomicU32, Ordering::Relaxed},
    },
    time::Duration,
};

mod random;
use random::Random;

const HOUR: Duration = Duration::from_secs(60 * 60);

#[test]
fn batch_of_every_size_answers_as_single_calls_would() {
    for size in [0, 1, 2, 63, 64, 65, 127, 128, 129, 1000, 5000] {
        let mut random = Random(size);
        let (batched, single) = (DedupSet::new(HOUR), DedupSet::new(HOUR));
        let mut answers = Vec::new();
        for _ in 0..3 {
            // Few distinct ids: many are equal within one batch, and known from the batch before.
            let ids: Vec<u64> = (0..size).map(|_| random.below(2 * size)).collect();
            batched.check_and_mark_many(&ids, &mut answers);
            let expected: Vec<bool> = ids.iter().map(|id| single.check_and_mark(id)).collect();
            assert_eq!(answers, expected, "{size} ids");
        }
        assert_eq!(
            (batched.len(), batched.stats().first),
            (single.len(), single.stats().first)
        );
        assert_eq!(batched.stats().duplicate, single.stats().duplicate);
    }
}

#[test]
fn first_of_equal_ids_in_a_batch_wins() {
    let set = DedupSet::new(HOUR);
    let mut answers = Vec::new();
    set.check_and_mark_many(&["a"; 200], &mut answers);
    assert!(answers[0] && answers.len() == 200);
    assert!(answers[1..].iter().all(|first| !first));
}

#[test]
fn answers_are_replaced_and_their_memory_is_used_again() {
    let set = DedupSet::new(HOUR);
    let mut answers = Vec::with_capacity(100);
    answers.extend([true; 77]);
    let memory = answers.as_ptr();
    set.check_and_mark_many(&["a", "a"], &mut answers);
    assert_eq!(answers, [true, false]);
    assert_eq!(answers.as_ptr(), memory);
    set.check_and_mark_many::<&str>(&[], &mut answers);
    assert!(answers.is_empty());
}

#[test]
fn ids_of_a_batch_are_the_ids_of_single_calls() {
    let set = DedupSet::new(HOUR);
    let mut answers = Vec::new();
    assert!(set.check_and_mark("a"));
    let lease = set.claim("b");
    assert!(matches!(lease, Ok(Claim::First(_))));
    set.check_and_mark_many(&["a", "b", "c"].map(String::from), &mut answers);
    assert_eq!(answers, [false, false, true]);
    assert!(!set.check_and_mark("c"));
    set.check_and_mark_many(&["c", "d"], &mut answers);
    assert_eq!(answers, [false, true]);
}

#[test]
fn batch_grows_the_set_and_forgets_nobody() {
    let set = DedupSet::builder()
        .retention(HOUR)
        .shards(1)
        .build()
        .unwrap();
    let mut answers = Vec::new();
    let ids: Vec<u64> = (0..20_000).collect();
    set.check_and_mark_many(&ids, &mut answers);
    assert!(answers.iter().all(|first| *first));
    set.check_and_mark_many(&ids, &mut answers);
    assert!(answers.iter().all(|first| !first));
    assert!(set.stats().tables > 1);
}

#[test]
fn batch_follows_the_hint_back_to_a_small_table() {
    let clock = ManualClock::new();
    let builder = DedupSet::builder()
        .retention(HOUR)
        .shards(1)
        .clock(clock.clone());
    let set = builder.build().unwrap();
    let mut answers = Vec::new();
    for round in 0..5u64 {
        for chunk in (0..10_000u64).collect::<Vec<_>>().chunks(700) {
            let ids: Vec<_> = chunk.iter().map(|id| (round, *id)).collect();
            set.check_and_mark_many(&ids, &mut answers);
            assert!(answers.iter().all(|first| *first), "round {round}");
        }
        clock.advance(HOUR * 2);
        set.tick();
        assert_eq!(set.stats().tables, 1, "round {round}");
    }
}

#[test]
fn full_set_counts_what_a_batch_could_not_record() {
    let builder = DedupSet::builder()
        .retention(HOUR)
        .shards(1)
        .max_entries(10);
    let set = builder.when_full(WhenFull::Refuse).build().unwrap();
    let ids: Vec<u64> = (0..1000).collect();
    let mut answers = Vec::new();
    set.check_and_mark_many(&ids, &mut answers);
    assert!(
        answers.iter().all(|first| *first),
        "process rather than lose"
    );
    let stats = set.stats();
    assert_eq!((stats.first + stats.unrecorded, stats.refused), (1000, 0));
    assert!(stats.first >= 10 && stats.unrecorded > 0);
}

#[test]
fn batches_from_several_threads_have_one_winner_per_id() {
    let rounds = if cfg!(debug_assertions) { 20 } else { 200 };
    for round in 0..rounds {
        let set = DedupSet::builder()
            .retention(HOUR)
            .shards(2)
            .build()
            .unwrap();
        let winners: Vec<_> = (0..2000).map(|_| AtomicU32::new(0)).collect();
        let start = Barrier::new(4);
        std::thread::scope(|scope| {
            for thread in 0..4u64 {
                let (set, winners, start) = (&set, &winners, &start);
                scope.spawn(move || {
                    let mut random = Random(round * 4 + thread);
                    let mut answers = Vec::new();
                    start.wait();
                    for base in (0..2000).step_by(100) {
                        let ids: Vec<u64> = (0..150).map(|n| (base + n) % 2000).collect();
                        if random.below(4) == 0 {
                            answers = ids.iter().map(|id| set.check_and_mark(id)).collect();
                        } else {
                            set.check_and_mark_many(&ids, &mut answers);
                        }
                        for (id, _) in ids.iter().zip(&answers).filter(|(_, first)| **first) {
                            winners[*id as usize].fetch_add(1, Relaxed);
                        }
                    }
                });
            }
        });
        let counts: HashSet<_> = winners.into_iter().map(AtomicU32::into_inner).collect();
        assert_eq!(counts, HashSet::from([1]), "round {round}");
    }
}
