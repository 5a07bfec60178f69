//! Can a set that gives memory back lose an id, or stop taking them?
//!
//! Two or three threads with two preemptions; where two tidy up, three with one. About 10 s in all.

use super::{claims::MARKS_END_MS, growth::full_base, *};

/// Grown by two sizes, the hint at the larger; nothing in either is left alive.
fn drained() -> Arc<Model> {
    let model = full_base(1000);
    assert!(is_first(&model.mark(B)));
    model.point_at_class(2);
    model.pass(RETENTION_MS + 1);
    assert_eq!(model.shard.size().0, 3);
    model
}

fn tidy(model: &Model) {
    model.shard.tidy(model.time.now_ms());
}

#[test]
fn two_that_tidy_up_leave_room_for_a_newcomer() {
    explore(1, || {
        let model = drained();
        let one = spawn(&model, tidy);
        let two = spawn(&model, |model| {
            tidy(model);
            tidy(model);
        });
        let mine = model.mark(A);
        join(one);
        join(two);
        assert!(is_first(&mine), "{mine:?}");
        assert!(model.contains(A), "an acknowledged mark is gone");
        model.check_when_quiet();
    });
}

#[test]
fn memory_comes_back_whoever_stops_on_the_way() {
    explore(2, || {
        let model = drained();
        let closer = spawn(&model, |model| {
            // Closes what the hint names too, and is never seen again.
            model.close_grown();
        });
        tidy(&model);
        join(closer);
        // Each call gives back one table at most, or moves the hint.
        for _ in 0..4 {
            tidy(&model);
        }
        assert_eq!(model.shard.size().0, 1, "a drained table was kept");
        assert!(model.forget(STRANGER));
        assert!(is_first(&model.mark(A)));
    });
}

#[test]
fn inserters_on_both_sides_of_a_shrinking_have_one_winner() {
    explore(2, || {
        let model = full_base(START_MS + 1);
        assert!(is_first(&model.mark(B)), "grown");
        model.pass(1);
        // The base has room again: the hint goes back while both are on their way.
        let shrinker = spawn(&model, |model| {
            tidy(model);
            model.mark(A)
        });
        let answers = [model.mark(A), join(shrinker)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn id_of_the_larger_table_is_a_duplicate_after_shrinking() {
    explore(2, || {
        let model = full_base(START_MS + 1);
        model.pass(1);
        model.point_at_class(1);
        let mover = spawn(&model, |model| model.point_at_class(0));
        let mine = model.mark(A);
        assert!(is_first(&mine), "{mine:?}");
        let again = model.mark(A);
        assert!(matches!(again, Answer::Duplicate), "{again:?}");
        join(mover);
        assert!(matches!(model.mark(A), Answer::Duplicate));
        model.check_when_quiet();
    });
}

/// An unlinker reads the list and stalls; a table is published and used; then he publishes his own
/// list, made from the older one.
#[test]
fn unlinker_with_an_old_list_loses_no_table() {
    explore(2, || {
        let model = full_base(1000);
        model.point_at_class(1);
        model.point_at_class(0);
        model.pass(RETENTION_MS + 1);
        let unlinker = spawn(&model, tidy);
        model.point_at_class(2);
        let mine = model.mark(A);
        join(unlinker);
        assert!(is_first(&mine), "{mine:?}");
        assert!(model.contains(A), "an acknowledged mark is gone");
        assert!(matches!(model.mark(A), Answer::Duplicate));
        model.check_when_quiet();
    });
}

/// A claim that spilled within a grown table: both kinds of mark have to hold for it, and the hint
/// has gone elsewhere.
fn spilled_and_grown(ms_after_claim: u64, settle: fn(&Model, Token) -> bool) {
    explore(2, move || {
        let model = Model::new(plan(1, 2));
        for slot in 0..3 {
            model.fill(0, slot, START_MS + 1);
        }
        model.shard.postpone_tidying();
        model.point_at_class(1);
        model.fill_grown(0, START_MS + 2);
        let token = model.must_claim(A, 5);
        assert_eq!((token.table, token.place.distance()), (1, 1));
        model.point_at_class(0);
        model.pass(ms_after_claim - 1);
        let clock = spawn(&model, |model| model.pass(MARKS_END_MS));
        let rival = spawn(&model, |model| model.mark(A));
        let settled = settle(&model, token);
        let rival = join(rival);
        join(clock);
        match rival {
            Answer::First(_) => assert!(!settled, "the holder and the newcomer both won"),
            Answer::Duplicate | Answer::InFlight { .. } => {
                assert!(settled || ms_after_claim < RETENTION_MS, "nobody won");
            }
            Answer::Full => {}
        }
        model.check_when_quiet();
    });
}

#[test]
fn spilled_claim_of_a_grown_table_completed_as_its_marks_end() {
    spilled_and_grown(25, |model, token| model.complete(token));
}

#[test]
fn spilled_claim_of_a_grown_table_extended_as_its_marks_end() {
    spilled_and_grown(25, |model, token| model.extend(token, 8).is_some());
}

#[test]
fn spilled_claim_of_a_grown_table_completed_as_its_lease_ends() {
    spilled_and_grown(5, |model, token| model.complete(token));
}
