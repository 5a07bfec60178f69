//! Do keys, outcomes and errors say what they should, and no more?

use hapax_store::{ErrorKind, Key, Outcome, SettleError, StoreError};
use std::{collections::HashSet, error::Error, io, time::Duration};

#[test]
fn no_two_lists_of_pieces_give_one_key() {
    let lists: [(&str, &[&str]); 9] = [
        ("a", &["bc"]),
        ("ab", &["c"]),
        ("a", &["b", "c"]),
        ("a", &["bc", ""]),
        ("a", &["", "bc"]),
        ("", &["abc"]),
        ("abc", &[]),
        ("abc", &[""]),
        ("a", &["\0\0\0\u{1}b"]),
    ];
    let keys: HashSet<Key> = lists
        .iter()
        .map(|(scope, parts)| Key::from_parts(scope, parts))
        .collect();
    assert_eq!(keys.len(), lists.len());
}

#[test]
fn pieces_come_back_as_they_went_in() {
    let key = Key::from_parts("/hook", &["one", "", "three"]);
    assert_eq!(key.scope(), b"/hook");
    assert_eq!(key.id(), b"one");
    let parts: Vec<_> = key.parts().collect();
    assert_eq!(parts, [&b"one"[..], b"", b"three"]);
    assert_eq!(
        Key::new("/hook", b"one"),
        Key::from_parts("/hook", &["one"])
    );
    assert_eq!(key.as_bytes().len(), 4 * 4 + "/hookonethree".len());
}

#[test]
fn debug_of_a_key_shows_the_scope_and_not_the_id() {
    let shown = format!("{:?}", Key::from_parts("/hook", &["secret", "more"]));
    assert_eq!(shown, r#"Key { scope: "/hook", id: <10 bytes> }"#);
}

#[test]
fn errors_keep_their_cause() {
    let cause = io::Error::from(io::ErrorKind::ConnectionRefused);
    let error = SettleError::from(StoreError::with_source(ErrorKind::Unavailable, cause));
    assert_eq!(error.to_string(), "the store could not settle the lease");
    let store = error.source().expect("the store's error");
    assert_eq!(store.to_string(), "the store is unavailable");
    assert!(store.source().expect("the cause").is::<io::Error>());
    assert!(SettleError::Lost.source().is_none());
    assert_eq!(StoreError::new(ErrorKind::Full).kind(), ErrorKind::Full);
}

#[test]
fn mapping_an_outcome_touches_only_the_lease() {
    let first = Outcome::First(1).map(|n| n + 1);
    assert_eq!(first.first(), Some(2));
    let remaining = Duration::from_secs(1);
    let in_flight = Outcome::<u8>::InFlight { remaining }.map(|_| ());
    assert!(in_flight.is_in_flight() && in_flight.first().is_none());
    let duplicate = Outcome::<u8>::Duplicate { remaining: None }.map(|_| ());
    assert!(duplicate.is_duplicate() && !duplicate.is_first());
}
