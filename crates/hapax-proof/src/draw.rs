//! Choices drawn from bytes: a fuzzer's, a seed file's, or a generator's.
//!
//! The same bytes always make the same choices, and when they run out every
//! choice is the first one, so that a shorter input is a simpler one.

/// A source of choices.
#[derive(Clone, Debug)]
pub struct Draw<'b> {
    bytes: &'b [u8],
}

impl<'b> Draw<'b> {
    /// Draws from these bytes.
    #[must_use]
    pub fn new(bytes: &'b [u8]) -> Self {
        Self { bytes }
    }

    /// Tells whether every byte has been used.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Takes one byte; zero when there is none.
    pub fn byte(&mut self) -> u8 {
        match self.bytes.split_first() {
            Some((&first, rest)) => {
                self.bytes = rest;
                first
            }
            None => 0,
        }
    }

    /// Takes all that is left.
    pub fn rest(&mut self) -> &'b [u8] {
        std::mem::take(&mut self.bytes)
    }

    /// Chooses a number below `n` (1 to 256) with one byte.
    pub fn below(&mut self, n: u16) -> u8 {
        debug_assert!((1..=256).contains(&n), "one byte chooses among 1 to 256");
        (u16::from(self.byte()) % n) as u8
    }

    /// Chooses one of `choices`.
    pub fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[usize::from(self.below(choices.len() as u16))]
    }

    /// Says yes about `times` times in `of`.
    pub fn chance(&mut self, times: u8, of: u8) -> bool {
        // Zero, the byte of an exhausted source, says no.
        self.below(u16::from(of)) >= of - times
    }
}

/// Fills a block of bytes from a seed (splitmix64), for tests that want many
/// inputs which are the same on every run.
#[must_use]
pub fn bytes_from_seed(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut bytes: Vec<u8> = std::iter::repeat_with(|| next().to_le_bytes())
        .take(length.div_ceil(8))
        .flatten()
        .collect();
    bytes.truncate(length);
    bytes
}
