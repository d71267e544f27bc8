//! Rotary embeddings out of `config.json`, in every spelling that is about: `rope_scaling` and `rope_parameters`, `rope_type` and
//! `type`, one for all layers or one per kind of layer.

use super::{RopeScaling, RopeSpec, longrope_attention_factor, yarn_attention_factor};
use crate::error::Result;
use crate::model::families::unsupported;
use crate::weights::ConfigReader;

/// What the rest of a configuration says.
#[derive(Clone, Copy, Debug)]
pub struct HfRope {
    pub head_dim: usize,
    /// `max_position_embeddings`.
    pub context_length: usize,
    /// Where the configuration names no `rope_theta`.
    pub default_theta: f64,
}

const FULL: &str = "full_attention";
const SLIDING: &str = "sliding_attention";

/// The one rotary embedding of a model whose layers all share it.
pub fn from_hf(config: ConfigReader, model: HfRope) -> Result<RopeSpec> {
    let parameters = match config.opt_object("rope_scaling", "rope_scaling.")? {
        Some(scaling) => Some(scaling),
        None => config.opt_object("rope_parameters", "rope_parameters.")?,
    };
    if let Some(nested) = parameters.filter(|p| p.get(FULL).is_some() || p.get(SLIDING).is_some()) {
        return Err(unsupported(nested, FULL, "parameters per kind of layer", "one set for all layers of this architecture"));
    }
    rope(config, parameters, "rope_theta", model)
}

/// `[full, sliding]` of a model whose sliding layers have a rotary embedding of their own (Gemma 3): `rope_parameters` nested by
/// kind of layer, or `rope_scaling` and `rope_theta` for full layers and `rope_local_base_freq` for sliding ones.
pub fn from_hf_per_layer_kind(config: ConfigReader, full: HfRope, sliding: HfRope) -> Result<[RopeSpec; 2]> {
    let new = config.opt_object("rope_parameters", "rope_parameters.")?;
    if let Some(flat) = new.filter(|p| p.get("rope_type").is_some() || p.get("factor").is_some()) {
        return Err(unsupported(flat, "rope_type", "one set for all layers", "full_attention and sliding_attention"));
    }
    let nested = |kind: &str, within: &'static str| new.map_or(Ok(None), |new| new.opt_object(kind, within));
    let of_full = match config.opt_object("rope_scaling", "rope_scaling.")? {
        Some(old) => Some(old),
        None => nested(FULL, "rope_parameters.full_attention.")?,
    };
    let of_sliding = nested(SLIDING, "rope_parameters.sliding_attention.")?;
    Ok([rope(config, of_full, "rope_theta", full)?, rope(config, of_sliding, "rope_local_base_freq", sliding)?])
}

/// `parameters`: what speaks of this rope; keys missing there may stand in `config`, the base as `theta_key`.
fn rope(config: ConfigReader, parameters: Option<ConfigReader>, theta_key: &str, model: HfRope) -> Result<RopeSpec> {
    let number = |key: &str, outer_key: &str| match parameters.map_or(Ok(None), |p| p.opt_f32(key))? {
        Some(value) => Ok(Some(value)),
        None => config.opt_f32(outer_key),
    };
    let theta = number("rope_theta", theta_key)?.map_or(model.default_theta, f64::from);
    if theta <= 1.0 {
        return Err(config.refuse(theta_key, theta, "a number above 1"));
    }
    let partial = number("partial_rotary_factor", "partial_rotary_factor")?.unwrap_or(1.0);
    if !(partial > 0.0 && partial <= 1.0) {
        return Err(config.refuse("partial_rotary_factor", partial, "a number above 0 and at most 1"));
    }
    let dims = (model.head_dim as f64 * f64::from(partial)) as usize;
    let scaling = match parameters {
        Some(parameters) => scaling(&Parameters { parameters, config, dims, context_length: model.context_length })?,
        None => RopeScaling::None,
    };
    Ok(RopeSpec { scaling, ..RopeSpec::plain(theta, dims) })
}

struct Parameters<'a> {
    parameters: ConfigReader<'a>,
    config: ConfigReader<'a>,
    dims: usize,
    context_length: usize,
}

fn scaling(p: &Parameters) -> Result<RopeScaling> {
    Ok(match p.kind()? {
        "default" => RopeScaling::None,
        "linear" => RopeScaling::Linear { factor: p.factor()? },
        "dynamic" => RopeScaling::Dynamic { factor: p.factor()?, original_length: p.context_length },
        "llama3" => p.llama3()?,
        "yarn" => p.yarn()?,
        // "su" is what LongRoPE was called at first.
        "longrope" | "su" => p.longrope()?,
        other => return Err(unsupported(p.parameters, "rope_type", other, "default, linear, dynamic, llama3, yarn or longrope")),
    })
}

impl<'a> Parameters<'a> {
    fn kind(&self) -> Result<&'a str> {
        let (new, old) = (self.parameters.opt_str("rope_type")?, self.parameters.opt_str("type")?);
        if let (Some(new), Some(old)) = (new, old)
            && new != old
        {
            tracing::warn!(rope_type = new, r#type = old, "{}: rope_type is used", self.config.path().display());
        }
        Ok(new.or(old).unwrap_or("default"))
    }

    fn factor(&self) -> Result<f64> {
        match self.parameters.opt_f32("factor")? {
            Some(factor) => self.checked_factor(factor),
            None => Err(self.parameters.refuse("factor", "missing", "a number of at least 1")),
        }
    }

    /// `factor`, or how much longer the context is than the original one.
    fn factor_or_ratio(&self, original_length: usize) -> Result<f64> {
        match self.parameters.opt_f32("factor")? {
            Some(factor) => self.checked_factor(factor),
            None => Ok(self.context_length as f64 / original_length as f64),
        }
    }

    fn checked_factor(&self, factor: f32) -> Result<f64> {
        if factor >= 1.0 {
            Ok(f64::from(factor))
        } else {
            Err(self.parameters.refuse("factor", factor, "a number of at least 1"))
        }
    }

    fn original_length(&self) -> Result<usize> {
        const KEY: &str = "original_max_position_embeddings";
        let length = match self.config.opt_usize(KEY)? {
            Some(length) => length,
            None => self.parameters.opt_usize(KEY)?.unwrap_or(self.context_length),
        };
        if length < 2 { Err(self.parameters.refuse(KEY, length, "at least 2")) } else { Ok(length) }
    }

    fn positive(&self, key: &str, default: Option<f64>) -> Result<f64> {
        match (self.parameters.opt_f32(key)?, default) {
            (Some(value), _) if value > 0.0 => Ok(f64::from(value)),
            (Some(value), _) => Err(self.parameters.refuse(key, value, "a number above 0")),
            (None, Some(default)) => Ok(default),
            (None, None) => Err(self.parameters.refuse(key, "missing", "a number above 0")),
        }
    }

    fn llama3(&self) -> Result<RopeScaling> {
        let low_freq_factor = self.positive("low_freq_factor", None)?;
        let high_freq_factor = self.positive("high_freq_factor", None)?;
        if high_freq_factor <= low_freq_factor {
            let expected = format!("above low_freq_factor ({low_freq_factor})");
            return Err(self.parameters.refuse("high_freq_factor", high_freq_factor, expected));
        }
        Ok(RopeScaling::Llama3 {
            factor: self.factor()?,
            low_freq_factor,
            high_freq_factor,
            original_length: self.original_length()?,
        })
    }

    fn yarn(&self) -> Result<RopeScaling> {
        let original_length = self.original_length()?;
        let factor = self.factor_or_ratio(original_length)?;
        Ok(RopeScaling::Yarn {
            factor,
            original_length,
            beta_fast: self.positive("beta_fast", Some(32.0))?,
            beta_slow: self.positive("beta_slow", Some(1.0))?,
            truncate: self.parameters.opt_bool("truncate")?.unwrap_or(true),
            attention_factor: self.yarn_attention_factor(factor)?,
        })
    }

    /// An explicit `attention_factor` replaces the rule. With both `mscale` keys it is their ratio, as `transformers` has it.
    fn yarn_attention_factor(&self, factor: f64) -> Result<f64> {
        if self.parameters.get("attention_factor").is_some() {
            return self.positive("attention_factor", None);
        }
        let mscale = |key: &str| Ok(self.parameters.opt_f32(key)?.filter(|&m| m != 0.0).map(f64::from));
        let length = |mscale: f64| mscale * (yarn_attention_factor(factor) - 1.0) + 1.0;
        match (mscale("mscale")?, mscale("mscale_all_dim")?) {
            (Some(mscale), Some(all)) => Ok(length(mscale) / length(all)),
            _ => Ok(yarn_attention_factor(factor)),
        }
    }

    fn longrope(&self) -> Result<RopeScaling> {
        let original_length = self.original_length()?;
        let factor = self.factor_or_ratio(original_length)?;
        let attention_factor = self.positive("attention_factor", Some(longrope_attention_factor(factor, original_length)))?;
        let list = |key: &str| {
            let list = self.parameters.opt_f32s(key)?.unwrap_or_default();
            if list.len() != self.dims / 2 {
                let found = format!("{} numbers", list.len());
                return Err(self.parameters.refuse(key, found, format!("{} numbers, one per rotated pair", self.dims / 2)));
            }
            match list.iter().find(|&&f| f <= 0.0) {
                Some(bad) => Err(self.parameters.refuse(key, bad, "numbers above 0")),
                None => Ok(list.into_iter().map(f64::from).collect()),
            }
        };
        Ok(RopeScaling::LongRope { short: list("short_factor")?, long: list("long_factor")?, original_length, attention_factor })
    }
}

#[cfg(test)]
#[path = "hf_tests.rs"]
mod tests;
