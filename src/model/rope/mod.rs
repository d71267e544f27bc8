//! Rotary embedding frequencies: from what a configuration says to the table a backend rotates by.
//!
//! Owns every scaling rule. Positions are never scaled: all rules act on the frequencies (and YaRN and LongRoPE on the length of
//! the rotated vectors). A rule nobody here knows is refused, since ignoring it gives fluent nonsense on long texts.

mod gguf;
mod hf;

use std::f64::consts::TAU;

use crate::backend::RopeTable;

pub(super) use gguf::from_gguf;
pub(super) use hf::{HfRope, from_hf, from_hf_per_layer_kind};

/// One rotary embedding.
#[derive(Clone, Debug, PartialEq)]
pub struct RopeSpec {
    /// Base of the frequencies: `theta^(-2i / dims)` for pair i.
    pub theta: f64,
    /// Rotated dimensions of a head; even.
    pub dims: usize,
    pub scaling: RopeScaling,
    /// What each pair's frequency is divided by besides, `[dims / 2]` (GGUF's `rope_freqs.weight`).
    pub divisors: Option<Vec<f32>>,
}

/// How frequencies are stretched beyond the length the model was first trained for. Rules as in `transformers`'
/// `modeling_rope_utils`.
#[derive(Clone, Debug, PartialEq)]
pub enum RopeScaling {
    None,
    /// All frequencies divided by `factor` (Chen et al. 2023).
    Linear {
        factor: f64,
    },
    /// Long wavelengths divided by `factor`, short ones kept, those between blended (Llama 3.1).
    Llama3 {
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_length: usize,
    },
    /// Blend by the number of turns within the original length (Peng et al. 2023). `attention_factor` multiplies cosine and sine.
    /// Without `truncate` the borders of the blend are not rounded to whole pairs.
    Yarn {
        factor: f64,
        original_length: usize,
        beta_fast: f64,
        beta_slow: f64,
        truncate: bool,
        attention_factor: f64,
    },
    /// Each frequency divided by its own factor, one list up to the original length and one beyond (Ding et al. 2024).
    LongRope {
        short: Vec<f64>,
        long: Vec<f64>,
        original_length: usize,
        attention_factor: f64,
    },
    /// The base grows with the sequence once it is longer than `original_length`.
    Dynamic {
        factor: f64,
        original_length: usize,
    },
}

impl RopeSpec {
    /// Unscaled.
    pub fn plain(theta: f64, dims: usize) -> Self {
        RopeSpec { theta, dims, scaling: RopeScaling::None, divisors: None }
    }

    /// The longest sequence this reaches, for a model whose configuration says `context_length`.
    ///
    /// Configurations with dynamic or YaRN scaling often keep the length from before scaling. With linear scaling both habits are
    /// about and nothing tells them apart: the configuration's length stands.
    pub fn stretched_length(&self, context_length: usize) -> usize {
        let times = |length: usize, factor: f64| (length as f64 * factor) as usize;
        match self.scaling {
            RopeScaling::Dynamic { factor, original_length } => context_length.max(times(original_length, factor)),
            RopeScaling::Yarn { factor, original_length, .. } => context_length.max(times(original_length, factor)),
            _ => context_length,
        }
    }

    /// Whether [`table_for`](RopeSpec::table_for) depends on its argument.
    pub fn is_length_dependent(&self) -> bool {
        match &self.scaling {
            RopeScaling::Dynamic { factor, .. } => *factor != 1.0,
            RopeScaling::LongRope { short, long, .. } => short != long,
            _ => false,
        }
    }

    /// The table for a sequence that will have at most `length` tokens, prompt and output. It must not change while the
    /// sequence lives: keys in the cache are rotated already.
    pub fn table_for(&self, length: usize) -> RopeTable {
        let (mut frequencies, factor) = self.scaled(length);
        for (frequency, &divisor) in frequencies.iter_mut().zip(self.divisors.iter().flatten()) {
            *frequency /= f64::from(divisor);
        }
        RopeTable { inv_freq: frequencies.iter().map(|&f| f as f32).collect(), factor: factor as f32 }
    }

    fn scaled(&self, length: usize) -> (Vec<f64>, f64) {
        let plain = frequencies(self.theta, self.dims);
        match self.scaling {
            RopeScaling::None => (plain, 1.0),
            RopeScaling::Linear { factor } => (plain.iter().map(|f| f / factor).collect(), 1.0),
            RopeScaling::Llama3 { factor, low_freq_factor, high_freq_factor, original_length } => {
                let bands = Bands { factor, low: low_freq_factor, high: high_freq_factor, original: original_length as f64 };
                (plain.iter().map(|&f| bands.scale(f)).collect(), 1.0)
            }
            RopeScaling::Yarn { factor, original_length, beta_fast, beta_slow, truncate, attention_factor } => {
                let ramp = Ramp::new(self, original_length as f64, beta_fast, beta_slow, truncate);
                let blend = |(i, f): (usize, &f64)| f / factor * ramp.at(i) + f * (1.0 - ramp.at(i));
                (plain.iter().enumerate().map(blend).collect(), attention_factor)
            }
            RopeScaling::LongRope { ref short, ref long, original_length, attention_factor } => {
                let factors = if length > original_length { long } else { short };
                (plain.iter().zip(factors).map(|(f, by)| f / by).collect(), attention_factor)
            }
            RopeScaling::Dynamic { factor, original_length } => {
                let original = original_length as f64;
                let stretch = factor * (length as f64).max(original) / original - (factor - 1.0);
                let dims = self.dims as f64;
                (frequencies(self.theta * stretch.powf(dims / (dims - 2.0)), self.dims), 1.0)
            }
        }
    }
}

fn frequencies(theta: f64, dims: usize) -> Vec<f64> {
    (0..dims / 2).map(|i| theta.powf(-((2 * i) as f64) / dims as f64)).collect()
}

/// YaRN's factor on cosine and sine where a configuration names none: `0.1 ln(factor) + 1`.
fn yarn_attention_factor(factor: f64) -> f64 {
    if factor <= 1.0 { 1.0 } else { 0.1 * factor.ln() + 1.0 }
}

/// LongRoPE's, where a configuration names none.
fn longrope_attention_factor(factor: f64, original_length: usize) -> f64 {
    if factor <= 1.0 { 1.0 } else { (1.0 + factor.ln() / (original_length as f64).ln()).sqrt() }
}

/// Llama 3.1's three bands of wavelengths.
struct Bands {
    factor: f64,
    low: f64,
    high: f64,
    original: f64,
}

impl Bands {
    fn scale(&self, frequency: f64) -> f64 {
        let wavelength = TAU / frequency;
        if wavelength < self.original / self.high {
            frequency
        } else if wavelength > self.original / self.low {
            frequency / self.factor
        } else {
            let keep = (self.original / wavelength - self.low) / (self.high - self.low);
            (1.0 - keep) * frequency / self.factor + keep * frequency
        }
    }
}

/// How far each pair is interpolated: 0 below `start`, 1 from `end` on.
struct Ramp {
    start: f64,
    end: f64,
}

impl Ramp {
    fn new(rope: &RopeSpec, original: f64, beta_fast: f64, beta_slow: f64, truncate: bool) -> Self {
        let dims = rope.dims as f64;
        // The (fractional) pair that turns `rotations` times within the original length.
        let pair = |rotations: f64| dims * (original / (rotations * TAU)).ln() / (2.0 * rope.theta.ln());
        let (mut start, mut end) = (pair(beta_fast), pair(beta_slow));
        if truncate {
            (start, end) = (start.floor(), end.ceil());
        }
        (start, end) = (start.max(0.0), end.min(dims - 1.0));
        if start == end {
            end += 0.001;
        }
        Ramp { start, end }
    }

    fn at(&self, pair: usize) -> f64 {
        ((pair as f64 - self.start) / (self.end - self.start)).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests;
