//! Nothing to build on a CPU-only target yet; kernels for accelerators are compiled here.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
