//! The floating-point environment: ours inside, the host's outside.
//!
//! A host may run with flush-to-zero or another rounding mode, and results must not depend on it; nor may ours leak into the host.

/// Restores the environment that was in force when it was made.
pub(super) struct Restore(u64);

impl Restore {
    /// The environment that will be restored.
    pub(super) fn before(&self) -> u64 {
        self.0
    }
}

impl Drop for Restore {
    fn drop(&mut self) {
        write(self.0);
    }
}

/// Round to nearest, denormals kept, no traps: what our arithmetic assumes. The host's returns when the guard is dropped.
pub(super) fn ours() -> Restore {
    swap_in(DEFAULT)
}

/// The environment `host` for the time of a callback.
pub(super) fn hosts(host: u64) -> Restore {
    swap_in(host)
}

fn swap_in(wanted: u64) -> Restore {
    let before = read();
    if before != wanted {
        write(wanted);
    }
    Restore(before)
}

#[cfg(target_arch = "x86_64")]
const DEFAULT: u64 = 0x1f80; // every exception masked

#[cfg(target_arch = "x86_64")]
pub(super) fn read() -> u64 {
    let mut value = 0u32;
    // SAFETY: stmxcsr stores 4 bytes at the address of `value`.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &mut value, options(nostack, preserves_flags)) };
    u64::from(value)
}

#[cfg(target_arch = "x86_64")]
fn write(value: u64) {
    let value = value as u32;
    // SAFETY: the value came from stmxcsr or is the architecture's default, so no reserved bit is set.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &value, options(nostack, preserves_flags, readonly)) };
}

#[cfg(target_arch = "aarch64")]
const DEFAULT: u64 = 0;

#[cfg(target_arch = "aarch64")]
pub(super) fn read() -> u64 {
    let value: u64;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) value, options(nomem, nostack, preserves_flags)) };
    value
}

#[cfg(target_arch = "aarch64")]
fn write(value: u64) {
    // SAFETY: the value came from the register or is its reset value.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) value, options(nomem, nostack, preserves_flags)) };
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod other {
    pub(super) const DEFAULT: u64 = 0;
    pub(in super::super) fn read() -> u64 {
        0
    }
    pub(super) fn write(_: u64) {}
}
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
use other::{DEFAULT, read, write};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hosts_environment_is_restored() {
        let host = read();
        #[cfg(target_arch = "x86_64")]
        let strange = host | 0x8040; // flush-to-zero, denormals-are-zero
        #[cfg(not(target_arch = "x86_64"))]
        let strange = host;
        write(strange);
        {
            let _inside = ours();
            assert_eq!(read() & !0x3f, DEFAULT);
            {
                let _callback = hosts(strange);
                assert_eq!(read(), strange);
            }
            assert_eq!(read() & !0x3f, DEFAULT);
        }
        let after = read();
        write(host);
        assert_eq!(after, strange);
    }
}
