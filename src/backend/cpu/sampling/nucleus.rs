//! Drawing from a softmax cut by top-p and min-p, without sorting a whole vocabulary.
//!
//! The order is fixed: by falling probability, lower ids first among equals. Both cuts keep a prefix of it, and the draw inverts its
//! cumulative sum. Tokens are put into buckets of neighbouring probabilities; only the buckets in which the cut and the draw fall are
//! sorted.

use super::super::linear::Level;
use super::super::simd::dispatch;
use super::scan::{Collect, descending};

/// What of the probabilities' own rounding (the exponential's and the sum's) counts as having reached `top_p`.
const SLACK: f64 = 2.5e-7;

/// Sign, exponent and three bits of fraction of a float in 0..=1.
const SHIFT: u32 = 20;
const BUCKETS: usize = (1f32.to_bits() >> SHIFT) as usize + 1;

/// Terms below this part of the largest are looked at only where the cut or the draw falls among them.
const FLOOR: f32 = 1.0 / 65536.0;

pub(super) struct Cut {
    /// 1 or more: none.
    pub top_p: f32,
    /// 0 or less: none.
    pub min_p: f32,
}

/// A bucket's tokens: how much they weigh together.
#[derive(Clone, Copy, Default)]
struct Bucket {
    mass: f64,
    filled: bool,
}

/// Memory of a draw.
pub(super) struct Nucleus {
    buckets: Box<[Bucket; BUCKETS]>,
}

impl Default for Nucleus {
    fn default() -> Self {
        Nucleus { buckets: Box::new([Bucket::default(); BUCKETS]) }
    }
}

/// The tokens that are kept: all of the buckets above `bucket`, and the first `count` of its own, sorted.
struct Kept {
    bucket: usize,
    count: usize,
    mass: f64,
}

impl Nucleus {
    /// Draws from terms `e` (1 for the most probable, 0 for what must not be drawn) that sum to `total`, with `uniform` in 0..1.
    /// `list` is memory for as many tokens as there are.
    pub(super) fn draw(
        &mut self,
        level: Level,
        e: &[f32],
        total: f64,
        cut: &Cut,
        uniform: f32,
        list: &mut Vec<(u32, f32)>,
    ) -> u32 {
        let want = if cut.top_p >= 1.0 { f64::INFINITY } else { f64::from(cut.top_p) * total * (1.0 - SLACK) };
        let kept = self.fill(level, e, FLOOR, list);
        if (kept < want && cut.min_p < FLOOR) || want.is_infinite() {
            self.fill(level, e, f32::MIN_POSITIVE, list);
        }
        let kept = self.cut(level, e, want, cut.min_p, list);
        let target = f64::from(uniform) * kept.mass;
        let mut sum = 0.0;
        for index in (kept.bucket..BUCKETS).rev() {
            let bucket = self.buckets[index];
            if index > kept.bucket {
                if !bucket.filled || sum + bucket.mass <= target {
                    sum += bucket.mass;
                    continue;
                }
                self.sorted(level, e, index, list);
            } else {
                self.sorted(level, e, index, list);
                list.truncate(kept.count);
            }
            for &(token, term) in &*list {
                sum += f64::from(term);
                if sum > target {
                    return token;
                }
            }
            // Summed in another order the bucket weighs a rounding less than it did: its last token takes the difference.
            if let Some(&(token, _)) = list.last() {
                return token;
            }
        }
        0
    }

    /// Fills the buckets with the terms of at least `floor`; returns their mass.
    fn fill(&mut self, level: Level, e: &[f32], floor: f32, list: &mut Vec<(u32, f32)>) -> f64 {
        self.buckets.fill(Bucket::default());
        list.clear();
        // SAFETY: the kernel reads its slice.
        unsafe { dispatch(level, Collect { values: e, from: floor, to: f32::INFINITY, into: list }) };
        let mut mass = 0.0;
        for &(_, term) in &*list {
            let bucket = &mut self.buckets[bucket_of(term)];
            bucket.mass += f64::from(term);
            bucket.filled = true;
            mass += f64::from(term);
        }
        mass
    }

    fn cut(&self, level: Level, e: &[f32], want: f64, min_p: f32, list: &mut Vec<(u32, f32)>) -> Kept {
        let (mut sum, mut last) = (0.0, BUCKETS - 1);
        for index in (0..BUCKETS).rev() {
            let bucket = self.buckets[index];
            if !bucket.filled {
                continue;
            }
            if sum + bucket.mass < want && lowest(index) >= min_p {
                sum += bucket.mass;
                last = index;
                continue;
            }
            self.sorted(level, e, index, list);
            let mut count = 0;
            for &(_, term) in &*list {
                if (sum > 0.0 || count > 0) && (term < min_p || sum >= want) {
                    break;
                }
                sum += f64::from(term);
                count += 1;
            }
            return Kept { bucket: index, count, mass: sum };
        }
        Kept { bucket: last, count: usize::MAX, mass: sum }
    }

    /// The tokens of a bucket in order.
    fn sorted(&self, level: Level, e: &[f32], index: usize, list: &mut Vec<(u32, f32)>) {
        list.clear();
        // SAFETY: the kernel reads its slice.
        unsafe { dispatch(level, Collect { values: e, from: lowest(index), to: lowest(index + 1), into: list }) };
        list.sort_unstable_by(descending);
    }
}

fn bucket_of(term: f32) -> usize {
    ((term.to_bits() >> SHIFT) as usize).min(BUCKETS - 1)
}

/// The least term of a bucket.
fn lowest(index: usize) -> f32 {
    f32::from_bits((index as u32) << SHIFT)
}

/// As [`Nucleus::draw`] for a few tokens in order, with their terms.
pub(super) fn draw_sorted(list: &[(u32, f32)], cut: &Cut, uniform: f32) -> u32 {
    let total: f64 = list.iter().map(|&(_, term)| f64::from(term)).sum();
    let want = if cut.top_p >= 1.0 { f64::INFINITY } else { f64::from(cut.top_p) * total * (1.0 - SLACK) };
    let (mut mass, mut count) = (0.0, 0);
    for &(_, term) in list {
        if count > 0 && (term < cut.min_p || mass >= want || term == 0.0) {
            break;
        }
        mass += f64::from(term);
        count += 1;
    }
    let target = f64::from(uniform) * mass;
    let mut sum = 0.0;
    for &(token, term) in &list[..count] {
        sum += f64::from(term);
        if sum > target {
            return token;
        }
    }
    list[count - 1].0
}
