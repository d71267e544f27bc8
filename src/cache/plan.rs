//! How a memory budget becomes seats, pages and a longest sequence.

use crate::backend::{KvGroup, KvType, Retention};
use crate::error::{Error, Result};

/// What is wanted.
#[derive(Clone, Copy, Debug)]
pub struct CacheRequest {
    pub seats: usize,
    /// Longest sequence in tokens.
    pub max_sequence: usize,
    pub page_tokens: usize,
    /// Most rows a step writes for one sequence.
    pub chunk: usize,
    pub kv_type: KvType,
    pub budget_bytes: u64,
}

/// What the budget holds. One sequence of `max_sequence` tokens always fits when nothing else is resident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachePlan {
    pub seats: usize,
    pub page_tokens: usize,
    pub pages_per_seat: usize,
    pub group_pages: Vec<usize>,
    pub max_sequence: usize,
    pub bytes: u64,
}

impl CachePlan {
    /// Lowers the longest sequence until one fits, then the seats until their sliding windows fit beside it, and spends the rest
    /// on full-retention pages. Errors: OUT_OF_MEMORY where not even two tokens fit.
    pub fn new(groups: &[KvGroup], want: &CacheRequest) -> Result<Self> {
        let sizes = Sizes { groups, want };
        let smallest = sizes.full_bytes(2) + sizes.sliding_bytes(2);
        if smallest > want.budget_bytes {
            return Err(Error::out_of_memory(format!(
                "KV cache budget: {} bytes, expected at least {smallest} bytes (one page of {} tokens in each group)",
                want.budget_bytes, want.page_tokens
            )));
        }
        let fits = |tokens: usize| sizes.full_bytes(tokens).saturating_add(sizes.sliding_bytes(tokens)) <= want.budget_bytes;
        let max_sequence = largest(2, want.max_sequence, fits);
        let (full, sliding) = (sizes.full_bytes(max_sequence), sizes.sliding_bytes(max_sequence));
        let seats =
            largest(1, want.seats, |seats| full.saturating_add(sliding.saturating_mul(seats as u64)) <= want.budget_bytes);

        let pages_per_seat = max_sequence.div_ceil(want.page_tokens);
        let full_page: u64 = sizes.page_bytes(|g| g.retention == Retention::Full);
        let left = want.budget_bytes - sliding * seats as u64;
        let full_pages = match full_page {
            0 => 0,
            bytes => ((left / bytes) as usize).min(seats * pages_per_seat),
        };
        let group_pages: Vec<usize> = groups
            .iter()
            .map(|group| match group.retention {
                Retention::Full => full_pages,
                Retention::Sliding { .. } => seats * sizes.seat_pages(group, max_sequence),
            })
            .collect();
        let bytes = groups.iter().zip(&group_pages).map(|(g, &pages)| sizes.group_page_bytes(g) * pages as u64).sum();
        Ok(CachePlan { seats, page_tokens: want.page_tokens, pages_per_seat, group_pages, max_sequence, bytes })
    }
}

struct Sizes<'a> {
    groups: &'a [KvGroup],
    want: &'a CacheRequest,
}

impl Sizes<'_> {
    fn group_page_bytes(&self, group: &KvGroup) -> u64 {
        2 * (group.layers * group.kv_heads * group.head_dim * self.want.page_tokens * self.want.kv_type.bytes()) as u64
    }

    fn page_bytes(&self, which: impl Fn(&KvGroup) -> bool) -> u64 {
        self.groups.iter().filter(|g| which(g)).map(|g| self.group_page_bytes(g)).sum()
    }

    /// Most pages a seat holds at once for a sequence of `tokens`.
    fn seat_pages(&self, group: &KvGroup, tokens: usize) -> usize {
        let all = tokens.div_ceil(self.want.page_tokens);
        match group.retention {
            Retention::Full => all,
            // The window before a chunk, the chunk, and a page cut at each end.
            Retention::Sliding { window } => all.min(window.saturating_add(self.want.chunk).div_ceil(self.want.page_tokens) + 1),
        }
    }

    fn full_bytes(&self, tokens: usize) -> u64 {
        let pages = tokens.div_ceil(self.want.page_tokens) as u64;
        self.page_bytes(|g| g.retention == Retention::Full).saturating_mul(pages)
    }

    fn sliding_bytes(&self, tokens: usize) -> u64 {
        self.groups
            .iter()
            .filter(|g| g.retention != Retention::Full)
            .map(|g| self.group_page_bytes(g).saturating_mul(self.seat_pages(g, tokens) as u64))
            .fold(0, u64::saturating_add)
    }
}

/// The largest n in `low..=high` for which `fits` holds; it holds for `low` and is monotone.
fn largest(low: usize, high: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut bad) = (low, high.saturating_add(1));
    while bad.saturating_sub(good) > 1 {
        let middle = good + (bad - good) / 2;
        if fits(middle) { good = middle } else { bad = middle }
    }
    good
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(retention: Retention) -> KvGroup {
        KvGroup { layers: 2, kv_heads: 1, head_dim: 16, retention }
    }

    /// Bytes of a page of 16 tokens of `group`: K and V, 2 layers, 16 values of 2 bytes, 16 tokens.
    const PAGE: u64 = 2 * 2 * 16 * 2 * 16;

    fn want(seats: usize, max_sequence: usize, budget_bytes: u64) -> CacheRequest {
        CacheRequest { seats, max_sequence, page_tokens: 16, chunk: 32, kv_type: KvType::F16, budget_bytes }
    }

    #[test]
    fn an_ample_budget_gives_every_seat_its_longest_sequence() {
        let plan = CachePlan::new(&[group(Retention::Full)], &want(4, 100, u64::MAX)).unwrap();
        assert_eq!((plan.seats, plan.max_sequence, plan.pages_per_seat), (4, 100, 7));
        assert_eq!((plan.group_pages.as_slice(), plan.bytes), ([28].as_slice(), 28 * PAGE));
    }

    /// FIELD_CASES 58: a pool smaller than one request gives a smaller capacity, not an assertion.
    #[test]
    fn a_small_budget_lowers_the_longest_sequence() {
        let plan = CachePlan::new(&[group(Retention::Full)], &want(4, 128, 2 * PAGE)).unwrap();
        assert_eq!((plan.max_sequence, plan.group_pages[0]), (32, 2));
        let error = CachePlan::new(&[group(Retention::Full)], &want(4, 128, PAGE - 1)).unwrap_err();
        assert_eq!(error.status(), crate::Status::OutOfMemory);
        assert!(error.message().contains(&PAGE.to_string()), "{error}");
    }

    #[test]
    fn sliding_groups_hold_a_window_and_a_chunk_per_seat() {
        let groups = [group(Retention::Full), group(Retention::Sliding { window: 32 })];
        let plan = CachePlan::new(&groups, &want(2, 1600, u64::MAX)).unwrap();
        assert_eq!(plan.group_pages, [200, 2 * 5]);
        // Room for one sequence of 1600 tokens and its window, and no second window.
        let plan = CachePlan::new(&groups, &want(2, 1600, (100 + 5) * PAGE)).unwrap();
        assert_eq!((plan.max_sequence, plan.seats), (1600, 1));
        assert_eq!(plan.group_pages, [100, 5]);
    }
}
