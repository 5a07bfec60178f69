//! Can two inserters of one id both be first?
//!
//! Two threads, or two and the clock, with three preemptions; three inserters with one. About 20 s
//! in all; the longest, clocks that disagree about a neighbour, 8 s.

use super::*;

#[test]
fn two_marks_of_one_id_have_one_winner() {
    explore(3, || {
        let model = Model::narrow(1);
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        // One slot: the loser finds the winner's entry, or no room while he is at it.
        assert!(firsts(&answers) <= 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn two_free_slots_do_not_make_two_winners() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.fill(0, 2, 1000);
        model.shard.postpone_tidying();
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        let books = model.shard.wheel.at(model.time.now_ms());
        assert_eq!(books.done, 1, "who lost is still in the books");
        model.check_when_quiet();
    });
}

#[test]
fn clocks_that_disagree_about_a_neighbour_do_not_make_two_winners() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.fill(0, 0, START_MS + 1);
        model.fill(0, 2, 1000);
        model.shard.postpone_tidying();
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        join(clock);
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn spilled_and_home_do_not_make_two_winners() {
    explore(3, || {
        let model = Model::narrow(2);
        // The home is full for whoever reads the clock before it ends, free for who reads it after.
        model.fill(0, 0, START_MS + 1);
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        join(clock);
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn spills_to_two_distances_are_both_found() {
    explore(2, || {
        let model = Model::narrow(3);
        model.fill(0, 0, 1000);
        // Who reads the clock first spills past this one, who reads it later takes its place; both
        // raise the mark of one home.
        model.fill(1, 0, START_MS + 1);
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.mark(B));
        let mine = model.mark(A);
        let other = join(other);
        join(clock);
        assert!(model.contains(A) || !is_first(&mine), "A's mark is gone");
        assert!(model.contains(B) || !is_first(&other), "B's mark is gone");
        model.check_when_quiet();
    });
}

#[test]
fn three_marks_of_one_id_have_one_winner() {
    explore(1, || {
        let model = Model::new(plan(1, 1));
        model.shard.postpone_tidying();
        let second = spawn(&model, |model| model.mark(A));
        let third = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(second), join(third)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        let books = model.shard.wheel.at(model.time.now_ms());
        assert_eq!(books.done, 1, "who lost is still in the books");
        model.check_when_quiet();
    });
}

#[test]
fn stranger_with_the_same_tag_is_never_mistaken_for_the_id() {
    explore(3, || {
        let model = Model::narrow(1);
        // A's slot has ended. B, of the same tag, takes it while A looks itself up.
        model.put(A, 0, 0, START_MS);
        let other = spawn(&model, |model| model.mark(B));
        let mine = model.mark(A);
        let other = join(other);
        assert!(!matches!(mine, Answer::Duplicate), "A was told of B");
        assert!(!matches!(other, Answer::Duplicate), "B was told of A");
        assert!(firsts(&[mine, other]) >= 1);
        model.check_when_quiet();
    });
}

#[test]
fn torn_pair_is_never_believed() {
    explore(3, || {
        let model = Model::narrow(1);
        model.put(B, 0, 0, 30);
        // A's inserter reserves B's forgotten slot, writes A's fingerprint and sleeps for ever.
        let sleeper = spawn(&model, |model| {
            assert!(model.forget(B));
            model
                .shard
                .base()
                .abandon_reserved(A.probe(), Place::new(0, 0));
        });
        assert!(
            !model.contains(A),
            "B's word was believed with A's fingerprint"
        );
        join(sleeper);
    });
}

#[test]
fn released_id_has_one_next_winner() {
    explore(3, || {
        let model = Model::narrow(2);
        let held = model.must_claim(A, 15);
        let other = spawn(&model, |model| model.mark(A));
        assert!(model.release(held));
        let other = join(other);
        let after = model.mark(A);
        assert_eq!(firsts(&[other, after]), 1, "{other:?} {after:?}");
        model.check_when_quiet();
    });
}

/// Somebody has published in `slot` and sleeps for ever.
fn sleeper_that_published(slot: usize) {
    explore(2, move || {
        let model = Model::new(plan(1, 1));
        model.shard.postpone_tidying();
        model
            .shard
            .base()
            .abandon_published(A.probe(), Place::new(0, slot), 30);
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
    });
}

#[test]
fn sleeper_that_published_behind_blocks_nobody() {
    sleeper_that_published(1);
}

/// Yielding to him would never end: he has the better right, and does not use it.
#[test]
fn sleeper_that_published_in_front_blocks_nobody() {
    sleeper_that_published(0);
}

#[test]
fn duplicate_sees_what_the_winner_wrote_before() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.fill(0, 2, 1000);
        model.shard.postpone_tidying();
        let work = Arc::new(AtomicU64::new(0));
        let written = Arc::clone(&work);
        let winner = spawn(&model, move |model| {
            // Relaxed: the set has to order it.
            written.store(1, Ordering::Relaxed);
            model.mark(A)
        });
        if matches!(model.mark(A), Answer::Duplicate) {
            // Relaxed: as above.
            assert_eq!(work.load(Ordering::Relaxed), 1);
        }
        join(winner);
    });
}

#[test]
fn forget_makes_room_for_one_winner() {
    explore(2, || {
        let model = Model::narrow(2);
        assert!(is_first(&model.mark(A)));
        let forgetter = spawn(&model, |model| model.forget(A));
        let other = spawn(&model, |model| model.mark(A));
        let mine = model.mark(A);
        let (forgotten, other) = (join(forgetter), join(other));
        assert!(
            firsts(&[mine, other]) <= usize::from(forgotten),
            "{mine:?} {other:?}"
        );
        model.check_when_quiet();
    });
}

#[test]
fn undecided_copy_does_not_hide_the_live_one() {
    explore(2, || {
        let model = Model::narrow(2);
        // Full for whoever reads the clock first, and spills; free for who reads it later.
        model.fill(0, 0, START_MS + 1);
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.mark(A));
        // No room: the other holds the only slot that is left.
        let is_known = !matches!(model.mark(A), Answer::Full);
        // The other may just have published in the home, which is nearer than what was committed.
        assert!(model.contains(A) || !is_known, "a known id was not found");
        join(other);
        join(clock);
    });
}

/// A killed inserter sleeps; its slot must not go to B before it has given the slot back, or it
/// would free B's entry when it wakes.
#[test]
fn killed_slot_does_not_change_hands_under_its_owner() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.fill(0, 2, 1000);
        model.shard.postpone_tidying();
        let other = spawn(&model, |model| {
            model.mark(A);
            model.mark(B)
        });
        model.mark(A);
        if is_first(&join(other)) {
            assert!(model.contains(B), "B's slot was freed by another");
        }
        model.check_when_quiet();
    });
}

/// A's entry is forgotten, and B, of the same tag, takes its slot in the same millisecond. Only the
/// version tells the words apart; a second forgetter of A must not forget B.
#[test]
fn late_forgetter_forgets_nobody_else() {
    explore(3, || {
        let model = Model::narrow(1);
        assert!(is_first(&model.mark(A)));
        let other = spawn(&model, |model| {
            model.forget(A);
            model.mark(B)
        });
        model.forget(A);
        assert!(is_first(&join(other)));
        assert!(model.contains(B), "B was forgotten for A");
        model.check_when_quiet();
    });
}

#[test]
fn clock_at_its_end_keeps_entries_for_ever() {
    explore(2, || {
        let model = Model::narrow(2);
        model.pass(crate::slot::FOREVER_MS - START_MS - 3);
        let clock = spawn(&model, |model| model.pass(9));
        let other = spawn(&model, |model| model.claim(A, 5));
        let mine = model.mark(A);
        let other = join(other);
        join(clock);
        assert_eq!(firsts(&[mine, other]), 1);
        model.pass(50);
        if let Answer::First(Some(token)) = other {
            assert!(model.complete(token));
        }
        assert!(model.contains(A));
        assert!(matches!(model.mark(A), Answer::Duplicate));
        assert!(is_first(&model.mark(B)));
    });
}
