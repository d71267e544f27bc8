//! The context cache over the pools: adopting pages that others filled, publishing pages that are full, making room.

use super::prefix::{CacheIdentity, CacheMetrics, NodeId};
use super::{Group, KvCache};
use crate::backend::{NO_PAGE, Retention};

/// How far a seat's pages are known to the index: the node of its last published or adopted page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chain {
    node: NodeId,
    /// Pages from the start of the sequence to `node`.
    pages: u32,
}

impl KvCache {
    pub fn context_metrics(&self) -> CacheMetrics {
        self.index.metrics
    }

    /// The start of a chain for sequences of `identity`.
    pub fn chain(&mut self, identity: &CacheIdentity) -> Chain {
        Chain { node: self.index.root(identity), pages: 0 }
    }

    /// Gives `seat`, whose first `kv_len` positions are in place, the longest run of remembered pages that goes on from there and
    /// leaves at least the last of `tokens` to be computed. Returns the new length in place; the seat's own pages for those
    /// positions are given back. `tokens` is the whole sequence.
    pub fn adopt(&mut self, seat: u32, chain: &mut Chain, tokens: &[u32], kv_len: u32) -> u32 {
        let page = self.page_tokens;
        if !(kv_len as usize).is_multiple_of(page) || chain.pages as usize != kv_len as usize / page {
            return kv_len;
        }
        let start = chain.pages as usize;
        let most = (tokens.len() - 1) / page;
        let mut path = Vec::new();
        let mut node = chain.node;
        for slot in start..most {
            let Some(child) = self.index.child(node, &tokens[slot * page..(slot + 1) * page]) else { break };
            path.push(child);
            node = child;
        }
        // Sliding groups need every page of the window before the position to go on from.
        while let Some(end) = (!path.is_empty()).then_some(start + path.len())
            && !self.groups.iter().enumerate().all(|(g, group)| {
                let first = group.first_needed(end, page).max(start);
                (first..end).all(|slot| self.index.pages(path[slot - start]).get(g).is_some_and(|&p| p != NO_PAGE))
            })
        {
            path.pop();
        }
        let Some(&last) = path.last() else { return kv_len };
        let end = start + path.len();
        for (g, group) in self.groups.iter_mut().enumerate() {
            let first = group.first_needed(end, page).max(start);
            for slot in first..end {
                group.adopt(seat, slot, self.index.pages(path[slot - start])[g], self.pages_per_seat);
            }
        }
        for &node in &path {
            self.index.touch(node);
        }
        *chain = Chain { node: last, pages: end as u32 };
        self.index.metrics.reused_tokens += (path.len() * page) as u64;
        self.trim(seat, (end * page) as u32);
        (end * page) as u32
    }

    /// Counts a lookup, and whether it found anything.
    pub fn count_lookup(&mut self, hit: bool) {
        self.index.metrics.lookups += 1;
        self.index.metrics.hits += u64::from(hit);
    }

    /// Remembers the pages of `seat` that are full below position `upto` and not known yet. A page that a sliding window has given
    /// back already is remembered without that group's part.
    pub fn publish(&mut self, seat: u32, chain: &mut Chain, identity: &CacheIdentity, tokens: &[u32], upto: u32) {
        let page = self.page_tokens;
        while (chain.pages as usize + 1) * page <= upto as usize {
            let slot = chain.pages as usize;
            if slot == 0 {
                chain.node = self.index.root(identity);
            } else if !self.index.contains(chain.node) {
                // What it went on from was another sequence's and is gone: nothing would find these pages.
                return;
            }
            let span = &tokens[slot * page..(slot + 1) * page];
            let node = match self.index.child(chain.node, span) {
                Some(known) => {
                    self.share_known(seat, slot, known);
                    known
                }
                None => {
                    let mut pages = [NO_PAGE; super::MAX_GROUPS];
                    for (page, group) in pages.iter_mut().zip(&mut self.groups) {
                        *page = group.table[seat as usize * self.pages_per_seat + slot];
                        if *page != NO_PAGE {
                            group.pool.retain(*page);
                        }
                    }
                    self.index.insert(chain.node, span, &pages[..self.groups.len()])
                }
            };
            *chain = Chain { node, pages: chain.pages + 1 };
        }
        while self.index.metrics.records > self.max_records && self.evict_oldest() {}
    }

    /// Leaves one copy of a page that a seat has computed though it was remembered already: the seat takes the remembered page for
    /// its own, and a part that a sliding window had taken from the node comes back with the seat's. So whoever holds a node's pages
    /// holds those of all before it, and what nobody holds can be evicted from the end of its chain.
    fn share_known(&mut self, seat: u32, slot: usize, known: NodeId) {
        for (g, group) in self.groups.iter_mut().enumerate() {
            let own = group.table[seat as usize * self.pages_per_seat + slot];
            let Some(remembered) = self.index.page_mut(known, g) else { continue };
            match (*remembered, own) {
                (_, NO_PAGE) => {}
                (NO_PAGE, own) => {
                    group.pool.retain(own);
                    *remembered = own;
                }
                (shared, own) if shared != own => group.adopt(seat, slot, shared, self.pages_per_seat),
                _ => {}
            }
        }
    }

    /// The page a sequence is filling or about to fill, where its chain has kept up: what goes before it, and its tokens. Of two
    /// residents with equal ones the one that has not begun does well to wait for the other.
    pub fn next_page<'a>(&self, chain: &Chain, tokens: &'a [u32], kv_len: u32) -> Option<(NodeId, &'a [u32])> {
        let (page, at) = (self.page_tokens, chain.pages as usize * self.page_tokens);
        let filling = (at..at + page).contains(&(kv_len as usize));
        (filling && at + page < tokens.len()).then(|| (chain.node, &tokens[at..at + page]))
    }

    /// Keeps the remembered pages at the start of `tokens` from eviction. Returns what to unpin and how many tokens it covers;
    /// `None` where nothing is remembered.
    pub fn pin(&mut self, identity: &CacheIdentity, tokens: &[u32]) -> Option<(NodeId, usize)> {
        let mut found = None;
        let mut node = self.index.root(identity);
        for (at, span) in tokens.chunks_exact(self.page_tokens).enumerate() {
            let Some(child) = self.index.child(node, span) else { break };
            node = child;
            found = Some((node, (at + 1) * self.page_tokens));
        }
        if let Some((node, _)) = found {
            self.index.pin(node);
        }
        found
    }

    /// Takes a pin back; the pages stay until others need the room.
    pub fn unpin(&mut self, node: NodeId) {
        self.index.unpin(node);
    }

    /// Forgets every page that is neither pinned nor held by a seat.
    pub fn forget_all(&mut self) {
        while self.evict_oldest() {}
    }

    /// Forgets the longest unused page that nobody holds.
    pub(super) fn evict_oldest(&mut self) -> bool {
        let groups = &self.groups;
        let Some(node) = self.index.oldest(|pages| idle(groups, pages)) else { return false };
        for (group, &page) in self.groups.iter_mut().zip(&*self.index.remove(node)) {
            if page != NO_PAGE {
                group.pool.release(page);
            }
        }
        true
    }

    /// Frees a page of `group` that only the index holds. A sliding group's pages go one by one, since a long chain holds many that
    /// no window reaches; those of a full group go with the sequence they end.
    pub(super) fn make_room(&mut self, group: usize) -> bool {
        let Group { pool, retention, .. } = &mut self.groups[group];
        if *retention == Retention::Full {
            return self.evict_oldest();
        }
        match self.index.strip_oldest(group, |page| pool.holders(page) == 1) {
            Some(page) => pool.release(page),
            None => return false,
        }
        true
    }

    /// Pages of a group that only the index holds and can let go.
    pub(super) fn evictable(&self, group: usize) -> usize {
        let Group { pool, retention, .. } = &self.groups[group];
        let free = |pages: &&[u32]| match retention {
            Retention::Full => idle(&self.groups, pages),
            Retention::Sliding { .. } => true,
        };
        let held = |pages: &&[u32]| pages.get(group).is_some_and(|&page| page != NO_PAGE && pool.holders(page) == 1);
        self.index.unpinned_pages().filter(held).filter(free).count()
    }
}

/// Whether nobody but the index holds these pages.
fn idle(groups: &[Group], pages: &[u32]) -> bool {
    groups.iter().zip(pages).all(|(group, &page)| page == NO_PAGE || group.pool.holders(page) == 1)
}

impl Group {
    /// First slot that a query at the start of slot `end` may read.
    fn first_needed(&self, end: usize, page_tokens: usize) -> usize {
        match self.retention {
            Retention::Full => 0,
            Retention::Sliding { window } => (end * page_tokens + 1).saturating_sub(window) / page_tokens,
        }
    }

    /// Puts a shared page in a seat's table, in the place of one of its own.
    fn adopt(&mut self, seat: u32, slot: usize, page: u32, stride: usize) {
        self.pool.retain(page);
        let entry = &mut self.table[seat as usize * stride + slot];
        if *entry != NO_PAGE {
            self.pool.release(*entry);
        }
        *entry = page;
        let (first, end) = &mut self.held[seat as usize];
        if *first == *end {
            *first = slot as u32;
        }
        *end = (*end).max(slot as u32 + 1);
    }
}
