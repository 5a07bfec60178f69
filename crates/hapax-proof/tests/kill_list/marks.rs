//! Bugs of marks, look-ups, `forget` and `clear`.

use hapax_proof::history::{Event, Marked, NEVER, NEVER_MS};

use crate::calls::*;

pub(crate) fn bugs() -> Vec<Kill> {
    let both = |second: Event| {
        vec![
            call(0, (0, 10), (0, 0), FIRST),
            call(1, (1, 11), (0, 0), second),
        ]
    };
    let reading = |from_ms: i64| {
        vec![
            call(0, (0, 1), (from_ms, 10), FIRST),
            call(0, (2, 3), (25, 25), FIRST),
        ]
    };
    let backwards = |ms: i64| {
        vec![
            call(0, (0, 1), (10, 10), FIRST),
            call(1, (2, 3), (ms, ms), DUPLICATE),
        ]
    };
    let before_first = |returned: u64| {
        vec![
            call(0, (0, returned), (0, 0), DUPLICATE),
            call(1, (5, 6), (0, 0), FIRST),
        ]
    };
    let cleared_twice = |again: Event| {
        vec![
            call(0, (0, 1), (0, 0), FIRST),
            call(1, (2, 90), (0, 0), CLEAR),
            call(0, (10, 11), (0, 0), FIRST),
            call(0, (20, 21), (0, 0), again),
        ]
    };
    let timed_out = |last: Event| {
        vec![
            call(1, (0, NEVER), (0, NEVER_MS), MARK_UNKNOWN),
            call(0, (10, 11), (3, 3), DUPLICATE),
            call(0, (20, 21), (4, 4), last),
        ]
    };
    vec![
        Kill {
            name: "marks after publishing",
            story: [
                "Two inserters publish in places that the other's marks do not cover yet,",
                "rescan, see nobody, and both commit.",
            ],
            refused: both(FIRST),
            allowed: both(DUPLICATE),
        },
        Kill {
            name: "no rescan after growth",
            story: [
                "An id is done in the old table; an inserter with the new list looks only",
                "into the new table and is first again.",
            ],
            refused: one_by_one(&[(0, FIRST), (7, FIRST)]),
            allowed: one_by_one(&[(0, FIRST), (7, DUPLICATE)]),
        },
        Kill {
            name: "forgets early",
            story: [
                "The deadline is cut to the tick of the wheel instead of rounded up,",
                "so the id is first again one ms too early.",
            ],
            refused: one_by_one(&[(0, FIRST), (19, FIRST)]),
            allowed: one_by_one(&[(0, FIRST), (20, FIRST)]),
        },
        Kill {
            name: "late duplicate",
            story: [
                "The end itself is taken for inside (`<=` for `<`) on top of the widest",
                "rounding, so the id is a duplicate one ms too long.",
            ],
            refused: one_by_one(&[(0, FIRST), (23, DUPLICATE)]),
            allowed: one_by_one(&[(0, FIRST), (22, DUPLICATE)]),
        },
        Kill {
            name: "comes and goes",
            story: [
                "Two look-ups judge one deadline by different roundings: the id is gone",
                "for one and, later, back for the other.",
            ],
            refused: one_by_one(&[(0, FIRST), (21, UNKNOWN), (21, DUPLICATE)]),
            allowed: one_by_one(&[(0, FIRST), (21, DUPLICATE), (22, UNKNOWN)]),
        },
        Kill {
            name: "stale clock reading",
            story: [
                "The clock is read once and kept over the retries, or cached from an",
                "earlier call, so the window counts from before the call.",
            ],
            refused: reading(10),
            allowed: reading(5),
        },
        Kill {
            name: "retention of one call ignored",
            story: ["A mark for 5 ms is remembered for the set's own 20.", ""],
            refused: one_by_one(&[(0, mark_for(5, Some(Marked::First))), (8, DUPLICATE)]),
            allowed: one_by_one(&[(0, mark_for(5, Some(Marked::First))), (7, DUPLICATE)]),
        },
        Kill {
            name: "duplicate of nobody",
            story: [
                "An undecided insert is taken for a decided one; its owner is killed and",
                "starts again, after the copy was told that it is a copy.",
            ],
            refused: before_first(4),
            allowed: before_first(7),
        },
        Kill {
            name: "clock goes backwards",
            story: [
                "Two threads read clocks that disagree: what happens later in real time",
                "takes effect at an earlier instant.",
            ],
            refused: backwards(9),
            allowed: backwards(10),
        },
        Kill {
            name: "forgets in words only",
            story: [
                "The id lies in two tables, `forget` frees one of them and says so; the",
                "other answers *duplicate*.",
            ],
            refused: one_by_one(&[(0, FIRST), (1, FORGOT), (1, DUPLICATE)]),
            allowed: one_by_one(&[(0, FIRST), (1, FORGOT), (1, FIRST)]),
        },
        Kill {
            name: "forgets without saying",
            story: [
                "`forget` frees the slot, then loses a race for the books and answers",
                "*nothing there*.",
            ],
            refused: one_by_one(&[(0, FIRST), (1, NOTHING_TO_FORGET), (1, FIRST)]),
            allowed: one_by_one(&[(0, FIRST), (20, NOTHING_TO_FORGET), (20, FIRST)]),
        },
        Kill {
            name: "clear passes over",
            story: [
                "`clear` walks the current table only; what an older one remembers stays.",
                "",
            ],
            refused: one_by_one(&[(0, FIRST), (1, CLEAR), (1, KNOWN)]),
            allowed: one_by_one(&[(0, FIRST), (1, CLEAR), (1, UNKNOWN)]),
        },
        Kill {
            name: "clear forgets twice",
            story: [
                "`clear` frees the id in one slot; it is marked again in a slot that the",
                "same walk has yet to reach, and freed there too.",
            ],
            refused: cleared_twice(FIRST),
            allowed: cleared_twice(DUPLICATE),
        },
        Kill {
            name: "time-out as an excuse",
            story: [
                "A mark times out; a copy is told *duplicate*, so the mark has happened.",
                "Then the id is first: what happened once cannot be taken back.",
            ],
            refused: timed_out(FIRST),
            allowed: timed_out(DUPLICATE),
        },
    ]
}
