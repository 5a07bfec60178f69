//! A store that cannot answer.

use super::Subject;
use crate::{ClaimStore, Key};
use std::error::Error;

/// An error keeps its cause and does not show the id; of several keys, each gets an
/// error of its own.
pub async fn failure_keeps_its_source_and_hides_the_id<S: Subject>(subject: &S) {
    let Some(store) = subject.failing().await else {
        return;
    };
    let lease = subject.times().lease;
    let key = Key::new("failing", b"top-secret-id");
    let Err(error) = store.claim(&key, lease).await else {
        panic!("a claim of a failing store should fail");
    };
    assert!(error.source().is_some(), "{error:?} has no cause");
    let mut shown = format!("{error:?}");
    let mut next: Option<&dyn Error> = Some(&error);
    while let Some(error) = next {
        shown += &format!(" {error} {error:?}");
        next = error.source();
    }
    assert!(!shown.contains("top-secret-id"), "{shown}");

    let answers = store.claim_many(&[key.clone(), key], lease).await;
    assert_eq!(answers.len(), 2);
    assert!(answers.iter().all(Result::is_err));
}
