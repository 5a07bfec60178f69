//! The name under which a store remembers one event.
//!
//! A key is a **scope** (an endpoint, a tenant) and one or more **id parts**. Each
//! piece is written behind its own length, so no two different lists of pieces
//! give the same bytes: `("a", "bc")` and `("ab", "c")` never meet, nor do equal
//! ids of two scopes.

use std::fmt;

/// Bytes of the length in front of each piece.
const LEN: usize = size_of::<u32>();

/// Names one event of one scope. One allocation.
///
/// `Debug` shows the scope and the length of the id, never the id: keys end up in
/// logs, and ids belong to the sender.
///
/// # Examples
///
/// ```
/// use hapax_store::Key;
///
/// let github = Key::new("/github", b"1");
/// assert_ne!(github, Key::new("/stripe", b"1"));
/// assert_eq!(github.scope(), b"/github");
/// assert_eq!(github.id(), b"1");
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Key(Box<[u8]>);

impl Key {
    /// Names the event `id` of `scope`.
    ///
    /// # Panics
    ///
    /// If scope or id is longer than `u32::MAX` bytes.
    #[must_use]
    pub fn new(scope: &str, id: &[u8]) -> Self {
        Self::from_parts(scope, &[id])
    }

    /// Names the event of `scope` whose id has several parts, such as source and id.
    ///
    /// The order of the parts matters, and `["a", "b"]` is not `["ab"]`.
    ///
    /// # Panics
    ///
    /// If a piece is longer than `u32::MAX` bytes.
    #[must_use]
    pub fn from_parts<P: AsRef<[u8]>>(scope: &str, parts: &[P]) -> Self {
        let pieces = || std::iter::once(scope.as_bytes()).chain(parts.iter().map(AsRef::as_ref));
        let mut bytes = Vec::with_capacity(pieces().map(|piece| LEN + piece.len()).sum());
        for piece in pieces() {
            let len = u32::try_from(piece.len()).expect("a key piece is shorter than 4 GiB");
            bytes.extend_from_slice(&len.to_be_bytes());
            bytes.extend_from_slice(piece);
        }
        Self(bytes.into_boxed_slice())
    }

    /// Returns the scope.
    #[must_use]
    pub fn scope(&self) -> &[u8] {
        self.pieces().next().unwrap_or_default()
    }

    /// Returns the first part of the id, which is the whole id unless there are more.
    #[must_use]
    pub fn id(&self) -> &[u8] {
        self.parts().next().unwrap_or_default()
    }

    /// Returns the parts of the id in order.
    pub fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.pieces().skip(1)
    }

    /// Returns the whole key as bytes: what a backend stores or hashes.
    ///
    /// Each piece stands behind its length (four bytes, big endian).
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    fn pieces(&self) -> impl Iterator<Item = &[u8]> {
        let mut rest = &*self.0;
        std::iter::from_fn(move || {
            let (len, tail) = rest.split_first_chunk::<LEN>()?;
            let (piece, tail) = tail.split_at(u32::from_be_bytes(*len) as usize);
            rest = tail;
            Some(piece)
        })
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: usize = self.parts().map(<[u8]>::len).sum();
        f.debug_struct("Key")
            .field("scope", &String::from_utf8_lossy(self.scope()))
            .field("id", &format_args!("<{bytes} bytes>"))
            .finish()
    }
}
