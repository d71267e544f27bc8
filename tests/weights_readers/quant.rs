//! Stored formats against the `gguf` package (tests/data/quant, made by scripts/make_quant_goldens.py).

use ::safetensors::SafeTensors;
use tactus::Status;
use tactus::weights::StoredType;
use tactus::weights::quant::dequantize;

use crate::{data, refused};

#[test]
fn every_stored_type_decodes_bit_for_bit_as_the_reference_does() {
    let file = std::fs::read(data("quant/goldens.safetensors")).unwrap();
    let goldens = SafeTensors::deserialize(&file).unwrap();
    for ty in StoredType::ALL {
        let blocks = goldens.tensor(&format!("{ty}.blocks")).unwrap().data();
        let expected = goldens.tensor(&format!("{ty}.values")).unwrap().data();
        let expected: Vec<u32> = expected.chunks_exact(4).map(|b| u32::from_le_bytes(b.try_into().unwrap())).collect();
        let mut values = vec![0.0f32; expected.len()];
        dequantize(ty, blocks, &mut values).unwrap();
        for (i, (value, expected)) in values.iter().zip(expected).enumerate() {
            // A NaN's sign and payload depend on the processor.
            let same = value.to_bits() == expected || value.is_nan() && f32::from_bits(expected).is_nan();
            assert!(same, "{ty}, value {i}: {value:?}, expected {:?}", f32::from_bits(expected));
        }
    }
}

#[test]
fn the_goldens_reach_the_ends_of_the_arithmetic() {
    let file = std::fs::read(data("quant/goldens.safetensors")).unwrap();
    let goldens = SafeTensors::deserialize(&file).unwrap();
    for ty in StoredType::ALL {
        let values = goldens.tensor(&format!("{ty}.values")).unwrap().data();
        let values: Vec<f32> = values.chunks_exact(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
        let holds = |what: fn(&f32) -> bool| values.iter().any(what);
        assert!(holds(|v| *v == 0.0), "{ty}: zeros");
        assert!(holds(|v| v.is_finite() && v.abs() >= 65504.0), "{ty}: large values");
        assert!(holds(|v| *v != 0.0 && v.abs() < 1e-4), "{ty}: values from denormals");
        assert!(holds(|v| v.is_infinite()), "{ty}: infinities");
    }
}

#[test]
fn blocks_and_values_that_do_not_fit_are_refused() {
    refused(dequantize(StoredType::Q4_0, &[0; 18], &mut [0.0; 31]), Status::InvalidArgument, &["31 values of Q4_0 in 18 bytes"]);
    refused(
        dequantize(StoredType::Q6_K, &[0; 209], &mut [0.0; 256]),
        Status::InvalidArgument,
        &["210 bytes for each 256 values"],
    );
    dequantize(StoredType::Q4_K, &[], &mut []).unwrap();
}
