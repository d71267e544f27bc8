//! The table from (stored type, level) to code: the only place where instruction sets are enabled.

use super::acts::ActFormat;
use super::block::{self, Block};
use super::dense::{self, Floats};
use super::format::{self, BlockFormat};
#[cfg(target_arch = "aarch64")]
use super::lanes::neon::Neon;
use super::lanes::plain::Plain;
use super::level::Level;
use super::sweep::{Job, sweep};
use crate::weights::StoredType;

#[cfg(target_arch = "x86_64")]
use super::lanes::{avx2::Avx2, avx512::Avx512};

type Product = unsafe fn(&Job);
type Gather = unsafe fn(*const u8, usize, &mut [f32]);

/// Code for one stored type at one level.
#[derive(Clone, Copy)]
pub struct Kernels {
    pub acts: ActFormat,
    /// As [`sweep`].
    pub product: Product,
    /// As [`block::gather`]; none for float types.
    pub gather: Option<Gather>,
}

macro_rules! at_level {
    ($product:ident, $gather:ident, $lanes:ty $(, $features:literal)?) => {
        $(#[target_feature(enable = $features)])?
        unsafe fn $product<M: super::sweep::Micro<$lanes>>(job: &Job) {
            sweep::<$lanes, M>(job)
        }
        $(#[target_feature(enable = $features)])?
        unsafe fn $gather<F: BlockFormat>(tile: *const u8, lane: usize, out: &mut [f32]) {
            block::gather::<$lanes, F>(tile, lane, out)
        }
    };
}

at_level!(product_plain, gather_plain, Plain);
#[cfg(target_arch = "aarch64")]
at_level!(product_neon, gather_neon, Neon, "neon,dotprod");
#[cfg(target_arch = "x86_64")]
at_level!(product_avx2, gather_avx2, Avx2<false>, "avx2,fma,f16c");
#[cfg(target_arch = "x86_64")]
at_level!(product_avx2_vnni, gather_avx2_vnni, Avx2<true>, "avx2,fma,f16c,avxvnni");
#[cfg(target_arch = "x86_64")]
at_level!(product_avx512, gather_avx512, Avx512, "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma,f16c");

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx512bf16,avx2,fma,f16c")]
unsafe fn product_bf16_avx512(job: &Job) {
    sweep::<Avx512, Floats<dense::Bf16Dot>>(job)
}

fn block_kernels<F: BlockFormat>(level: Level) -> Kernels {
    let (product, gather): (Product, Gather) = match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => (product_avx2::<Block<F>>, gather_avx2::<F>),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2Vnni => (product_avx2_vnni::<Block<F>>, gather_avx2_vnni::<F>),
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 | Level::Avx512Bf16 => (product_avx512::<Block<F>>, gather_avx512::<F>),
        #[cfg(target_arch = "aarch64")]
        Level::Neon => (product_neon::<Block<F>>, gather_neon::<F>),
        _ => (product_plain::<Block<F>>, gather_plain::<F>),
    };
    Kernels { acts: ActFormat::Q8, product, gather: Some(gather) }
}

macro_rules! dense_kernels {
    ($level:expr, $ty:ty) => {{
        let product: Product = match $level {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 | Level::Avx2Vnni => product_avx2::<Floats<$ty>>,
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 | Level::Avx512Bf16 => product_avx512::<Floats<$ty>>,
            #[cfg(target_arch = "aarch64")]
            Level::Neon => product_neon::<Floats<$ty>>,
            _ => product_plain::<Floats<$ty>>,
        };
        Kernels { acts: ActFormat::F32, product, gather: None }
    }};
}

impl Kernels {
    pub fn of(ty: StoredType, level: Level) -> Kernels {
        use StoredType::*;
        match ty {
            F32 => dense_kernels!(level, dense::F32),
            F16 => dense_kernels!(level, dense::F16),
            #[cfg(target_arch = "x86_64")]
            BF16 if level == Level::Avx512Bf16 => Kernels { acts: ActFormat::Bf16, product: product_bf16_avx512, gather: None },
            BF16 => dense_kernels!(level, dense::Bf16),
            Q4_0 => block_kernels::<format::Q4_0>(level),
            Q4_1 => block_kernels::<format::Q4_1>(level),
            Q5_0 => block_kernels::<format::Q5_0>(level),
            Q5_1 => block_kernels::<format::Q5_1>(level),
            Q8_0 => block_kernels::<format::Q8_0>(level),
            Q2_K => block_kernels::<format::Q2K>(level),
            Q3_K => block_kernels::<format::Q3K>(level),
            Q4_K => block_kernels::<format::Q4K>(level),
            Q5_K => block_kernels::<format::Q5K>(level),
            Q6_K => block_kernels::<format::Q6K>(level),
            IQ4_NL => block_kernels::<format::Iq4Nl>(level),
            IQ4_XS => block_kernels::<format::Iq4Xs>(level),
        }
    }
}
