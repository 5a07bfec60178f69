//! Threads that start together.

use std::{
    sync::Barrier,
    thread,
    time::{Duration, Instant},
};

/// Runs `work` on `threads` threads at once and returns what each returned, together with the time
/// from the first start to the last end. Starting and joining the threads is outside of it.
///
/// # Panics
///
/// When one of the threads panicked.
pub fn together<T: Send>(threads: usize, work: impl Fn(usize) -> T + Sync) -> (Duration, Vec<T>) {
    let barrier = Barrier::new(threads);
    let member = |number| {
        barrier.wait();
        let start = Instant::now();
        let value = work(number);
        (start, Instant::now(), value)
    };
    let done: Vec<_> = thread::scope(|scope| {
        let member = &member;
        let crew: Vec<_> = (0..threads)
            .map(|number| scope.spawn(move || member(number)))
            .collect();
        crew.into_iter()
            .map(|one| one.join().expect("a thread of the crew panicked"))
            .collect()
    });
    let start = done.iter().map(|&(start, ..)| start).min();
    let end = done.iter().map(|&(_, end, _)| end).max();
    let taken = match (start, end) {
        (Some(start), Some(end)) => end - start,
        _ => Duration::ZERO,
    };
    (taken, done.into_iter().map(|(.., value)| value).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_works_once() {
        let (_, numbers) = together(4, |number| number);
        assert_eq!(numbers, [0, 1, 2, 3]);
    }
}
