//! The server's name for a key: the same in every process and every release.

use hapax_store::Key;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes of the hash that are kept: 128 bits.
const BYTES: usize = 16;

/// Returns `<prefix>:` and 32 hex digits of the key's SHA-256.
///
/// By shell, for a scope and one id: each piece behind its length in four bytes, then
/// `sha256sum | cut -c1-32`.
pub(crate) fn name(prefix: &str, key: &Key) -> String {
    let hash = Sha256::digest(key.as_bytes());
    let mut name = String::with_capacity(prefix.len() + 1 + 2 * BYTES);
    name.push_str(prefix);
    name.push(':');
    for byte in &hash[..BYTES] {
        // Writing to a string does not fail.
        let _ = write!(name, "{byte:02x}");
    }
    name
}

#[cfg(test)]
mod tests {
    use super::name;
    use hapax_store::Key;

    /// A changed name would make every process forget what the last release knew.
    #[test]
    fn name_is_what_it_always_was() {
        // printf '\0\0\0\7/orders\0\0\0\5evt_1' | sha256sum | cut -c1-32
        assert_eq!(
            name("hapax", &Key::new("/orders", b"evt_1")),
            "hapax:3359cc2717e5c202f002dc82f3016cc5"
        );
    }
}
