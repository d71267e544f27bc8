//! A pool of equal pages, counted.

/// Free list and reference counts of one group's pages. Invariant: `free() + pages with a count above 0 = total()`.
#[derive(Debug)]
pub struct PagePool {
    /// Last in, first out: pages that were used lately are warm, and pages never used cost no memory.
    free: Vec<u32>,
    counts: Vec<u32>,
}

impl PagePool {
    pub fn new(pages: usize) -> Self {
        PagePool { free: (0..pages as u32).rev().collect(), counts: vec![0; pages] }
    }

    /// A free page, now held once.
    pub fn take(&mut self) -> Option<u32> {
        let page = self.free.pop()?;
        self.counts[page as usize] = 1;
        Some(page)
    }

    /// One more holder of a held page.
    pub fn retain(&mut self, page: u32) {
        debug_assert!(self.counts[page as usize] > 0, "page {page} is free");
        self.counts[page as usize] += 1;
    }

    /// One holder less; free again with the last.
    pub fn release(&mut self, page: u32) {
        let Some(count) = self.counts.get_mut(page as usize).filter(|c| **c > 0) else {
            debug_assert!(false, "page {page} is not held");
            return;
        };
        *count -= 1;
        if *count == 0 {
            self.free.push(page);
        }
    }

    /// Holders of a page; 0 for a free one.
    pub fn holders(&self, page: u32) -> u32 {
        self.counts.get(page as usize).copied().unwrap_or(0)
    }

    pub fn free(&self) -> usize {
        self.free.len()
    }

    pub fn total(&self) -> usize {
        self.counts.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_free_with_its_last_holder() {
        let mut pool = PagePool::new(2);
        let (a, b) = (pool.take().unwrap(), pool.take().unwrap());
        assert!(a != b && pool.take().is_none());
        pool.retain(a);
        pool.release(a);
        assert_eq!(pool.free(), 0);
        pool.release(a);
        pool.release(b);
        assert_eq!(pool.free(), 2);
    }
}
