//! A clock that puts its reader to sleep.
//!
//! The clock is the one piece of the user's code that runs in the middle of an operation, so a
//! clock that does not return holds an operation up at a point of the test's choosing: before the
//! scan, with a slot reserved, between raising a claim's marks and judging it.

use hapax::{Clock, ManualClock};
use std::{
    cell::RefCell,
    sync::mpsc::{Receiver, Sender, channel},
    time::Duration,
};

/// A clock that puts its reader to sleep when the thread has been told so.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stalling(pub(crate) ManualClock);

struct Bed {
    readings: u32,
    asleep: Sender<bool>,
    wake: Receiver<()>,
}

thread_local! {
    static BED: RefCell<Option<Bed>> = const { RefCell::new(None) };
}

impl Clock for Stalling {
    fn now(&self) -> Duration {
        let reading = self.0.now();
        BED.with_borrow_mut(|bed| {
            let Some(in_bed) = bed else { return };
            in_bed.readings -= 1;
            if in_bed.readings == 0 {
                in_bed.asleep.send(true).expect("the test waits");
                in_bed.wake.recv().expect("the test wakes us");
                *bed = None;
            }
        });
        reading
    }
    fn resolution(&self) -> Duration {
        self.0.resolution()
    }
}

/// Runs `call` in another thread, which falls asleep at its `readings`-th reading of the clock;
/// then `meanwhile`, and wakes it. `None` if it reads the clock less often; then nothing else ran.
pub(crate) fn asleep<R: Send, M>(
    readings: u32,
    call: impl FnOnce() -> R + Send,
    meanwhile: impl FnOnce() -> M,
) -> (R, Option<M>) {
    let (fell_asleep, asleep) = channel();
    let (wake, wakes) = channel();
    std::thread::scope(|scope| {
        let sleeper = scope.spawn(move || {
            let bed = Bed {
                readings,
                asleep: fell_asleep.clone(),
                wake: wakes,
            };
            BED.set(Some(bed));
            let result = call();
            let _ = fell_asleep.send(false);
            result
        });
        let meanwhile = asleep.recv().expect("one or the other").then(meanwhile);
        let _ = wake.send(());
        (sleeper.join().expect("no panic"), meanwhile)
    })
}
