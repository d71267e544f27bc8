//! Rotary embeddings out of GGUF metadata: `<architecture>.rope.*`, and the tensors of divisors.

use super::{RopeScaling, RopeSpec, yarn_attention_factor};
use crate::error::{Error, Result};
use crate::model::families::GgufConfig;

/// The rotary embedding of the layers that `<architecture>.rope.*` speaks of.
pub fn from_gguf(config: &GgufConfig, head_dim: usize, context_length: usize) -> Result<RopeSpec> {
    let dims = config.opt_usize("rope.dimension_count")?.unwrap_or(head_dim);
    let theta = config.opt_f64("rope.freq_base")?.unwrap_or(10_000.0);
    if !(theta > 1.0 && theta.is_finite()) {
        return Err(config.invalid("rope.freq_base", &theta, "a finite number above 1"));
    }
    let reader = Reader { config, dims, context_length };
    Ok(RopeSpec { theta, dims, scaling: reader.scaling()?, divisors: reader.factors("rope_freqs.weight")? })
}

struct Reader<'a> {
    config: &'a GgufConfig<'a>,
    dims: usize,
    context_length: usize,
}

impl Reader<'_> {
    fn scaling(&self) -> Result<RopeScaling> {
        let factor = self.factor()?;
        match self.config.opt_str("rope.scaling.type")? {
            Some("none") => Ok(RopeScaling::None),
            // Without a type a factor is linear: so llama.cpp reads files from before there was one.
            None | Some("linear") if factor == 1.0 => Ok(RopeScaling::None),
            None | Some("linear") => Ok(RopeScaling::Linear { factor }),
            Some("yarn") => self.yarn(factor),
            Some("longrope") => self.longrope(),
            Some(other) => Err(self.config.unsupported("rope.scaling.type", &other, "none, linear, yarn or longrope")),
        }
    }

    fn factor(&self) -> Result<f64> {
        let factor = match self.config.opt_f64("rope.scaling.factor")? {
            Some(factor) => factor,
            None => self.config.opt_f64("rope.scale_linear")?.unwrap_or(1.0),
        };
        match factor {
            // Converters write 0 for "not scaled".
            0.0 => Ok(1.0),
            f if f >= 1.0 && f.is_finite() => Ok(f),
            f => Err(self.config.invalid("rope.scaling.factor", &f, "a number of at least 1")),
        }
    }

    fn original_length(&self) -> Result<usize> {
        const KEY: &str = "rope.scaling.original_context_length";
        let length = self.config.opt_usize(KEY)?.unwrap_or(self.context_length);
        if length < 2 { Err(self.config.invalid(KEY, &length, "at least 2")) } else { Ok(length) }
    }

    fn attention_factor(&self) -> Result<f64> {
        self.positive("rope.scaling.attn_factor", 1.0)
    }

    fn positive(&self, key: &str, default: f64) -> Result<f64> {
        let value = self.config.opt_f64(key)?.unwrap_or(default);
        if value > 0.0 && value.is_finite() { Ok(value) } else { Err(self.config.invalid(key, &value, "a number above 0")) }
    }

    fn yarn(&self, factor: f64) -> Result<RopeScaling> {
        let extrapolation = self.config.opt_f64("rope.scaling.yarn_ext_factor")?.unwrap_or(1.0);
        if extrapolation != 1.0 {
            return Err(self.config.unsupported("rope.scaling.yarn_ext_factor", &extrapolation, "1"));
        }
        let given = self.attention_factor()? * self.positive("rope.scaling.yarn_attn_factor", 1.0)?;
        Ok(RopeScaling::Yarn {
            factor,
            original_length: self.original_length()?,
            beta_fast: self.positive("rope.scaling.yarn_beta_fast", 32.0)?,
            beta_slow: self.positive("rope.scaling.yarn_beta_slow", 1.0)?,
            truncate: true,
            // Files give a factor on top of the rule, not one in its place.
            attention_factor: given * yarn_attention_factor(factor),
        })
    }

    fn longrope(&self) -> Result<RopeScaling> {
        let factors = |name: &str| -> Result<Vec<f64>> {
            let factors = self.factors(name)?;
            let missing =
                || Error::not_found(format!("{name}: missing, expected by RoPE scaling longrope, in {}", self.config.place()));
            Ok(factors.ok_or_else(missing)?.into_iter().map(f64::from).collect())
        };
        Ok(RopeScaling::LongRope {
            short: factors("rope_factors_short.weight")?,
            long: factors("rope_factors_long.weight")?,
            original_length: self.original_length()?,
            attention_factor: self.attention_factor()?,
        })
    }

    /// A vector of one positive number per rotated pair.
    fn factors(&self, name: &str) -> Result<Option<Vec<f32>>> {
        let Some(values) = self.config.vector(name)? else { return Ok(None) };
        let place = self.config.place();
        if values.len() != self.dims / 2 {
            return Err(Error::format(format!(
                "{name}: {} values, expected {} (rotated pairs), in {place}",
                values.len(),
                self.dims / 2
            )));
        }
        if let Some(bad) = values.iter().find(|v| !(**v > 0.0 && v.is_finite())) {
            return Err(Error::format(format!("{name}: {bad}, expected finite numbers above 0, in {place}")));
        }
        Ok(Some(values))
    }
}
