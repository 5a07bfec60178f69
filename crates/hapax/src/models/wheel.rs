//! Do the books stay exact when a counter changes hands under a booker?
//!
//! Two or three threads, three preemptions. Less than 1 s in all.

use super::*;
use crate::wheel::{Books, Wheel};

fn wheel() -> Arc<Wheel> {
    Arc::new(Wheel::for_spans(4, 1))
}

fn spawn_on(wheel: &Arc<Wheel>, with: impl FnOnce(&Wheel) + 'static) -> JoinHandle<()> {
    let wheel = Arc::clone(wheel);
    loom::thread::spawn(move || with(&wheel))
}

#[test]
fn counter_replaced_under_a_booker_loses_nobody() {
    explore(3, || {
        // The ring has eight ticks: 2 and 10 share a counter.
        let wheel = wheel();
        let late = spawn_on(&wheel, |wheel| wheel.book(Kind::Done, 2));
        let next = spawn_on(&wheel, |wheel| wheel.book(Kind::Done, 10));
        wheel.book(Kind::Done, 2);
        join(late);
        join(next);
        assert_eq!(
            wheel.at(9),
            Books {
                done: 1,
                in_flight: 0,
                ended: 2
            }
        );
    });
}

#[test]
fn entry_taken_off_while_its_counter_is_replaced_is_gone_once() {
    explore(3, || {
        let wheel = wheel();
        wheel.book(Kind::Done, 2);
        wheel.book(Kind::Done, 2);
        let off = spawn_on(&wheel, |wheel| wheel.take_off(Kind::Done, 2));
        let next = spawn_on(&wheel, |wheel| wheel.book(Kind::Done, 10));
        join(off);
        join(next);
        assert_eq!(
            wheel.at(9),
            Books {
                done: 1,
                in_flight: 0,
                ended: 1
            }
        );
    });
}

#[test]
fn reader_never_counts_more_than_was_booked() {
    explore(3, || {
        let wheel = wheel();
        let booker = spawn_on(&wheel, |wheel| {
            wheel.book(Kind::Done, 1);
            wheel.book(Kind::Done, 3);
            wheel.take_off(Kind::Done, 3);
            wheel.book(Kind::Done, 4);
        });
        assert!(wheel.at(1).done <= 3);
        join(booker);
        assert_eq!(wheel.at(2).done, 1);
    });
}
