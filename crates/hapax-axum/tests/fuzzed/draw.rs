//! Choices drawn from bytes. When they run out every choice is the first one, so that a
//! shorter input is a simpler one.

/// A source of choices.
pub(crate) struct Draw<'b>(pub(crate) &'b [u8]);

impl<'b> Draw<'b> {
    /// Takes one byte; zero when there is none.
    pub(crate) fn byte(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&first, rest)) => {
                self.0 = rest;
                first
            }
            None => 0,
        }
    }

    /// Chooses a number below `n`; any below 65536.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        let high = if n > 256 { usize::from(self.byte()) } else { 0 };
        (high << 8 | usize::from(self.byte())) % n.max(1)
    }

    /// Chooses one of `choices`.
    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// Says yes once in `of`; an exhausted source says no.
    pub(crate) fn once_in(&mut self, of: usize) -> bool {
        self.below(of) == of - 1
    }

    /// Takes up to 15 bytes.
    pub(crate) fn bytes(&mut self) -> &'b [u8] {
        let n = self.below(16).min(self.0.len());
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }
}
