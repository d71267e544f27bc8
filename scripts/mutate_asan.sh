#!/bin/bash
# Reads mutated weight files under AddressSanitizer: mutate_asan.sh [COUNT], 200,000 unless said.
#
# The readers need the error type and nothing else of the library, so they are built alone, as a crate of the same name: the
# sanitizer then costs half a minute and not the kernels' build.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
crate=$root/target/asan
mkdir -p "$crate"
cat > "$crate/lib.rs" <<END
#[path = "$root/src/error.rs"]
pub mod error;
#[path = "$root/src/weights/mod.rs"]
pub mod weights;
pub use error::{Error, Result, Status};
END
{
    printf '[package]\nname = "tactus"\nversion = "0.0.0"\nedition = "2024"\n\n[workspace]\n\n[lib]\npath = "lib.rs"\n\n'
    printf '[[test]]\nname = "weights_mutation"\npath = "%s/tests/weights_mutation/main.rs"\n\n[dependencies]\n' "$root"
    grep -E '^(half|libc|memmap2|serde_json|thiserror|serde|tracing) = ' "$root/Cargo.toml"
    printf '\n[dev-dependencies]\n'
    grep -E '^safetensors = ' "$root/Cargo.toml"
    printf '\n[profile.dev]\nopt-level = 2\n'
} > "$crate/Cargo.toml"
cp "$root/Cargo.lock" "$crate/Cargo.lock"
cd "$crate"
TACTUS_MUTANTS=${1:-200000} RUSTC_BOOTSTRAP=1 RUSTFLAGS="-Zsanitizer=address" \
    cargo test --target "$(rustc -vV | sed -n 's/^host: //p')" --test weights_mutation -- --nocapture
