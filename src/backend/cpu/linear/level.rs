//! Which instruction set the products run on, found when the process runs.

use std::fmt;

/// An instruction set that the kernels are compiled for. [`detect`](Level::detect) picks the best one this processor has; tests
/// and benches may force any of [`available`](Level::available).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Plain Rust, on any processor. Its integer paths give the same bits as every other level.
    Plain,
    /// AVX2 with FMA and F16C.
    Avx2,
    /// AVX2 with the VEX-encoded byte dot product (AVX-VNNI).
    Avx2Vnni,
    /// AVX-512 F, BW, DQ, VL and VNNI.
    Avx512,
    /// AVX-512 as above with the bf16 dot product.
    Avx512Bf16,
    /// Arm with the byte dot product (FEAT_DotProd).
    Neon,
}

impl Level {
    /// Every level, the preferred ones last.
    pub const ALL: [Level; 6] = [Level::Plain, Level::Avx2, Level::Avx2Vnni, Level::Avx512, Level::Avx512Bf16, Level::Neon];

    /// The best level of this processor and operating system.
    pub fn detect() -> Level {
        Level::ALL.into_iter().rev().find(|level| level.is_available()).unwrap_or(Level::Plain)
    }

    /// The levels this processor can run, the preferred ones last.
    pub fn available() -> impl Iterator<Item = Level> {
        Level::ALL.into_iter().filter(|level| level.is_available())
    }

    /// Whether this processor can run the level.
    pub fn is_available(self) -> bool {
        match self {
            Level::Plain => true,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => {
                is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") && is_x86_feature_detected!("f16c")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2Vnni => Level::Avx2.is_available() && is_x86_feature_detected!("avxvnni"),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => {
                Level::Avx2.is_available()
                    && is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                    && is_x86_feature_detected!("avx512vnni")
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx512Bf16 => Level::Avx512.is_available() && is_x86_feature_detected!("avx512bf16"),
            #[cfg(target_arch = "aarch64")]
            Level::Neon => std::arch::is_aarch64_feature_detected!("neon") && std::arch::is_aarch64_feature_detected!("dotprod"),
            #[allow(unreachable_patterns)]
            _ => false,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Level::Plain => "plain",
            Level::Avx2 => "AVX2",
            Level::Avx2Vnni => "AVX2 + VNNI",
            Level::Avx512 => "AVX-512 VNNI",
            Level::Avx512Bf16 => "AVX-512 VNNI + BF16",
            Level::Neon => "NEON",
        }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
