//! Does a full set still give each id one winner, and push out only whom it says?
//!
//! Two or three threads, two or three preemptions. About 2 s in all.

use super::*;

fn evicting(until_ms: [u64; 3]) -> Arc<Model> {
    let model = Model::new(Plan {
        forget_oldest: true,
        ..plan(1, 1)
    });
    for (slot, until_ms) in until_ms.into_iter().enumerate() {
        model.fill(0, slot, until_ms);
        // Planted entries are not in the books; these are pushed out, so they must be.
        model.shard.wheel.book(Kind::Done, until_ms);
    }
    model.shard.postpone_tidying();
    model
}

#[test]
fn two_newcomers_of_one_id_have_one_winner() {
    explore(2, || {
        let model = evicting([25, 24, 26]);
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        assert!(firsts(&answers) <= 1, "{answers:?}");
        model.check_when_quiet();
        let gone = 3 - model.planted_left();
        assert_eq!(
            model.forgotten_early(),
            gone as u64,
            "somebody went uncounted"
        );
    });
}

#[test]
fn newcomer_does_not_push_out_its_own_id() {
    explore(2, || {
        // Everybody else ends later, so an entry of the id itself would be the first to go.
        let model = evicting([100, 101, 102]);
        let other = spawn(&model, |model| model.mark(A));
        let answers = [model.mark(A), join(other)];
        assert_eq!(firsts(&answers), 1, "{answers:?}");
        model.check_when_quiet();
    });
}

#[test]
fn known_id_pushes_nobody_out_while_it_is_completed() {
    explore(3, || {
        let model = Model::new(Plan {
            forget_oldest: true,
            ..plan(1, 1)
        });
        model.shard.postpone_tidying();
        let token = model.must_claim(A, 15);
        model.fill(0, 1, 25);
        model.fill(0, 2, 26);
        let holder = spawn(&model, move |model| model.complete(token));
        let answer = model.mark(A);
        assert!(
            matches!(answer, Answer::Duplicate | Answer::InFlight { .. }),
            "{answer:?}"
        );
        assert_eq!(
            model.forgotten_early(),
            0,
            "a stranger made room for a duplicate"
        );
        assert!(join(holder));
        model.check_when_quiet();
    });
}

#[test]
fn claims_are_never_pushed_out() {
    explore(2, || {
        let model = Model::new(Plan {
            forget_oldest: true,
            ..plan(1, 1)
        });
        model.shard.postpone_tidying();
        let token = model.must_claim(A, 15);
        model.fill(0, 1, 25);
        model.shard.wheel.book(Kind::Done, 25);
        model.fill(0, 2, 26);
        model.shard.wheel.book(Kind::Done, 26);
        let one = spawn(&model, |model| model.claim(B, 15));
        let two = spawn(&model, |model| model.claim(STRANGER, 15));
        join(one);
        join(two);
        assert!(model.complete(token), "the claim was pushed out");
        model.check_when_quiet();
    });
}
