//! Can a holder and his successor both have an id?
//!
//! Two or three threads with the one that moves the clock, one to three preemptions; four threads
//! and two preemptions where a stranger starts a mark afresh. About 10 s, and that one 15 s to 60 s.

use super::*;

/// A spill mark lasts to the end of an epoch, which is up to 4 ms here: by so much the clock has to
/// jump to be sure that a mark which covers the instant before is dead.
pub(super) const MARKS_END_MS: u64 = 6;

/// A claim that spilled to the second bucket, made at `START_MS`: its lease ends at 15, its marks
/// at 35.
fn spilled_claim() -> (Arc<Model>, Token) {
    let model = Model::narrow(2);
    model.fill(0, 0, START_MS + 2);
    let token = model.must_claim(A, 5);
    assert_eq!(token.place.distance(), 1);
    (model, token)
}

/// A late `complete` against a new mark or claim, while the clock passes an instant.
fn late_complete(ms_after_claim: u64, rival: fn(&Model) -> Answer) {
    explore(3, move || {
        late_complete_on(spilled_claim(), ms_after_claim, rival)
    });
}

fn late_complete_on(
    (model, token): (Arc<Model>, Token),
    ms_after_claim: u64,
    rival: fn(&Model) -> Answer,
) {
    model.pass(ms_after_claim - 1);
    let clock = spawn(&model, |model| model.pass(MARKS_END_MS));
    let rival = spawn(&model, rival);
    let completed = model.complete(token);
    let rival = join(rival);
    join(clock);
    one_won(&rival, completed);
    model.check_when_quiet();
}

/// The holder has read a time at which he may complete, and sleeps before he does.
#[test]
fn late_complete_by_a_holder_who_sleeps_after_reading_the_clock() {
    explore(2, || {
        let (model, token) = spilled_claim();
        model.time.clock().linger();
        late_complete_on((model, token), 25, |model| model.mark(A));
    });
}

#[test]
fn late_complete_as_the_lease_ends() {
    late_complete(5, |model| model.mark(A));
}

#[test]
fn late_complete_as_the_marks_end() {
    late_complete(25, |model| model.mark(A));
}

#[test]
fn late_complete_against_a_claim_as_the_marks_end() {
    late_complete(25, |model| model.claim(A, 5));
}

#[test]
fn late_complete_where_the_table_mark_is_high_already() {
    explore(3, || {
        let (model, token) = spilled_claim();
        model.pass(24);
        let clock = spawn(&model, |model| {
            let now_ms = START_MS;
            model.shard.base().raise_spill(0, 1, 80, now_ms);
            model.pass(MARKS_END_MS);
        });
        let rival = spawn(&model, |model| model.mark(A));
        let completed = model.complete(token);
        let rival = join(rival);
        join(clock);
        one_won(&rival, completed);
        model.check_when_quiet();
    });
}

#[test]
fn stranger_starting_a_dead_mark_afresh_hides_no_holder() {
    explore(1, || {
        let model = Model::narrow(3);
        model.fill(0, 0, 1000);
        model.fill(1, 0, START_MS + 2);
        let token = model.must_claim(A, 5);
        assert_eq!(token.place.distance(), 2);
        model.pass(24);
        let clock = spawn(&model, |model| model.pass(MARKS_END_MS));
        let stranger = spawn(&model, |model| model.mark(B));
        let rival = spawn(&model, |model| model.mark(A));
        let completed = model.complete(token);
        let rival = join(rival);
        join(stranger);
        join(clock);
        one_won(&rival, completed);
    });
}

#[test]
fn extended_claim_is_covered_to_its_new_end() {
    explore(1, || {
        let (model, token) = spilled_claim();
        model.pass(4);
        let token = model.extend(token, 20).expect("in time");
        model.pass(26);
        // 40: the lease ended at 34, and the marks of the first lease at 35, with their epoch.
        let rival = model.mark(A);
        let completed = model.complete(token);
        assert!(!(is_first(&rival) && completed), "two winners");
        model.check_when_quiet();
    });
}

#[test]
fn late_extend_as_the_marks_end() {
    explore(3, || {
        let (model, token) = spilled_claim();
        model.pass(24);
        let clock = spawn(&model, |model| model.pass(MARKS_END_MS));
        let rival = spawn(&model, |model| model.claim(A, 5));
        let extended = model.extend(token, 8);
        let rival = join(rival);
        join(clock);
        if let Answer::First(Some(next)) = rival {
            assert!(extended.is_none(), "two holders");
            assert!(model.complete(next));
        }
        model.check_when_quiet();
    });
}

#[test]
fn two_claims_at_the_end_of_a_lease_have_one_winner() {
    explore(2, || {
        let model = Model::new(plan(1, 1));
        model.fill(0, 2, 1000);
        model.shard.postpone_tidying();
        let token = model.must_claim(A, 5);
        model.pass(4);
        let clock = spawn(&model, |model| model.pass(1));
        let other = spawn(&model, |model| model.claim(A, 5));
        let answers = [model.claim(A, 5), join(other)];
        join(clock);
        let winners = firsts(&answers);
        assert!(winners <= 1, "{answers:?}");
        if winners == 1 {
            assert!(!model.complete(token), "an overtaken holder completed");
        }
        model.check_when_quiet();
    });
}

#[test]
fn release_with_two_waiting_lets_one_in() {
    explore(2, || {
        let (model, token) = spilled_claim();
        model.pass(3);
        let one = spawn(&model, |model| model.mark(A));
        let two = spawn(&model, |model| model.mark(A));
        assert!(model.release(token));
        let answers = [join(one), join(two)];
        assert!(firsts(&answers) <= 1, "{answers:?}");
        if firsts(&answers) == 0 {
            assert!(is_first(&model.mark(A)), "the id was lost to all");
        }
        model.check_when_quiet();
    });
}

#[test]
fn completing_is_never_seen_as_absent() {
    explore(3, || {
        let model = Model::narrow(2);
        let token = model.must_claim(A, 15);
        let holder = spawn(&model, move |model| model.complete(token));
        assert!(model.contains(A), "in flight, then done, and yet absent");
        assert!(join(holder));
        model.check_when_quiet();
    });
}

#[test]
fn forget_leaves_a_claim_alone() {
    explore(2, || {
        let (model, token) = spilled_claim();
        let forgetter = spawn(&model, |model| model.forget(A));
        let other = spawn(&model, |model| model.mark(A));
        assert!(model.complete(token));
        let (forgotten, other) = (join(forgetter), join(other));
        assert!(
            !is_first(&other) || forgotten,
            "first, though nobody forgot the id"
        );
        model.check_when_quiet();
    });
}

#[test]
fn duplicate_sees_what_the_holder_wrote_before_completing() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.shard.postpone_tidying();
        let token = model.must_claim(A, 5);
        let work = Arc::new(AtomicU64::new(0));
        let written = Arc::clone(&work);
        let holder = spawn(&model, move |model| {
            // Relaxed: the set has to order it.
            written.store(1, Ordering::Relaxed);
            model.complete(token)
        });
        if matches!(model.mark(A), Answer::Duplicate) {
            // Relaxed: as above.
            assert_eq!(work.load(Ordering::Relaxed), 1);
        }
        assert!(join(holder));
    });
}

#[test]
fn next_holder_sees_what_the_last_wrote_before_releasing() {
    explore(3, || {
        let model = Model::new(plan(1, 1));
        model.fill(0, 1, 1000);
        model.fill(0, 2, 1000);
        model.shard.postpone_tidying();
        let token = model.must_claim(A, 5);
        let work = Arc::new(AtomicU64::new(0));
        let written = Arc::clone(&work);
        let holder = spawn(&model, move |model| {
            // Relaxed: the set has to order it.
            written.store(1, Ordering::Relaxed);
            model.release(token)
        });
        if is_first(&model.claim(A, 5)) {
            // Relaxed: as above.
            assert_eq!(work.load(Ordering::Relaxed), 1);
        }
        assert!(join(holder));
    });
}

/// A claimer reads the clock at 10 and sleeps. The slot sees enough tenants for its version to come
/// round, an earlier claim of the same end among them. The sleeper's claim must not get the very
/// word that the earlier holder still has in his hand.
#[test]
fn token_never_recurs_for_a_claimer_that_slept() {
    explore(1, || {
        let model = Model::narrow(1);
        let early = model.must_claim(A, 5);
        model.pass(6);
        let version = |bits: u64| bits >> 3 & 0xff;
        // Completing and forgetting moves it by three, claiming and releasing by two: so every
        // version can be reached. The last tenant leaves the one before the early holder's.
        let done = model.must_claim(A, 5);
        assert!(model.complete(done) && model.forget(A));
        let comes_round = (0..200).any(|_| {
            let last = model.must_claim(A, 5);
            assert!(model.release(last));
            version(last.meta.freed().reserved().bits()) == version(early.meta.bits())
        });
        assert!(comes_round);
        let slept = model.claim_as_of(A, 5, START_MS);
        assert!(!model.complete(early), "an old token fitted a new claim");
        if let Answer::First(Some(token)) = slept {
            assert!(model.complete(token));
        }
    });
}
