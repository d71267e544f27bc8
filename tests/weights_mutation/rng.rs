//! Random choices that are the same every time.

/// SplitMix64 (Steele, Lea, Flood 2014).
pub struct Rng(u64);

impl Rng {
    /// The choices for mutant `index`.
    pub fn new(seed: u64, index: u64) -> Self {
        let mut rng = Rng(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ index);
        rng.next();
        rng
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// From 0 to below `n`, which is not 0.
    pub fn below(&mut self, n: usize) -> usize {
        (self.next() % n as u64) as usize
    }

    pub fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }

    pub fn bytes(&mut self, count: usize) -> Vec<u8> {
        (0..count).map(|_| self.next() as u8).collect()
    }

    /// A number at which sums, products, casts and comparisons go wrong, or one near `old` or the file's `size`.
    pub fn number(&mut self, old: u64, size: usize) -> u64 {
        const EDGES: [u64; 24] = [
            0,
            1,
            2,
            3,
            5,
            8,
            31,
            32,
            255,
            256,
            65_535,
            65_536,
            (1 << 31) - 1,
            1 << 31,
            (1 << 32) - 1,
            1 << 32,
            1 << 33,
            1 << 40,
            1 << 61,
            1 << 62,
            (1 << 63) - 1,
            1 << 63,
            u64::MAX - 31,
            u64::MAX,
        ];
        match self.below(10) {
            0 => old.wrapping_add(1),
            1 => old.wrapping_sub(1),
            2 => old.wrapping_mul(2),
            3 => old ^ 1 << self.below(64),
            4 => (size as u64).wrapping_add(self.below(65) as u64).wrapping_sub(32),
            5 => self.below(size + 1) as u64,
            _ => *self.pick(&EDGES),
        }
    }

    /// Changes bytes without regard to what they are: flips, a cut, a piece moved, a piece twice.
    pub fn scramble(&mut self, bytes: &mut Vec<u8>) {
        if bytes.is_empty() {
            return;
        }
        let at = self.below(bytes.len());
        let len = self.below((bytes.len() - at).min(64) + 1);
        match self.below(6) {
            0 | 1 => bytes[at] ^= 1 << self.below(8),
            2 => bytes[at] = self.next() as u8,
            3 => bytes.truncate(at),
            4 => drop(bytes.drain(at..at + len)),
            _ => {
                let piece = bytes[at..at + len].to_vec();
                let to = self.below(bytes.len());
                bytes.splice(to..to, piece);
            }
        }
    }
}
