//! The context cache: an index over pages that are already full, so that a prefix is computed once.
//!
//! A tree with one root per identity (adapter, media, tenant salt …); a node is one page of tokens after its parent. Nodes are
//! found by a hash chained through the parent and verified by the token ids. The index holds one count of every page it names; a
//! resident that adopts a page holds another, so an adopted page outlives its eviction.
//! Invariant: a node's parent is there as long as the node is; only childless nodes that nobody holds or pins are evicted.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::backend::NO_PAGE;

/// Names a node. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(u64);

/// What makes equal token ids mean equal keys and values. Compared whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct CacheIdentity {
    /// Adapter, rotary variant, media content: whatever else the keys and values depend on, in a form of its owner's choosing.
    pub content: Vec<u64>,
    /// Keeps tenants apart.
    pub salt: String,
}

/// Counters since creation, and what is held now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CacheMetrics {
    pub lookups: u64,
    /// Lookups that found at least one page.
    pub hits: u64,
    pub reused_tokens: u64,
    /// Sequences whose last page is in the index: childless nodes.
    pub records: usize,
    pub cached_pages: usize,
    pub evicted_records: u64,
    pub evicted_pages: u64,
    pub pinned: usize,
}

#[derive(Debug)]
struct Node {
    /// `None`: a root.
    parent: Option<NodeId>,
    key: u64,
    tokens: Box<[u32]>,
    /// One per KV group.
    pages: Box<[u32]>,
    children: u32,
    pins: u32,
    used: u64,
    identity: Option<CacheIdentity>,
}

/// The tree. Pages are only named here; counts are the pools'.
#[derive(Debug, Default)]
pub(super) struct PrefixIndex {
    nodes: HashMap<NodeId, Node>,
    children: HashMap<u64, Vec<NodeId>>,
    roots: HashMap<CacheIdentity, NodeId>,
    /// Childless nodes by last use.
    leaves: BTreeSet<(u64, NodeId)>,
    next: u64,
    clock: u64,
    pub(super) metrics: CacheMetrics,
}

impl PrefixIndex {
    /// The root of `identity`, made where there is none. A root holds no page.
    pub(super) fn root(&mut self, identity: &CacheIdentity) -> NodeId {
        if let Some(&root) = self.roots.get(identity) {
            return root;
        }
        let id = self.fresh();
        let node = Node {
            parent: None,
            key: 0,
            tokens: Box::default(),
            pages: Box::default(),
            children: 0,
            pins: 0,
            used: 0,
            identity: Some(identity.clone()),
        };
        self.nodes.insert(id, node);
        self.roots.insert(identity.clone(), id);
        id
    }

    /// The child of `parent` that holds `tokens`.
    pub(super) fn child(&self, parent: NodeId, tokens: &[u32]) -> Option<NodeId> {
        let matches = |id: &NodeId| self.nodes.get(id).is_some_and(|n| n.parent == Some(parent) && *n.tokens == *tokens);
        self.children.get(&key(parent, tokens))?.iter().copied().find(matches)
    }

    /// Adds a child of `parent`, which exists. The caller has counted the pages for the index.
    pub(super) fn insert(&mut self, parent: NodeId, tokens: &[u32], pages: &[u32]) -> NodeId {
        let id = self.fresh();
        let key = key(parent, tokens);
        self.clock += 1;
        let used = self.clock;
        if let Some(node) = self.nodes.get_mut(&parent) {
            node.children += 1;
            self.leaves.remove(&(node.used, parent));
        }
        let node = Node {
            parent: Some(parent),
            key,
            tokens: tokens.into(),
            pages: pages.into(),
            children: 0,
            pins: 0,
            used,
            identity: None,
        };
        self.nodes.insert(id, node);
        self.children.entry(key).or_default().push(id);
        self.leaves.insert((used, id));
        self.metrics.cached_pages += 1;
        self.metrics.records = self.leaves.len();
        id
    }

    pub(super) fn contains(&self, id: NodeId) -> bool {
        self.nodes.contains_key(&id)
    }

    pub(super) fn pages(&self, id: NodeId) -> &[u32] {
        self.nodes.get(&id).map_or(&[], |node| &node.pages)
    }

    /// A node's page in one group, to be put back where a window took it.
    pub(super) fn page_mut(&mut self, id: NodeId, group: usize) -> Option<&mut u32> {
        self.nodes.get_mut(&id)?.pages.get_mut(group)
    }

    /// Marks a node as just used. Along a chain, parents before children: what lies deeper is of more use to go on from.
    pub(super) fn touch(&mut self, id: NodeId) {
        self.clock += 1;
        let Some(node) = self.nodes.get_mut(&id) else { return };
        if self.leaves.remove(&(node.used, id)) {
            self.leaves.insert((self.clock, id));
        }
        node.used = self.clock;
    }

    /// Keeps a node and all before it from eviction.
    pub(super) fn pin(&mut self, id: NodeId) {
        self.metrics.pinned += 1;
        self.each_from(id, |node| node.pins += 1);
    }

    /// Takes back one [`pin`](Self::pin) of the same node.
    pub(super) fn unpin(&mut self, id: NodeId) {
        if self.nodes.get(&id).is_some_and(|node| node.pins > 0) {
            self.metrics.pinned -= 1;
            self.each_from(id, |node| node.pins -= 1);
        }
    }

    fn each_from(&mut self, id: NodeId, change: impl Fn(&mut Node)) {
        let mut next = Some(id);
        while let Some(node) = next.and_then(|id| self.nodes.get_mut(&id)) {
            change(node);
            next = node.parent;
        }
    }

    /// Takes one group's page out of the longest unused node for which `free` holds of it: the node stays, of use only where that
    /// group's window does not reach back to it.
    pub(super) fn strip_oldest(&mut self, group: usize, free: impl Fn(u32) -> bool) -> Option<u32> {
        let strippable =
            |node: &&mut Node| node.pins == 0 && node.pages.get(group).is_some_and(|&page| page != NO_PAGE && free(page));
        let node = self.nodes.values_mut().filter(strippable).min_by_key(|node| node.used)?;
        Some(std::mem::replace(&mut node.pages[group], NO_PAGE))
    }

    /// The longest unused childless node for which `free` holds (nobody but the index holds its pages).
    pub(super) fn oldest(&self, free: impl Fn(&[u32]) -> bool) -> Option<NodeId> {
        let evictable = |id: &NodeId| self.nodes.get(id).is_some_and(|node| node.pins == 0 && free(&node.pages));
        self.leaves.iter().map(|&(_, id)| id).find(evictable)
    }

    /// Takes a childless node out and hands its pages over, to be given back by the caller.
    pub(super) fn remove(&mut self, id: NodeId) -> Box<[u32]> {
        let Some(node) = self.nodes.remove(&id) else { return Box::default() };
        self.leaves.remove(&(node.used, id));
        if let Some(siblings) = self.children.get_mut(&node.key) {
            siblings.retain(|&sibling| sibling != id);
            if siblings.is_empty() {
                self.children.remove(&node.key);
            }
        }
        self.metrics.cached_pages -= 1;
        self.metrics.evicted_pages += 1;
        match node.parent.and_then(|id| self.nodes.get_mut(&id).map(|node| (id, node))) {
            Some((id, parent)) => {
                parent.children -= 1;
                if parent.children > 0 {
                    self.metrics.evicted_records += 1;
                } else if parent.identity.is_none() {
                    // The record lives on, a page shorter.
                    self.leaves.insert((parent.used, id));
                } else {
                    self.metrics.evicted_records += 1;
                    self.drop_root(id);
                }
            }
            None => self.metrics.evicted_records += 1,
        }
        self.metrics.records = self.leaves.len();
        node.pages
    }

    fn drop_root(&mut self, id: NodeId) {
        if let Some(identity) = self.nodes.remove(&id).and_then(|root| root.identity) {
            self.roots.remove(&identity);
        }
    }

    /// Pages of all nodes that are not pinned, for counting.
    pub(super) fn unpinned_pages(&self) -> impl Iterator<Item = &[u32]> {
        self.nodes.values().filter(|node| node.pins == 0).map(|node| &*node.pages)
    }

    fn fresh(&mut self) -> NodeId {
        self.next += 1;
        NodeId(self.next)
    }
}

/// The chained hash: the parent stands for everything before it.
fn key(parent: NodeId, tokens: &[u32]) -> u64 {
    let mut hasher = DefaultHasher::new();
    parent.hash(&mut hasher);
    tokens.hash(&mut hasher);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_found_by_parent_and_tokens() {
        let mut index = PrefixIndex::default();
        let (plain, salted) = (CacheIdentity::default(), CacheIdentity { salt: "tenant".into(), ..Default::default() });
        let root = index.root(&plain);
        let other = index.root(&salted);
        let a = index.insert(root, &[1, 2], &[7]);
        let b = index.insert(a, &[1, 2], &[8]);
        assert_eq!((index.child(root, &[1, 2]), index.child(a, &[1, 2])), (Some(a), Some(b)));
        assert_eq!((index.child(other, &[1, 2]), index.child(root, &[1, 3])), (None, None));
        assert_eq!((index.root(&plain), index.metrics.records), (root, 1));
    }

    #[test]
    fn the_oldest_leaf_goes_first_and_pins_hold() {
        let mut index = PrefixIndex::default();
        let root = index.root(&CacheIdentity::default());
        let a = index.insert(root, &[1], &[0]);
        let b = index.insert(a, &[2], &[1]);
        let c = index.insert(root, &[3], &[2]);
        assert_eq!(index.oldest(|_| true), Some(b));
        index.touch(b);
        assert_eq!(index.oldest(|_| true), Some(c));
        index.pin(c);
        assert_eq!(index.oldest(|_| true), Some(b));
        assert_eq!(&*index.remove(b), [1]);
        assert_eq!((index.oldest(|_| true), index.metrics.records), (Some(a), 2));
        index.remove(a);
        assert_eq!(index.oldest(|_| true), None);
        index.unpin(c);
        index.remove(c);
        assert!(index.nodes.is_empty() && index.children.is_empty() && index.roots.is_empty());
    }
}
