//! A holder whose lease ended before it settled.

use super::{
    Subject,
    wait::{claim, first, word},
};
use crate::{Key, SettleError, StoreLease};

/// Completing or extending a key that somebody else took over says lost; releasing
/// is fine, as there is nothing left to release.
pub async fn overtaken_holder_is_told<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = |id: &[u8]| Key::new("told", id);
    let late = first(&store, &key(b"complete"), times).await;
    let mut hopeful = first(&store, &key(b"extend"), times).await;
    subject.pass(times.lease + times.late).await;
    let _successor = first(&store, &key(b"complete"), times).await;
    let _another = first(&store, &key(b"extend"), times).await;
    let told = late.complete().await;
    assert!(matches!(told, Err(SettleError::Lost)), "{told:?}");
    let told = hopeful.extend(times.lease).await;
    assert!(matches!(told, Err(SettleError::Lost)), "{told:?}");
    hopeful.release().await.expect("nothing to release is fine");
}

/// A holder that comes late but was not overtaken either still completes, and then
/// the key is done, or is told lost, and then the key is free. A store may do
/// either; what it says is what is so.
pub async fn late_holder_that_nobody_overtook_is_told_the_truth<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    let key = Key::new("late", b"1");
    let late = first(&store, &key, times).await;
    subject.pass(times.lease + times.late).await;
    let told = late.complete().await;
    let outcome = claim(&store, &key, times).await;
    match told {
        Ok(()) => assert!(outcome.is_duplicate(), "is {}", word(&outcome)),
        Err(SettleError::Lost) => assert!(outcome.is_first(), "is {}", word(&outcome)),
        Err(SettleError::Store(error)) => panic!("the store should answer: {error:?}"),
    }
}

/// Whatever an overtaken holder tries, its successor still holds the key and can
/// complete it.
pub async fn overtaken_holder_changes_nothing<S: Subject>(subject: &S) {
    let (store, other, times) = (subject.node().await, subject.node().await, subject.times());
    let key = |id: &[u8]| Key::new("changes nothing", id);
    let ways: [&[u8]; 4] = [b"complete", b"release", b"extend", b"drop"];
    let mut overtaken = Vec::new();
    for way in ways {
        overtaken.push(first(&store, &key(way), times).await);
    }
    subject.pass(times.lease + times.late).await;
    let mut successors = Vec::new();
    for way in ways {
        successors.push(first(&other, &key(way), times).await);
    }
    for (way, mut lease) in ways.into_iter().zip(overtaken) {
        match way {
            b"complete" => assert!(lease.complete().await.is_err()),
            b"release" => lease.release().await.expect("nothing to release is fine"),
            b"extend" => assert!(lease.extend(times.lease).await.is_err()),
            _ => drop(lease),
        }
    }
    for (way, successor) in ways.into_iter().zip(successors) {
        assert!(claim(&store, &key(way), times).await.is_in_flight());
        successor.complete().await.expect("the successor holds it");
        assert!(claim(&store, &key(way), times).await.is_duplicate());
    }
}

/// Once the successor has completed, neither a late complete, release, extend nor
/// drop of the overtaken holder makes the key anything but done.
pub async fn overtaken_holder_never_undoes_what_is_done<S: Subject>(subject: &S) {
    let (store, other, times) = (subject.node().await, subject.node().await, subject.times());
    let key = |id: &[u8]| Key::new("never undone", id);
    let ways: [&[u8]; 4] = [b"complete", b"release", b"extend", b"drop"];
    let mut overtaken = Vec::new();
    for way in ways {
        overtaken.push(first(&store, &key(way), times).await);
    }
    subject.pass(times.lease + times.late).await;
    for way in ways {
        let successor = first(&other, &key(way), times).await;
        successor.complete().await.expect("the successor holds it");
    }
    for (way, mut lease) in ways.into_iter().zip(overtaken) {
        match way {
            b"complete" => assert!(matches!(lease.complete().await, Err(SettleError::Lost))),
            b"release" => lease.release().await.expect("nothing to release is fine"),
            b"extend" => assert!(lease.extend(times.lease).await.is_err()),
            _ => drop(lease),
        }
    }
    // Done for the successor's retention, not for what the late one would have given.
    subject.pass(times.retention - times.early).await;
    for way in ways {
        assert!(claim(&store, &key(way), times).await.is_duplicate());
    }
    subject.pass(times.early + times.late).await;
    for way in ways {
        assert!(claim(&store, &key(way), times).await.is_first());
    }
}
