//! Can a table that comes or goes make one id first twice, or lose it?
//!
//! Two threads with two or three preemptions, three with one or two. About 40 s in all; the longest,
//! an old table whose slot is freed under two inserters, 12 s.

use super::*;

/// A base of one bucket with slot 0 taken until `until_ms`, and room to grow to two more sizes.
pub(super) fn full_base(until_ms: u64) -> Arc<Model> {
    let model = Model::new(plan(1, 4));
    model.fill(0, 0, until_ms);
    for slot in 1..3 {
        model.fill(0, slot, 1000);
    }
    model.shard.postpone_tidying();
    model
}

#[test]
fn two_growers_lose_nobody() {
    explore(2, || {
        let model = full_base(1000);
        let other = spawn(&model, |model| model.mark(B));
        let mine = model.mark(A);
        let other = join(other);
        assert!(is_first(&mine) && is_first(&other), "{mine:?} {other:?}");
        model.check_when_quiet();
        assert!(
            model.contains(A) && model.contains(B),
            "an acknowledged mark is gone"
        );
    });
}

#[test]
fn full_base_against_a_stale_view_has_one_winner() {
    explore(1, || {
        // Full for whoever reads the clock first, with room for who reads it later.
        let model = full_base(START_MS + 1);
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        join(clock);
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn slot_freed_in_the_old_table_does_not_make_two_winners() {
    explore(1, || {
        // X loads the list; Y finds the base full, publishes the next table and is first there; a
        // slot of the base is freed; X takes it, and must notice that the hint has moved.
        let model = full_base(1000);
        let freer = spawn(&model, |model| model.forget(STRANGER));
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        join(freer);
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn hint_moving_back_during_an_insert_does_not_make_two_winners() {
    explore(1, || {
        let model = full_base(START_MS + 1);
        assert!(is_first(&model.mark(B)), "grown");
        model.pass(1);
        let mover = spawn(&model, |model| model.point_at_class(0));
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        join(mover);
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn hint_that_went_there_and_back_has_moved() {
    explore(2, || {
        // X has looked for the id and sleeps; the hint goes away, Y is first there, and it comes
        // back; X must not take it for the hint that it has read.
        let model = Model::new(plan(1, 2));
        model.shard.postpone_tidying();
        let other = spawn(&model, |model| {
            model.point_at_class(1);
            let answer = model.mark(A);
            model.point_at_class(0);
            answer
        });
        let answers = [model.mark(A), join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

/// A mover has read the hint before all this and sleeps. The hint goes where he wants it and back;
/// an inserter has looked for the id on the way there, another is first on the way back. Now the
/// mover wakes, and must not bring back the very word that the first has read.
#[test]
fn slow_mover_brings_no_hint_back() {
    explore(2, || {
        let model = Model::new(plan(1, 2));
        model.shard.postpone_tidying();
        let early = model.shard.hint();
        let other = spawn(&model, |model| model.mark(A));
        model.point_at_class(1);
        model.point_at_class(0);
        let mine = model.mark(A);
        let now_ms = model.time.now_ms();
        let tables = model.shard.tables();
        model.shard.point_at_class(&tables, early, 1, now_ms);
        let answers = [mine, join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn entry_of_an_old_table_still_counts() {
    explore(3, || {
        let model = full_base(1000);
        model.put(A, 0, 0, START_MS + 1);
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        join(clock);
        assert!(firsts(&answers) <= 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn entry_in_a_table_that_had_died_is_not_missed() {
    explore(2, || {
        // Nothing in the base has mattered yet, so its mark is dead until somebody raises it.
        let model = Model::new(plan(1, 4));
        model.shard.postpone_tidying();
        let other = spawn(&model, |model| {
            model.point_at_class(1);
            model.mark(A)
        });
        let answers = [model.mark(A), join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

/// A claim in a grown table, the hint back at the base, the clock at the end of the claim's marks:
/// a closer, a newcomer and the late holder at once.
fn closing_under_a_holder(ms_after_claim: u64) {
    explore(2, move || {
        let model = full_base(START_MS + 1);
        let token = model.must_claim(A, 5);
        assert_ne!(token.table, 0);
        model.point_at_class(0);
        model.pass(ms_after_claim - 1);
        let closer = spawn(&model, |model| {
            model.pass(1);
            model.shard.tidy(model.time.now_ms());
        });
        let rival = spawn(&model, |model| model.mark(A));
        let completed = model.complete(token);
        let rival = join(rival);
        join(closer);
        one_won(&rival, completed);
        if completed || is_first(&rival) {
            assert!(model.contains(A), "an acknowledged id is gone");
        }
        model.check_when_quiet();
    });
}

#[test]
fn closing_a_table_as_a_claim_in_it_lapses() {
    closing_under_a_holder(25);
}

#[test]
fn closing_a_table_whose_claim_just_ended() {
    closing_under_a_holder(5);
}

#[test]
fn closing_a_drained_table_while_another_grows_loses_nobody() {
    explore(2, || {
        let model = full_base(1000);
        // Class 1 is published and drains unused; then one closes it while others grow into it.
        assert!(is_first(&model.mark(B)));
        model.point_at_class(0);
        model.pass(RETENTION_MS + 1);
        model.put(STRANGER, 0, 0, 1000);
        let closer = spawn(&model, |model| model.shard.tidy(model.time.now_ms()));
        let mine = model.mark(A);
        join(closer);
        assert!(is_first(&mine), "{mine:?}");
        assert!(model.contains(A), "an acknowledged mark is gone");
        model.check_when_quiet();
    });
}

#[test]
fn closer_that_never_unlinks_blocks_nobody() {
    explore(2, || {
        let model = full_base(1000);
        assert!(is_first(&model.mark(B)));
        model.pass(RETENTION_MS + 1);
        // Closes the very table that the hint names, and is never seen again.
        let closer = spawn(&model, |model| model.close_grown());
        let mine = model.mark(A);
        join(closer);
        let later = model.mark(A);
        assert_eq!(firsts(&[mine, later]), 1, "{mine:?} {later:?}");
        model.check_when_quiet();
    });
}

#[test]
fn publisher_that_stops_before_naming_its_list_blocks_nobody() {
    explore(2, || {
        // Whoever is slow to raise `newest` must not make the other's entry invisible.
        let model = full_base(1000);
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

/// A publisher stops before he names his list. Another loads it and inserts into its new table; an
/// inserter who still has the list before must learn of it all the same.
#[test]
fn list_that_its_publisher_has_not_named_is_not_missed() {
    explore(2, || {
        let model = Model::new(plan(1, 4));
        model.shard.postpone_tidying();
        model.point_at_class(1);
        let publisher = spawn(&model, |model| model.point_at_class(2));
        let other = spawn(&model, |model| {
            model.point_at_class(2);
            model.mark(A)
        });
        let answers = [model.mark(A), join(other)];
        join(publisher);
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

/// One publisher empties the list and is slow to name it, the next fills it again and never names
/// it. An inserter uses its table and moves the hint there; then the first names the empty list.
/// Whoever reads the hint now must not take the empty list for the newest.
#[test]
fn list_that_was_used_is_named_by_who_used_it() {
    explore(2, || {
        let model = Model::new(plan(1, 2));
        model.shard.postpone_tidying();
        model.point_at_class(1);
        model.point_at_class(0);
        model.pass(RETENTION_MS + 1);
        for slot in 0..3 {
            model.fill(0, slot, 1000);
        }
        let empty = model.shard.publish_unnamed(None, 0);
        model.shard.publish_unnamed(Some(1), 1000);
        let slow = spawn(&model, move |model| model.shard.use_list(empty));
        let first = model.mark(A);
        assert!(model.forget(STRANGER), "room in the base");
        let again = model.mark(A);
        join(slow);
        assert_eq!(firsts(&[first, again]), 1, "{first:?} {again:?}");
        model.check_when_quiet();
    });
}
