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
        let books = model.shard.wheel.at(model.time.now_ms());
        assert_eq!((books.done, books.in_flight), (2 - cleared as u64, 0));
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

/// Who is first next sees what was written before the id was forgotten, one by one or all at once.
fn next_winner_sees(forget: fn(&Model)) {
    explore(3, move || {
        let model = one_done();
        let work = Arc::new(AtomicU64::new(0));
        let written = Arc::clone(&work);
        let forgetter = spawn(&model, move |model| {
            // Relaxed: the set has to order it.
            written.store(1, Ordering::Relaxed);
            forget(model);
        });
        if is_first(&model.mark(A)) {
            // Relaxed: as above.
            assert_eq!(work.load(Ordering::Relaxed), 1);
        }
        join(forgetter);
    });
}

#[test]
fn next_winner_sees_what_was_written_before_forgetting() {
    next_winner_sees(|model| assert!(model.forget(A)));
}

#[test]
fn next_winner_sees_what_was_written_before_clearing() {
    next_winner_sees(|model| assert_eq!(clear(model), 1));
}
