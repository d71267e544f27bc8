//! Pages of the KV pool and who holds them.
//!
//! Owns: free lists, reference counts, the page table of every seat in every KV group, and the index of full pages that later
//! sequences may share (the context cache). Knows nothing of models, requests or what a page contains; the memory itself is the
//! executor's.
//! Invariant: in every group free + held (by seats, by the index) = total, after every call, on every path.

mod context;
mod plan;
mod pool;
mod prefix;

pub use context::Chain;
pub use plan::{CachePlan, CacheRequest};
pub use pool::PagePool;
pub use prefix::{CacheIdentity, CacheMetrics, NodeId};

use crate::backend::{KvGroup, NO_PAGE, PageTable, Retention};
use prefix::PrefixIndex;

/// KV groups of a model are few: full and sliding attention make two.
pub const MAX_GROUPS: usize = 8;

/// The pages of all groups, each seat's tables, and the context cache over them.
#[derive(Debug)]
pub struct KvCache {
    page_tokens: usize,
    pages_per_seat: usize,
    groups: Vec<Group>,
    index: PrefixIndex,
    /// Most childless nodes the index keeps, pinned ones and those in use aside.
    max_records: usize,
}

#[derive(Debug)]
struct Group {
    pool: PagePool,
    retention: Retention,
    /// `[seat][pages_per_seat]`.
    table: Vec<u32>,
    /// Per seat: first slot that may hold a page, and one past the last that does.
    held: Vec<(u32, u32)>,
}

/// Positions `from..to` of a seat that a step is about to write; everything below `from` that is retained is in place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    pub seat: u32,
    pub from: u32,
    pub to: u32,
}

/// Pages that were wanted and not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shortage {
    pub group: usize,
    pub wanted: usize,
    pub free: usize,
}

impl KvCache {
    /// A cache of the sizes `plan` settled.
    /// `max_records`: sequences the context cache remembers.
    pub fn new(groups: &[KvGroup], plan: &CachePlan, max_records: usize) -> Self {
        let groups = groups
            .iter()
            .zip(&plan.group_pages)
            .map(|(group, &pages)| Group {
                pool: PagePool::new(pages),
                retention: group.retention,
                table: vec![NO_PAGE; plan.seats * plan.pages_per_seat],
                held: vec![(0, 0); plan.seats],
            })
            .collect();
        KvCache {
            page_tokens: plan.page_tokens,
            pages_per_seat: plan.pages_per_seat,
            groups,
            index: PrefixIndex::default(),
            max_records,
        }
    }

    /// Gives every extent its pages, or changes nothing a resident can see and says what is short. Pages that only the index holds
    /// count as free.
    pub fn reserve(&mut self, extents: &[Extent]) -> Result<(), Shortage> {
        self.provide(extents, |_| true)
    }

    /// Gives `seat` pages for positions up to `to` in the groups that keep every position, so that a prompt which was admitted is
    /// never short of them later; or changes nothing and says what is short. Sliding groups are sized so that they never are.
    pub fn reserve_retained(&mut self, seat: u32, to: u32) -> Result<(), Shortage> {
        self.provide(&[Extent { seat, from: 0, to }], |group| group.retention == Retention::Full)
    }

    fn provide(&mut self, extents: &[Extent], concerned: impl Fn(&Group) -> bool) -> Result<(), Shortage> {
        let page_tokens = self.page_tokens as u32;
        let mut wanted = [0; MAX_GROUPS];
        for (wanted, group) in wanted.iter_mut().zip(&self.groups).filter(|(_, group)| concerned(group)) {
            *wanted = extents.iter().map(|e| group.missing(e, page_tokens)).sum();
        }
        for (index, group) in self.groups.iter().enumerate() {
            let free = group.pool.free();
            if wanted[index] > free && wanted[index] > free + self.evictable(index) {
                return Err(Shortage { group: index, wanted: wanted[index], free });
            }
        }
        for (index, &wanted) in wanted[..self.groups.len()].iter().enumerate() {
            while wanted > self.groups[index].pool.free() {
                if !self.make_room(index) {
                    return Err(Shortage { group: index, wanted, free: self.groups[index].pool.free() });
                }
            }
        }
        for group in self.groups.iter_mut().filter(|group| concerned(group)) {
            for extent in extents {
                group.fill(extent, page_tokens, self.pages_per_seat);
            }
        }
        Ok(())
    }

    /// Gives back pages that no position from `next` on will read.
    pub fn trim(&mut self, seat: u32, next: u32) {
        for group in &mut self.groups {
            let Retention::Sliding { window } = group.retention else { continue };
            let first_read = (u64::from(next) + 1).saturating_sub(window as u64);
            let keep_from = (first_read / self.page_tokens as u64) as u32;
            group.drop_below(seat, keep_from, self.pages_per_seat);
        }
    }

    /// Gives back everything `seat` holds.
    pub fn release(&mut self, seat: u32) {
        for group in &mut self.groups {
            group.drop_below(seat, u32::MAX, self.pages_per_seat);
            group.held[seat as usize] = (0, 0);
        }
    }

    /// The tables as executors read them.
    pub fn tables(&self) -> impl Iterator<Item = PageTable<'_>> {
        self.groups.iter().map(|g| PageTable { pages: &g.table, stride: self.pages_per_seat })
    }

    /// Free and all pages, over all groups. Pages that only the index holds are free for whoever needs them, but counted as held.
    pub fn pages(&self) -> (usize, usize) {
        self.groups.iter().fold((0, 0), |(free, total), g| (free + g.pool.free(), total + g.pool.total()))
    }
}

impl Group {
    /// Slots of `extent` that a page must be found for.
    fn missing(&self, extent: &Extent, page_tokens: u32) -> usize {
        let (_, end) = self.held[extent.seat as usize];
        (extent.to.div_ceil(page_tokens)).saturating_sub(end.max(extent.from / page_tokens)) as usize
    }

    fn fill(&mut self, extent: &Extent, page_tokens: u32, stride: usize) {
        let seat = extent.seat as usize;
        let (first, end) = self.held[seat];
        let start = end.max(extent.from / page_tokens);
        let stop = extent.to.div_ceil(page_tokens);
        for slot in start..stop {
            // `reserve` has checked that the pool holds enough.
            self.table[seat * stride + slot as usize] = self.pool.take().unwrap_or(NO_PAGE);
        }
        if stop > end {
            self.held[seat] = (if first == end { start } else { first }, stop);
        }
    }

    fn drop_below(&mut self, seat: u32, slot: u32, stride: usize) {
        let (first, end) = self.held[seat as usize];
        let until = slot.min(end);
        for slot in first..until {
            let entry = &mut self.table[seat as usize * stride + slot as usize];
            if *entry != NO_PAGE {
                self.pool.release(*entry);
            }
            *entry = NO_PAGE;
        }
        if until > first {
            self.held[seat as usize].0 = until;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn cache(retentions: &[Retention], seats: usize, pages: usize, pages_per_seat: usize) -> KvCache {
        let groups: Vec<_> =
            retentions.iter().map(|&retention| KvGroup { layers: 1, kv_heads: 1, head_dim: 8, retention }).collect();
        let plan = CachePlan {
            seats,
            page_tokens: 16,
            pages_per_seat,
            group_pages: vec![pages; groups.len()],
            max_sequence: pages_per_seat * 16,
            bytes: 0,
        };
        KvCache::new(&groups, &plan, 0)
    }

    #[test]
    fn a_shortage_changes_nothing() {
        let mut cache = cache(&[Retention::Full], 2, 4, 4);
        cache.reserve(&[Extent { seat: 0, from: 0, to: 33 }]).unwrap();
        assert_eq!(cache.pages(), (1, 4));
        let shortage = cache.reserve(&[Extent { seat: 0, from: 33, to: 49 }, Extent { seat: 1, from: 0, to: 1 }]).unwrap_err();
        assert_eq!(shortage, Shortage { group: 0, wanted: 2, free: 1 });
        assert_eq!(cache.pages(), (1, 4));
        cache.release(0);
        assert_eq!(cache.pages(), (4, 4));
    }

    #[test]
    fn a_sliding_group_gives_back_what_left_the_window() {
        let mut cache = cache(&[Retention::Sliding { window: 20 }], 1, 8, 64);
        cache.reserve(&[Extent { seat: 0, from: 0, to: 64 }]).unwrap();
        // The query at 64 reads 45..=64: pages 0 and 1 (positions 0..32) are done with.
        cache.trim(0, 64);
        assert_eq!(cache.pages(), (6, 8));
        let table: Vec<_> = cache.tables().next().unwrap().pages[..4].iter().map(|&p| p == NO_PAGE).collect();
        assert_eq!(table, [true, true, false, false]);
    }

    proptest! {
        /// Free + held = total in each group, and no page has two owners, over any history.
        #[test]
        fn pages_are_never_lost_or_shared(ops in prop::collection::vec((0u32..3, 0u32..4, 1u32..40), 1..200)) {
            let mut cache = cache(&[Retention::Full, Retention::Sliding { window: 24 }], 3, 14, 12);
            let mut len = [0u32; 3];
            for (seat, op, amount) in ops {
                let at = seat as usize;
                match op {
                    0 => { cache.release(seat); len[at] = 0; }
                    _ => {
                        let to = (len[at] + amount).min(12 * 16);
                        if to > len[at] && cache.reserve(&[Extent { seat, from: len[at], to }]).is_ok() {
                            len[at] = to;
                            cache.trim(seat, to);
                        }
                    }
                }
                let mut held = 0;
                for group in &cache.groups {
                    let mut pages: Vec<_> = group.table.iter().copied().filter(|&p| p != NO_PAGE).collect();
                    held += pages.len();
                    prop_assert_eq!(pages.len() + group.pool.free(), group.pool.total());
                    pages.sort();
                    pages.dedup();
                    prop_assert_eq!(pages.len() + group.pool.free(), group.pool.total());
                }
                // What the next query reads is there.
                for seat in 0..3u32 {
                    let next = len[seat as usize];
                    for (g, window) in [(0, u32::MAX), (1, 24)] {
                        for p in next.saturating_sub(window.saturating_sub(1))..next {
                            prop_assert_ne!(cache.groups[g].table[(seat * 12 + p / 16) as usize], NO_PAGE);
                        }
                    }
                }
                let (free, total) = cache.pages();
                prop_assert_eq!(free + held, total);
            }
        }
    }
}
