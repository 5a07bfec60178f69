//! How exact the set in this tree is, beyond and below what is promised.
//!
//! The promise leaves room at a window's end for the clock's resolution; the set
//! uses a fixed part of it. Every proof here is stricter than the promise: it
//! asks for that part to the millisecond. What the set does not keep yet stands
//! here too, so that a proof goes on past it, and starts to insist when it is
//! set to `true`.

/// How exact a set is, on a clock of whole milliseconds with a resolution of 1 ms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exactness {
    /// Added to every span: a deadline is `reading + span + extra`. 0 to 3 are
    /// within the promise.
    pub extra_ms: u64,
    /// One `clear` takes effect at one instant for each id; otherwise it may
    /// forget an id again that was marked while it ran.
    pub clears_once: bool,
    /// Every *first* is accounted for by `stats` whenever nothing runs, and not
    /// only once the tick of the books has passed in which a lease ended.
    pub books_at_every_instant: bool,
}

/// The set in this tree.
pub const EXACTNESS: Exactness = Exactness {
    extra_ms: 2,
    clears_once: false,
    books_at_every_instant: true,
};
