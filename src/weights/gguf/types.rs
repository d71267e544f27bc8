//! Type numbers of tensors, as the format's table (`enum ggml_type`) gives them.

use crate::weights::StoredType;

/// The stored type of a number; `None` for one that does not load. [`StoredType::ALL`] lists those that do.
pub fn stored_type(number: u32) -> Option<StoredType> {
    StoredType::ALL.into_iter().find(|&ty| type_number(ty) == number)
}

/// The number of a stored type.
pub fn type_number(ty: StoredType) -> u32 {
    use StoredType::*;
    match ty {
        F32 => 0,
        F16 => 1,
        Q4_0 => 2,
        Q4_1 => 3,
        Q5_0 => 6,
        Q5_1 => 7,
        Q8_0 => 8,
        Q2_K => 10,
        Q3_K => 11,
        Q4_K => 12,
        Q5_K => 13,
        Q6_K => 14,
        IQ4_NL => 20,
        IQ4_XS => 23,
        BF16 => 30,
    }
}

/// What a number that does not load is called.
pub(super) fn foreign_name(number: u32) -> &'static str {
    match number {
        4 => "Q4_2, withdrawn",
        5 => "Q4_3, withdrawn",
        9 => "Q8_1",
        15 => "Q8_K",
        16 => "IQ2_XXS",
        17 => "IQ2_XS",
        18 => "IQ3_XXS",
        19 => "IQ1_S",
        21 => "IQ3_S",
        22 => "IQ2_S",
        24 => "I8",
        25 => "I16",
        26 => "I32",
        27 => "I64",
        28 => "F64",
        29 => "IQ1_M",
        31 => "Q4_0_4_4, withdrawn",
        32 => "Q4_0_4_8, withdrawn",
        33 => "Q4_0_8_8, withdrawn",
        34 => "TQ1_0",
        35 => "TQ2_0",
        36 => "IQ4_NL_4_4, withdrawn",
        37 => "IQ4_NL_4_8, withdrawn",
        38 => "IQ4_NL_8_8, withdrawn",
        39 => "MXFP4",
        40 => "NVFP4",
        41 => "Q1_0",
        _ => "no known type",
    }
}
