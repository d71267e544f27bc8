//! How often each token has occurred in a sequence, for the penalties.

use std::collections::HashMap;

use crate::backend::TokenCount;

/// Counts of the tokens of one sequence, in order of first occurrence.
#[derive(Clone, Debug, Default)]
pub struct TokenHistory {
    counts: Vec<TokenCount>,
    index: HashMap<u32, u32>,
}

impl TokenHistory {
    /// With room for `expected` tokens of output, so that counting them allocates nothing.
    pub fn from_prompt(prompt: &[u32], expected: usize) -> Self {
        let most = prompt.len() + expected;
        let mut history = TokenHistory { counts: Vec::with_capacity(most), index: HashMap::with_capacity(most) };
        for &token in prompt {
            history.entry(token).in_prompt = true;
        }
        history
    }

    pub fn push_output(&mut self, token: u32) {
        self.entry(token).in_output += 1;
    }

    pub fn counts(&self) -> &[TokenCount] {
        &self.counts
    }

    fn entry(&mut self, token: u32) -> &mut TokenCount {
        let at = *self.index.entry(token).or_insert_with(|| {
            self.counts.push(TokenCount { token, in_prompt: false, in_output: 0 });
            (self.counts.len() - 1) as u32
        });
        &mut self.counts[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prompt_and_output_are_counted_apart() {
        let mut history = TokenHistory::from_prompt(&[5, 5, 7], 3);
        history.push_output(7);
        history.push_output(9);
        history.push_output(9);
        let expected = [(5, true, 0), (7, true, 1), (9, false, 2)].map(|(token, in_prompt, in_output)| TokenCount {
            token,
            in_prompt,
            in_output,
        });
        assert_eq!(history.counts(), expected);
    }
}
