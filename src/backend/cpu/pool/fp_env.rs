//! The floating-point environment of our work: round to nearest, nothing flushed to zero, no traps.
//!
//! Denormals are kept, so that every thread and every level computes what IEEE 754 says whatever the host has set (FIELD_CASES
//! knows hosts that load libraries built with `-ffast-math`, which switch flushing on for the thread that loads them).

/// Sets the environment, and gives the host's back when dropped.
#[derive(Debug)]
pub(crate) struct FpEnv {
    saved: Control,
}

impl FpEnv {
    pub(crate) fn enter() -> Self {
        let saved = read();
        if saved != OURS {
            write(OURS);
        }
        FpEnv { saved }
    }
}

impl Drop for FpEnv {
    fn drop(&mut self) {
        // The exception flags our work raised go too: the host's register is as it was.
        write(self.saved);
    }
}

#[cfg(target_arch = "x86_64")]
mod control {
    pub(super) type Control = u32;
    /// The reset value: all exceptions masked, round to nearest.
    pub(super) const OURS: Control = 0x1F80;

    pub(super) fn read() -> Control {
        let mut value: Control = 0;
        // SAFETY: stores MXCSR to the four bytes of `value`; SSE is part of x86-64.
        unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
        value
    }

    pub(super) fn write(value: Control) {
        // SAFETY: loads MXCSR from `value`, which is the reset value or one that was read from it.
        unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags, readonly)) };
    }
}

#[cfg(target_arch = "aarch64")]
mod control {
    pub(super) type Control = u64;
    pub(super) const OURS: Control = 0;

    pub(super) fn read() -> Control {
        let value;
        // SAFETY: reads FPCR.
        unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }

    pub(super) fn write(value: Control) {
        // SAFETY: writes zero or a value that was read from FPCR.
        unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
    }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod control {
    pub(super) type Control = ();
    pub(super) const OURS: Control = ();

    pub(super) fn read() -> Control {}

    pub(super) fn write((): Control) {}
}

use control::{Control, OURS, read, write};

#[cfg(all(test, target_arch = "x86_64"))]
mod tests {
    use super::*;

    /// DAZ and FTZ, and rounding towards zero, as a host may have set them.
    const HOST: u32 = 0x1F80 | 0x8040 | 0x6000;

    #[test]
    fn the_hosts_environment_comes_back() {
        let before = read();
        write(HOST);
        {
            let _env = FpEnv::enter();
            assert_eq!(read() & 0xFFC0, OURS);
        }
        let after = read();
        write(before);
        assert_eq!(after, HOST);
    }
}
