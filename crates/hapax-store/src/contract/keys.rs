//! Which keys are one key.

use super::{
    Subject,
    wait::{claim, done, first},
};
use crate::{Key, StoreLease};

/// Equal ids of two scopes are two events.
pub async fn equal_ids_of_two_scopes_never_meet<S: Subject>(subject: &S) {
    let (store, times) = (subject.node().await, subject.times());
    done(&store, &Key::new("/a", b"evt_1"), times).await;
    done(&store, &Key::new("/b", b"evt_1"), times).await;
    // Nor do pieces that read the same when joined.
    done(&store, &Key::new("/ae", b"vt_1"), times).await;
    done(&store, &Key::from_parts("/a", &["evt", "_1"]), times).await;
    assert!(
        claim(&store, &Key::new("/a", b"evt_1"), times)
            .await
            .is_duplicate()
    );
}

/// Ids of 1 and of 255 bytes, and of any bytes, are kept whole and apart.
pub async fn keys_of_any_length_and_bytes_are_kept_apart<S: Subject>(subject: &S) {
    let (store, other, times) = (subject.node().await, subject.node().await, subject.times());
    let all: Vec<u8> = (1..=255).collect();
    let mut last_differs = all.clone();
    last_differs[254] = 0;
    let ids: [&[u8]; 12] = [
        b"a",
        b"\0",
        b"\xff",
        b" ",
        b"a\r\nSET x y\r\n",
        b"{a}",
        b"a*?[b]",
        "é".as_bytes(),
        "e\u{301}".as_bytes(),
        &[b'x'; 255],
        &all,
        &last_differs,
    ];
    for id in ids {
        let lease = first(&store, &Key::new("bytes", id), times).await;
        assert!(
            claim(&other, &Key::new("bytes", id), times)
                .await
                .is_in_flight()
        );
        lease.complete().await.expect("the lease is ours");
    }
    for id in ids {
        assert!(
            claim(&other, &Key::new("bytes", id), times)
                .await
                .is_duplicate()
        );
    }
}
