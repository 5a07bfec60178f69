//! Does forgetting everything forget each id once, and nothing that is in flight?
//!
//! Two threads with three preemptions, three with two or three. About 7 s in all.

use super::*;

/// Room for three; one id in it is done, and booked.
fn one_done() -> Arc<Model> {
    let model = Model::new(plan(1, 1));
    model.shard.postpone_tidying();
    assert!(is_first(&model.mark(A)));
    model
}

fn clear(model: &Model) -> usize {
    let mut cleared = 0;
    settle::clear(&model.shard, &model.time, || cleared += 1);
    cleared
}

#[test]
fn cleared_id_has_one_next_winner() {
    explore(2, || {
        let model = one_done();
        let clearer = spawn(&model, clear);
        let other = spawn(&model, |model| model.mark(A));
        let mine = model.mark(A);
        let (cleared, other) = (join(clearer), join(other));
        assert!(
            firsts(&[mine, other]) <= cleared,
            "{mine:?} {other:?}, cleared {cleared}"
        );
        model.check_when_quiet();
    });
}

#[test]
fn clear_leaves_a_claim_to_its_holder() {
    explore(2, || {
        let model = one_done();
        let token = model.must_claim(B, 5);
        let clearer = spawn(&model, clear);
        let extended = model.extend(token, 9).expect("nobody may take it");
        assert!(model.complete(extended));
        let cleared = join(clearer);
        assert!((1..=2).contains(&cleared));
        assert_eq!(
            model.contains(B),
            cleared == 1,
            "done before it was cleared"
        );
        model.check_when_quiet();
    });
}

#[test]
fn id_cleared_and_forgotten_at_once_is_taken_off_the_books_once() {
    explore(3, || {
        let model = one_done();
        let clearer = spawn(&model, clear);
        let forgotten = model.forget(A);
        assert_eq!(join(clearer) + usize::from(forgotten), 1);
        let books = model.shard.wheel.at(model.time.now_ms());
        assert_eq!((books.done, books.ended), (0, 0));
    });
}

#[test]
fn claim_settled_while_its_commit_returns_is_booked_once() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.shard.postpone_tidying();
        let forgetter = spawn(&model, |model| usize::from(model.forget(A)));
        let clearer = spawn(&model, clear);
        assert!(is_first(&model.mark(A)));
        let gone = join(forgetter) + join(clearer);
        let books = model.shard.wheel.at(model.time.now_ms());
        assert_eq!((books.done, books.ended), (1 - gone as u64, 0));
        model.check_when_quiet();
    });
}
