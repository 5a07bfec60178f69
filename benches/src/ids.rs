//! Event ids as a sender makes them: 26 bytes of text, unique, without any order in the bytes.
//!
//! The `n`-th id is a pure function of `n`: a four-byte prefix, thirteen characters that spell a
//! bijection of `n` (so two ids never meet), and nine more that make the length real. Ids of one
//! stream lie side by side in the order of the calls. Reading them costs every contender the same,
//! and the memory they come from is fetched ahead by the processor.

use arrayvec::ArrayString;

/// Bytes in an id: the length of a ULID, close to what webhook senders use.
pub const ID_BYTES: usize = 26;

/// One id, its bytes inside.
pub type Id = ArrayString<ID_BYTES>;

/// Makes the `n`-th id. The same `n` always gives the same id, different `n` never do.
pub fn id(n: u64) -> Id {
    let mut text = Id::new();
    text.push_str("evt_");
    push_base32(&mut text, mix(n), 13);
    push_base32(&mut text, mix(!n), 9);
    text
}

/// Makes the ids numbered `from..to`, in this order.
pub fn range(from: u64, to: u64) -> Vec<Id> {
    (from..to).map(id).collect()
}

/// Spreads `n` over all 64 bits; a bijection (the finaliser of SplitMix64).
pub fn mix(n: u64) -> u64 {
    let n = n.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    n ^ (n >> 31)
}

/// Appends the lowest `5 * chars` bits of `value`; thirteen characters hold all 64.
fn push_base32(text: &mut Id, mut value: u64, chars: usize) {
    const ALPHABET: &[u8; 32] = b"0123456789abcdefghjkmnpqrstvwxyz";
    for _ in 0..chars {
        text.push(ALPHABET[(value & 31) as usize] as char);
        value >>= 5;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn ids_are_unique_and_of_the_stated_length() {
        let ids = range(0, 50_000);
        assert!(ids.iter().all(|id| id.len() == ID_BYTES));
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 50_000);
    }
}
