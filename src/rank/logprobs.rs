//! Log-probabilities of generated tokens, in flat storage that stops growing.

/// Log-probabilities at one output position: natural log, temperature 1, from raw logits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenLogprobs<'a> {
    pub token: u32,
    pub logprob: f32,
    /// The most probable tokens, descending; ties by lower id.
    pub top: &'a [(u32, f32)],
}

/// Log-probabilities of consecutive output positions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logprobs {
    chosen: Vec<(u32, f32)>,
    top: Vec<(u32, f32)>,
    /// End of each position's part of `top`.
    ends: Vec<u32>,
}

impl Logprobs {
    /// Room for `positions` entries of `top` tokens each.
    pub fn with_capacity(positions: usize, top: usize) -> Self {
        Logprobs {
            chosen: Vec::with_capacity(positions),
            top: Vec::with_capacity(positions * top),
            ends: Vec::with_capacity(positions),
        }
    }

    pub fn push(&mut self, entry: TokenLogprobs<'_>) {
        self.chosen.push((entry.token, entry.logprob));
        self.top.extend_from_slice(entry.top);
        self.ends.push(self.top.len() as u32);
    }

    pub fn len(&self) -> usize {
        self.chosen.len()
    }

    pub fn is_empty(&self) -> bool {
        self.chosen.is_empty()
    }

    pub fn get(&self, position: usize) -> Option<TokenLogprobs<'_>> {
        let &(token, logprob) = self.chosen.get(position)?;
        let start = if position == 0 { 0 } else { self.ends[position - 1] as usize };
        Some(TokenLogprobs { token, logprob, top: &self.top[start..self.ends[position] as usize] })
    }

    pub fn iter(&self) -> impl Iterator<Item = TokenLogprobs<'_>> {
        (0..self.len()).filter_map(|i| self.get(i))
    }

    pub fn clear(&mut self) {
        self.chosen.clear();
        self.top.clear();
        self.ends.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_back_as_they_went_in() {
        let mut logprobs = Logprobs::default();
        let entries = [
            TokenLogprobs { token: 3, logprob: -0.5, top: &[(3, -0.5), (1, -2.0)] },
            TokenLogprobs { token: 9, logprob: -7.0, top: &[] },
        ];
        entries.iter().for_each(|&e| logprobs.push(e));
        assert_eq!(logprobs.iter().collect::<Vec<_>>(), entries);
        assert_eq!(logprobs.get(2), None);
    }
}
