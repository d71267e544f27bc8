//! Compiles the CUDA kernels, where the feature `cuda` asks for them: every `kernels/**/*.cu` to one fat binary with the code of all
//! architectures, embedded in the library.
//!
//! `nvcc` is `TACTUS_NVCC`, or `CUDA_HOME/bin/nvcc`, or what PATH has (`make kernels` fetches one). `TACTUS_CUDA_ARCHS` lists the
//! architectures, such as `80;90a;compute_80`: a number stands for machine code, `compute_` and a number for code that the driver
//! compiles for later ones.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::{env, fs, thread};

const DEFAULT_ARCHS: &str = "80;90a;compute_80";

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    if env::var_os("CARGO_FEATURE_CUDA").is_none() {
        return;
    }
    for name in ["TACTUS_NVCC", "CUDA_HOME", "PATH", "TACTUS_CUDA_ARCHS"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    println!("cargo:rerun-if-changed=kernels");
    if let Err(message) = kernels() {
        println!("cargo:error={message}");
    }
}

fn kernels() -> Result<(), String> {
    let out = PathBuf::from(env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);
    let nvcc = find_nvcc()?;
    let archs = architectures(&env::var("TACTUS_CUDA_ARCHS").unwrap_or_else(|_| DEFAULT_ARCHS.to_string()))?;
    let mut sources = Vec::new();
    let mut newest_header = None;
    walk(Path::new("kernels"), &mut |path| match path.extension().and_then(|e| e.to_str()) {
        Some("cu") => sources.push(path),
        Some("cuh") => newest_header = newest_header.max(modified(&path)),
        _ => (),
    })?;
    sources.sort();
    let options = format!("{} {}", nvcc.display(), archs.join(" "));
    let same_options = fs::read_to_string(out.join("kernels.options")).is_ok_and(|before| before == options);

    let mut list = String::from("pub(super) static IMAGES: &[(&str, &[u8])] = &[\n");
    let mut stale = Vec::new();
    for source in &sources {
        let name = source.with_extension("").to_string_lossy().replace(['/', '\\'], "_");
        let image = out.join(format!("{name}.fatbin"));
        let made = modified(&image);
        if !same_options || made.is_none() || made < modified(source) || made < newest_header {
            stale.push((source.clone(), image.clone()));
        }
        list += &format!("    ({:?}, include_bytes!({:?})),\n", source.display().to_string(), image.display().to_string());
    }
    list += "];\n";
    compile(&nvcc, &archs, stale)?;
    let write = |name: &str, text: String| fs::write(out.join(name), text).map_err(|e| format!("{name}: {e}"));
    write("kernels.options", options)?;
    write("kernels.rs", list)
}

/// Runs the compiler on as many files at once as cargo allows.
fn compile(nvcc: &Path, archs: &[String], files: Vec<(PathBuf, PathBuf)>) -> Result<(), String> {
    let jobs = env::var("NUM_JOBS").ok().and_then(|n| n.parse().ok()).unwrap_or(1usize);
    let (queue, failed) = (Mutex::new(files), Mutex::new(None));
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                loop {
                    let Some((source, image)) = queue.lock().ok().and_then(|mut queue| queue.pop()) else { return };
                    if let Err(message) = compile_one(nvcc, archs, &source, &image)
                        && let Ok(mut failed) = failed.lock()
                    {
                        *failed = Some(message);
                    }
                }
            });
        }
    });
    failed.into_inner().ok().flatten().map_or(Ok(()), Err)
}

fn compile_one(nvcc: &Path, archs: &[String], source: &Path, image: &Path) -> Result<(), String> {
    // Written under another name first: a file that is there was finished.
    let part = image.with_extension("part");
    let mut command = Command::new(nvcc);
    command.args(["-fatbin", "-O3", "-std=c++17", "-Ikernels", "-o"]).arg(&part).args(archs).arg(source);
    let output = command.output().map_err(|e| format!("{}: {e}", nvcc.display()))?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
        return Err(format!("{} failed on {}: {}", nvcc.display(), source.display(), text.trim().replace('\n', " | ")));
    }
    fs::rename(&part, image).map_err(|e| format!("{}: {e}", image.display()))
}

fn find_nvcc() -> Result<PathBuf, String> {
    if let Some(path) = env::var_os("TACTUS_NVCC").map(PathBuf::from) {
        return if path.is_file() { Ok(path) } else { Err(format!("TACTUS_NVCC: no such file: {}", path.display())) };
    }
    let home = env::var_os("CUDA_HOME").map(|home| PathBuf::from(home).join("bin"));
    let path = env::var_os("PATH").unwrap_or_default();
    let found = home.into_iter().chain(env::split_paths(&path)).map(|dir| dir.join("nvcc")).find(|path| path.is_file());
    found.ok_or_else(|| {
        "feature cuda: no nvcc in CUDA_HOME/bin or PATH; name one with TACTUS_NVCC (scripts/fetch_nvcc.sh fetches it)".to_string()
    })
}

/// `-gencode` options.
fn architectures(list: &str) -> Result<Vec<String>, String> {
    let one = |name: &str| {
        let (virtual_only, number) = match name.strip_prefix("compute_") {
            Some(number) => (true, number),
            None => (false, name.strip_prefix("sm_").unwrap_or(name)),
        };
        let digits = number.trim_end_matches(['a', 'f']);
        if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
            return Err(format!("TACTUS_CUDA_ARCHS: {name:?}, expected architectures such as 80;90a;compute_80"));
        }
        let code = if virtual_only { "compute" } else { "sm" };
        Ok(format!("-gencode=arch=compute_{number},code={code}_{number}"))
    };
    list.split([';', ',', ' ']).filter(|name| !name.is_empty()).map(one).collect()
}

fn walk(dir: &Path, found: &mut dyn FnMut(PathBuf)) -> Result<(), String> {
    let entries = fs::read_dir(dir).map_err(|e| format!("{}: {e}", dir.display()))?;
    for entry in entries {
        let path = entry.map_err(|e| format!("{}: {e}", dir.display()))?.path();
        if path.is_dir() { walk(&path, found)? } else { found(path) }
    }
    Ok(())
}

fn modified(path: &Path) -> Option<std::time::SystemTime> {
    fs::metadata(path).and_then(|m| m.modified()).ok()
}
