use std::path::Path;

use serde_json::{Value, json};

use super::*;
use crate::error::{Error, Status};

const MODEL: HfRope = HfRope { head_dim: 64, context_length: 4096, default_theta: 10_000.0 };

fn read(config: Value) -> Result<RopeSpec> {
    from_hf(ConfigReader::new(Path::new("config.json"), &config)?, MODEL)
}

fn refused(config: Value) -> Error {
    read(config).expect_err("this should be refused")
}

/// FIELD_CASES 115: every spelling gives the same frequencies.
#[test]
fn every_spelling_of_scaling_is_read() {
    let linear = |theta| RopeSpec { scaling: RopeScaling::Linear { factor: 2.0 }, ..RopeSpec::plain(theta, 64) };
    let spellings = [
        json!({"rope_scaling": {"type": "linear", "factor": 2.0}}),
        json!({"rope_scaling": {"rope_type": "linear", "factor": 2.0}}),
        json!({"rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 2.0}}),
        // The new key wins where they differ.
        json!({"rope_scaling": {"rope_type": "linear", "type": "dynamic", "factor": 2}}),
        json!({"rope_scaling": null, "rope_parameters": {"rope_type": "linear", "factor": 2.0}}),
    ];
    for spelling in spellings {
        assert_eq!(read(spelling.clone()).unwrap(), linear(10_000.0), "{spelling}");
    }
    let inside = json!({"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 500000.0}});
    assert_eq!(read(inside).unwrap(), linear(500_000.0));
    let outside = json!({"rope_theta": 500000.0, "rope_scaling": {"rope_type": "linear", "factor": 2.0}});
    assert_eq!(read(outside).unwrap(), linear(500_000.0));
}

/// FIELD_CASES 115.
#[test]
fn no_scaling_is_no_scaling() {
    for config in [json!({}), json!({"rope_scaling": null}), json!({"rope_scaling": {"rope_type": "default"}})] {
        assert_eq!(read(config).unwrap(), RopeSpec::plain(10_000.0, 64));
    }
}

#[test]
fn a_part_of_a_head_can_be_rotated() {
    assert_eq!(read(json!({"partial_rotary_factor": 0.5})).unwrap(), RopeSpec::plain(10_000.0, 32));
    let inside = json!({"rope_parameters": {"rope_type": "default", "partial_rotary_factor": 0.25}});
    assert_eq!(read(inside).unwrap(), RopeSpec::plain(10_000.0, 16));
}

/// FIELD_CASES 118: an explicit factor replaces the rule; both `mscale` keys give their ratio.
#[test]
fn yarn_takes_an_explicit_attention_factor_once() {
    let factor = |scaling: Value| read(json!({"rope_scaling": scaling})).unwrap().table_for(0).factor;
    let close = |a: f32, b: f32| assert!((a - b).abs() < 1e-6, "{a}, expected {b}");
    close(factor(json!({"rope_type": "yarn", "factor": 4.0})), 1.1386294);
    close(factor(json!({"rope_type": "yarn", "factor": 64.0})), 1.4158883);
    close(factor(json!({"rope_type": "yarn", "factor": 64.0, "attention_factor": 1.0})), 1.0);
    close(factor(json!({"rope_type": "yarn", "factor": 128.0, "attention_factor": 1.4852})), 1.4852);
    close(factor(json!({"rope_type": "yarn", "factor": 32.0, "mscale": 1.0, "mscale_all_dim": 1.0})), 1.0);
    // 0.1 · 0.707 · ln 40 + 1 over 0.1 · ln 40 + 1.
    close(factor(json!({"rope_type": "yarn", "factor": 40.0, "mscale": 0.707, "mscale_all_dim": 1.0})), 0.9210426);
}

/// FIELD_CASES 120: never ignored.
#[test]
fn what_is_not_understood_is_refused_by_key_and_value() {
    let error = refused(json!({"rope_scaling": {"rope_type": "spiral", "factor": 8}}));
    assert_eq!(error.status(), Status::Unsupported);
    assert!(error.message().contains("rope_scaling.rope_type: spiral"), "{error}");

    let llama3 =
        json!({"rope_type": "llama3", "low_freq_factor": 1, "high_freq_factor": 4, "original_max_position_embeddings": 8192});
    assert!(refused(json!({"rope_scaling": llama3})).message().contains("rope_scaling.factor: missing"));
    for kind in ["linear", "dynamic", "llama3", "yarn"] {
        let scaling = json!({"rope_type": kind, "factor": 0, "low_freq_factor": 1, "high_freq_factor": 4});
        assert!(refused(json!({"rope_scaling": scaling})).message().contains("rope_scaling.factor: 0"), "{kind}");
    }
    let lists = json!({"rope_type": "longrope", "factor": 2, "short_factor": [1.0, 1.0], "long_factor": [1.0]});
    assert!(refused(json!({"rope_scaling": lists})).message().contains("short_factor: 2 numbers, expected 32"));
    let nested = json!({"rope_parameters": {"full_attention": {"rope_type": "linear", "factor": 8}}});
    assert_eq!(refused(nested).status(), Status::Unsupported);
}

/// The two ways Gemma 3 configurations say it.
#[test]
fn kinds_of_layers_have_ropes_of_their_own() {
    let sliding = HfRope { default_theta: 10_000.0, ..MODEL };
    let full = HfRope { default_theta: 1e6, ..MODEL };
    let read = |config: Value| {
        let reader = ConfigReader::new(Path::new("config.json"), &config).unwrap();
        from_hf_per_layer_kind(reader, full, sliding)
    };
    let linear = RopeScaling::Linear { factor: 8.0 };
    let expected = [RopeSpec { scaling: linear, ..RopeSpec::plain(2e6, 64) }, RopeSpec::plain(30_000.0, 64)];
    let scaling = json!({"rope_type": "linear", "factor": 8.0});
    let old = json!({"rope_theta": 2e6, "rope_local_base_freq": 30000.0, "rope_scaling": scaling});
    assert_eq!(read(old).unwrap(), expected);
    let new = json!({"rope_parameters": {
        "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 2e6},
        "sliding_attention": {"rope_type": "default", "rope_theta": 30000.0},
    }});
    assert_eq!(read(new).unwrap(), expected);
    assert_eq!(read(json!({})).unwrap(), [RopeSpec::plain(1e6, 64), RopeSpec::plain(10_000.0, 64)]);
    let flat = json!({"rope_parameters": {"rope_type": "linear", "factor": 8.0}});
    assert_eq!(read(flat).unwrap_err().status(), Status::Unsupported);
}
