//! Tokens: who holds a key.

use std::{
    fmt,
    sync::atomic::{AtomicU64, Ordering},
};

/// Names one claim. Shown as 32 hex digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token(u128);

/// Draws tokens that never recur.
///
/// A store starts at a random 128-bit number and counts. Two stores give out the same
/// token only if their starts are closer than the number of claims they make: below
/// 2^-60 for any two that make 2^64 claims each, and then on the same key.
#[derive(Debug)]
pub(crate) struct Tokens {
    start: u128,
    drawn: AtomicU64,
}

impl Tokens {
    pub(crate) fn draw() -> Result<Self, getrandom::Error> {
        let mut start = [0; 16];
        getrandom::fill(&mut start)?;
        Ok(Self {
            start: u128::from_le_bytes(start),
            drawn: AtomicU64::new(0),
        })
    }

    pub(crate) fn next(&self) -> Token {
        // Relaxed: only that each number is given once; pairs with nothing.
        let drawn = self.drawn.fetch_add(1, Ordering::Relaxed);
        Token(self.start.wrapping_add(u128::from(drawn)))
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::Tokens;

    #[test]
    fn two_stores_and_two_claims_have_different_tokens() {
        let (a, b) = (Tokens::draw().unwrap(), Tokens::draw().unwrap());
        let (first, second) = (a.next(), a.next());
        assert_ne!(first, second);
        assert_ne!(first, b.next());
        assert_eq!(first.to_string().len(), 32);
    }
}
