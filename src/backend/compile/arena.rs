//! Places step buffers in one block of memory, sharing it between buffers that are never live together.

/// Buffers begin on lines of a processor's cache, and of a GPU's memory transactions.
const ALIGN: usize = 128;

/// A buffer that is written in stage `first` at the earliest and read in stage `last` at the latest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::backend) struct Buffer {
    pub bytes: usize,
    pub first: usize,
    pub last: usize,
}

impl Buffer {
    fn meets(&self, other: &Buffer) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}

/// Offsets of the buffers, and the bytes that hold them all; `None` where the size overflows.
///
/// Largest first, each at the lowest gap among the buffers it is live together with.
pub(in crate::backend) fn place(buffers: &[Buffer]) -> Option<(Vec<usize>, usize)> {
    let mut order: Vec<usize> = (0..buffers.len()).collect();
    order.sort_by_key(|&i| (std::cmp::Reverse(buffers[i].bytes), i));
    let mut offsets = vec![0; buffers.len()];
    let mut placed: Vec<usize> = Vec::with_capacity(buffers.len());
    let mut total = 0usize;
    for &index in &order {
        let mut taken: Vec<(usize, usize)> = placed
            .iter()
            .filter(|&&other| buffers[index].meets(&buffers[other]))
            .map(|&other| (offsets[other], offsets[other] + buffers[other].bytes))
            .collect();
        taken.sort_unstable();
        let mut at = 0usize;
        for (start, end) in taken {
            if at.checked_add(buffers[index].bytes)? <= start {
                break;
            }
            at = at.max(end.checked_next_multiple_of(ALIGN)?);
        }
        offsets[index] = at;
        total = total.max(at.checked_add(buffers[index].bytes)?);
        placed.push(index);
    }
    Some((offsets, total))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn live_buffers_do_not_overlap(spans in prop::collection::vec((1usize..5000, 0usize..40, 0usize..10), 1..60)) {
            let buffers: Vec<Buffer> =
                spans.iter().map(|&(bytes, first, length)| Buffer { bytes, first, last: first + length }).collect();
            let (offsets, total) = place(&buffers).unwrap();
            for i in 0..buffers.len() {
                prop_assert_eq!(offsets[i] % ALIGN, 0);
                prop_assert!(offsets[i] + buffers[i].bytes <= total);
                for j in 0..i {
                    let apart = offsets[i] + buffers[i].bytes <= offsets[j] || offsets[j] + buffers[j].bytes <= offsets[i];
                    prop_assert!(apart || !buffers[i].meets(&buffers[j]));
                }
            }
        }
    }

    #[test]
    fn buffers_of_alternating_layers_share_memory() {
        let layer = |stage| Buffer { bytes: 6400, first: stage, last: stage + 1 };
        let (_, total) = place(&(0..30).map(|i| layer(2 * i)).collect::<Vec<_>>()).unwrap();
        assert_eq!(total, 6400);
    }
}
