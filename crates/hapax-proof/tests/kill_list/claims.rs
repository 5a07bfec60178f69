//! Bugs of claims and of what their holders do.

use hapax_proof::history::Claimed;

use crate::calls::*;

pub(crate) fn bugs() -> Vec<Kill> {
    vec![
        Kill {
            name: "lost lease completes",
            story: [
                "The holder sleeps past his lease; another claims the id. The compare-",
                "exchange of `complete` looks at the id only, and the late holder wins.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (8, claimed(2)), (9, complete(1, DONE))]),
            allowed: one_by_one(&[(0, claimed(1)), (8, claimed(2)), (9, complete(1, LOST))]),
        },
        Kill {
            name: "two holders complete",
            story: [
                "A claim goes to another slot than the late holder's, and neither frees",
                "the other: both complete.",
            ],
            refused: one_by_one(&[
                (0, claimed(1)),
                (8, claimed(2)),
                (9, complete(2, DONE)),
                (9, complete(1, DONE)),
            ]),
            allowed: one_by_one(&[
                (0, claimed(1)),
                (8, claimed(2)),
                (9, complete(2, DONE)),
                (9, complete(1, LOST)),
            ]),
        },
        Kill {
            name: "token reused",
            story: [
                "A slot's version wraps after 256 tenancies, and a claim is granted the",
                "token of one that is still in somebody's hand.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, release(1)), (2, claimed(1))]),
            allowed: one_by_one(&[(0, claimed(1)), (1, release(1)), (2, claimed(2))]),
        },
        Kill {
            name: "lost lease extends",
            story: [
                "`extend` compares the deadline but not the version: an overtaken holder",
                "is told that he goes on holding the id.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (8, claimed(2)), (8, extend(1, 5, DONE))]),
            allowed: one_by_one(&[(0, claimed(1)), (8, claimed(2)), (8, extend(1, 5, LOST))]),
        },
        Kill {
            name: "lost lease releases",
            story: [
                "The overtaken holder's drop frees the slot by a plain store, and with it",
                "the claim of whoever has it now.",
            ],
            refused: one_by_one(&[
                (0, claimed(1)),
                (8, claimed(2)),
                (9, release(1)),
                (9, claimed(3)),
            ]),
            allowed: one_by_one(&[
                (0, claimed(1)),
                (8, claimed(2)),
                (9, release(1)),
                (9, IN_FLIGHT),
            ]),
        },
        Kill {
            name: "late holder resurrected in vain",
            story: [
                "A late `complete` that nobody has overtaken succeeds in a slot that look-",
                "ups skip, because its marks are dead: the id is done, and first again.",
            ],
            refused: one_by_one(&[
                (0, claimed(1)),
                (9, UNKNOWN),
                (10, complete(1, DONE)),
                (12, FIRST),
            ]),
            allowed: one_by_one(&[
                (0, claimed(1)),
                (9, UNKNOWN),
                (10, complete(1, DONE)),
                (12, DUPLICATE),
            ]),
        },
        Kill {
            name: "lost and then found",
            story: [
                "`extend` says that the lease is lost, because of a race that has passed;",
                "`complete` with the same lease then succeeds.",
            ],
            refused: one_by_one(&[
                (0, claimed(1)),
                (9, extend(1, 5, LOST)),
                (9, complete(1, DONE)),
            ]),
            allowed: one_by_one(&[
                (0, claimed(1)),
                (9, extend(1, 5, LOST)),
                (9, complete(1, LOST)),
            ]),
        },
        Kill {
            name: "lease ends early",
            story: [
                "A claim's mark covers the lease without the resolution: the id is claimed",
                "again one ms before the holder has lost it.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (4, claimed(2))]),
            allowed: one_by_one(&[(0, claimed(1)), (5, claimed(2))]),
        },
        Kill {
            name: "lease never ends",
            story: [
                "A hung holder keeps the id: its slot is HELD, and only his token frees it,",
                "whatever the clock says.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (8, IN_FLIGHT)]),
            allowed: one_by_one(&[(0, claimed(1)), (7, IN_FLIGHT)]),
        },
        Kill {
            name: "holder refused in time",
            story: [
                "Another insert frees the slot as if the lease had ended, judged by a",
                "reading from the future; the holder, in time, is told that he lost it.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (4, complete(1, LOST))]),
            allowed: one_by_one(&[(0, claimed(1)), (5, complete(1, LOST))]),
        },
        Kill {
            name: "completing does not lengthen",
            story: [
                "`complete` changes the state and keeps the claim's marks: they die first,",
                "look-ups pass the slot, and the id is first while it is done.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (4, complete(1, DONE)), (23, FIRST)]),
            allowed: one_by_one(&[(0, claimed(1)), (4, complete(1, DONE)), (24, FIRST)]),
        },
        Kill {
            name: "extending shortens",
            story: [
                "`extend(1 ms)` on a lease of 20 ms stores the new end instead of the",
                "later one, and the holder loses what he had.",
            ],
            refused: one_by_one(&[
                (0, claim_for(20, Some(Claimed::First(1)))),
                (2, extend(1, 1, DONE)),
                (10, claimed(2)),
            ]),
            allowed: one_by_one(&[
                (0, claim_for(20, Some(Claimed::First(1)))),
                (2, extend(1, 1, DONE)),
                (20, claimed(2)),
            ]),
        },
        Kill {
            name: "extends in words only",
            story: [
                "The compare-exchange of `extend` fails because of a copy's look-up and is",
                "not tried again; the answer says that it worked.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (4, extend(1, 5, DONE)), (8, claimed(2))]),
            allowed: one_by_one(&[(0, claimed(1)), (4, extend(1, 5, DONE)), (9, claimed(2))]),
        },
        Kill {
            name: "mark breaks a claim",
            story: [
                "`check_and_mark` counts only what is done as known, and takes an id that",
                "somebody is working on.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, FIRST)]),
            allowed: one_by_one(&[(0, claimed(1)), (1, DUPLICATE)]),
        },
        Kill {
            name: "in flight called done",
            story: [
                "HELD becomes SEEN between two readings of one word, and the copy is told",
                "*done* before it was: the sender stops, and the first run may still fail.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, DONE_BEFORE), (2, release(1))]),
            allowed: one_by_one(&[(0, claimed(1)), (1, IN_FLIGHT), (2, release(1))]),
        },
        Kill {
            name: "done called in flight",
            story: [
                "A copy is told that somebody is at it, long after he has completed: the",
                "sender comes back for ever.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, complete(1, DONE)), (2, IN_FLIGHT)]),
            allowed: one_by_one(&[(0, claimed(1)), (1, complete(1, DONE)), (2, DONE_BEFORE)]),
        },
        Kill {
            name: "released and kept",
            story: [
                "A dropped lease leaves its slot HELD until the lease ends, so a retry is",
                "turned away although nobody is at it.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, release(1)), (2, IN_FLIGHT)]),
            allowed: one_by_one(&[(0, claimed(1)), (1, release(1)), (2, claimed(2))]),
        },
        Kill {
            name: "forgets what is in flight",
            story: [
                "`forget` frees a HELD slot: the next one claims it, while the first",
                "holder is still at work.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, FORGOT)]),
            allowed: one_by_one(&[(0, claimed(1)), (1, NOTHING_TO_FORGET)]),
        },
        Kill {
            name: "clear takes claims",
            story: [
                "`clear` zeroes the tables, HELD slots among them, and two holders work on",
                "one id.",
            ],
            refused: one_by_one(&[(0, claimed(1)), (1, CLEAR), (2, claimed(2))]),
            allowed: one_by_one(&[(0, claimed(1)), (1, CLEAR), (2, IN_FLIGHT)]),
        },
        Kill {
            name: "time-out that happened and did not",
            story: [
                "A `complete` times out. The id is known long after the lease, so it was",
                "completed; and then it is claimed as if it had not been.",
            ],
            refused: one_by_one(&[
                (0, claimed(1)),
                (1, complete(1, None)),
                (10, KNOWN),
                (12, claimed(2)),
            ]),
            allowed: one_by_one(&[
                (0, claimed(1)),
                (1, complete(1, None)),
                (10, UNKNOWN),
                (12, claimed(2)),
            ]),
        },
    ]
}
