use super::*;

/// Digits as in FIELD_CASES, which give ten: agreement to the precision of f32.
fn close(actual: f32, expected: f64) {
    let error = (f64::from(actual) - expected).abs() / expected;
    assert!(error < 1e-6, "{actual}, expected {expected}");
}

fn llama3(theta: f64, dims: usize, factor: f64) -> RopeSpec {
    let scaling = RopeScaling::Llama3 { factor, low_freq_factor: 1.0, high_freq_factor: 4.0, original_length: 8192 };
    RopeSpec { scaling, ..RopeSpec::plain(theta, dims) }
}

/// FIELD_CASES 116 (i) and (ii).
#[test]
fn llama3_scaling_has_three_bands() {
    let table = llama3(5e5, 64, 32.0).table_for(0);
    let expected =
        [(14, 0.003211445995), (15, 0.001290547928), (16, 0.0004295567966), (17, 9.708287803e-05), (18, 1.946163818e-05)];
    expected.iter().for_each(|&(i, value)| close(table.inv_freq[i], value));
    close(table.inv_freq[18], 5e5f64.powf(-36.0 / 64.0) / 32.0);

    let table = llama3(5e5, 128, 8.0).table_for(0);
    let expected =
        [(28, 0.003211445995), (29, 0.002166570764), (32, 0.000524846161), (34, 0.0001785078128), (35, 9.556212354e-05)];
    expected.iter().for_each(|&(i, value)| close(table.inv_freq[i], value));
    assert_eq!(table.factor, 1.0);
}

/// FIELD_CASES 116: a GGUF file says the same by divisors.
#[test]
fn divisors_divide_each_frequency() {
    let scaled = llama3(5e5, 64, 32.0).table_for(0).inv_freq;
    let plain = RopeSpec::plain(5e5, 64).table_for(0).inv_freq;
    let divisors = plain.iter().zip(&scaled).map(|(p, s)| p / s).collect();
    let table = RopeSpec { divisors: Some(divisors), ..RopeSpec::plain(5e5, 64) }.table_for(0);
    table.inv_freq.iter().zip(&scaled).for_each(|(&a, &b)| close(a, f64::from(b)));
}

/// FIELD_CASES 117: the base grows beyond the original length only, and positions are left alone.
#[test]
fn dynamic_scaling_raises_the_base_with_length() {
    let rope = RopeSpec { scaling: RopeScaling::Dynamic { factor: 2.0, original_length: 4096 }, ..RopeSpec::plain(1e4, 128) };
    assert!(rope.is_length_dependent());
    let plain = RopeSpec::plain(1e4, 128).table_for(0);
    assert_eq!(rope.table_for(100), plain);
    assert_eq!(rope.table_for(4096), plain);
    let stretched = rope.table_for(8192);
    for (i, &f) in stretched.inv_freq.iter().enumerate() {
        close(f, 30527.7367f64.powf(-((2 * i) as f64) / 128.0));
    }
}

#[test]
fn linear_scaling_divides_every_frequency() {
    let rope = RopeSpec { scaling: RopeScaling::Linear { factor: 2.0 }, ..RopeSpec::plain(5e5, 64) };
    let plain = RopeSpec::plain(5e5, 64).table_for(0).inv_freq;
    rope.table_for(1 << 20).inv_freq.iter().zip(&plain).for_each(|(&a, &b)| close(a, f64::from(b) / 2.0));
    assert!(!rope.is_length_dependent());
}

/// FIELD_CASES 118, the default rule.
#[test]
fn yarn_lengthens_rotated_vectors_by_the_log_of_the_factor() {
    for (factor, expected) in [(4.0, 1.1386294), (64.0, 1.4158883), (128.0, 1.4852030)] {
        close(yarn_attention_factor(factor) as f32, expected);
    }
}

/// Computed with transformers 5.24 (`_compute_yarn_parameters`): theta 1e4, head size 16, factor 4, original length 32.
#[test]
fn yarn_blends_by_turns_within_the_original_length() {
    let scaling = RopeScaling::Yarn {
        factor: 4.0,
        original_length: 32,
        beta_fast: 32.0,
        beta_slow: 1.0,
        truncate: true,
        attention_factor: yarn_attention_factor(4.0),
    };
    let table = RopeSpec { scaling, ..RopeSpec::plain(1e4, 16) }.table_for(0);
    let expected = [1.0, 0.19764236, 0.025, 0.0079056947, 0.0025, 0.00079056947, 0.00025, 7.9056947e-05];
    table.inv_freq.iter().zip(expected).for_each(|(&a, b)| close(a, b));
    close(table.factor, 1.1386294);
}

#[test]
fn longrope_changes_its_factors_beyond_the_original_length() {
    let scaling =
        RopeScaling::LongRope { short: vec![1.0, 2.0], long: vec![4.0, 8.0], original_length: 32, attention_factor: 1.2 };
    let rope = RopeSpec { scaling, ..RopeSpec::plain(1e4, 4) };
    assert_eq!(rope.table_for(32).inv_freq, [1.0, 0.005]);
    assert_eq!(rope.table_for(33).inv_freq, [0.25, 0.00125]);
    assert_eq!(rope.table_for(33).factor, 1.2);
}
