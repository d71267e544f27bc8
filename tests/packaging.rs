//! What users get: the installed files, projects outside our tree that find them, the archive to unpack. FIELD_CASES 158.

mod capi_support;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use capi_support::*;

const VERSION: &str = env!("CARGO_PKG_VERSION");

fn major() -> &'static str {
    VERSION.split('.').next().unwrap()
}

/// What a consumer prints.
fn answer() -> String {
    format!("{VERSION} {}\n", tactus::capi::TACTUS_ABI_VERSION)
}

/// A fresh directory.
fn fresh(name: &str) -> PathBuf {
    let dir = scratch(&format!("packaging/{name}"));
    std::fs::remove_dir_all(&dir).unwrap();
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

/// `make` with variables of ours and none of the test's own environment that it reads.
fn make(target: &str, variables: &[(&str, &Path)]) -> Command {
    let mut command = Command::new("make");
    command.args(["--no-print-directory", target]).current_dir(root());
    for name in ["PREFIX", "LIBDIR", "INCLUDEDIR", "DESTDIR"] {
        command.env_remove(name);
    }
    command.args(variables.iter().map(|(name, value)| format!("{name}={}", value.display())));
    command
}

/// Files and links below `dir`, as paths from there.
fn files(dir: &Path) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut todo = vec![dir.to_path_buf()];
    while let Some(next) = todo.pop() {
        for entry in std::fs::read_dir(&next).unwrap().map(Result::unwrap) {
            match entry.file_type().unwrap().is_dir() {
                true => todo.push(entry.path()),
                false => _ = found.insert(entry.path().strip_prefix(dir).unwrap().display().to_string()),
            }
        }
    }
    found
}

#[test]
fn install_and_uninstall_are_each_others_inverse() {
    library();
    let dest = fresh("dest dir");
    let (prefix, libdir) = (Path::new("/opt/a prefix"), Path::new("/opt/a prefix/lib64"));
    let variables = [("DESTDIR", dest.as_path()), ("PREFIX", prefix), ("LIBDIR", libdir)];
    let neighbour = dest.join("opt/a prefix/lib64/pkgconfig/other.pc");
    std::fs::create_dir_all(neighbour.parent().unwrap()).unwrap();
    std::fs::write(&neighbour, "Name: other\n").unwrap();
    run_ok(&mut make("install", &variables));
    run_ok(&mut make("install", &variables)); // over itself
    let installed = files(&dest.join("opt/a prefix"));
    for file in [
        "include/tactus.h".to_string(),
        "lib64/libtactus.a".into(),
        "lib64/libtactus.so".into(),
        format!("lib64/libtactus.so.{}", major()),
        format!("lib64/libtactus.so.{VERSION}"),
        "lib64/pkgconfig/tactus.pc".into(),
        "lib64/cmake/Tactus/TactusConfig.cmake".into(),
        "lib64/cmake/Tactus/TactusConfigVersion.cmake".into(),
    ] {
        assert!(installed.contains(&file), "{file}: {installed:?}");
    }
    // Names of ours only: two packages never fight over a file.
    assert!(installed.iter().all(|file| file.to_lowercase().contains("tactus") || file.ends_with("other.pc")), "{installed:?}");
    let lib = dest.join("opt/a prefix/lib64");
    assert_eq!(std::fs::read_link(lib.join("libtactus.so")).unwrap(), Path::new(&format!("libtactus.so.{}", major())));
    for file in installed.iter().filter(|file| file.ends_with(".pc") || file.ends_with(".cmake")) {
        let text = std::fs::read_to_string(dest.join("opt/a prefix").join(file)).unwrap();
        assert!(!text.contains("/opt") && !text.contains('@') && !text.contains(dest.to_str().unwrap()), "{file}: {text}");
    }
    run_ok(&mut make("uninstall", &variables));
    assert_eq!(files(&dest), ["opt/a prefix/lib64/pkgconfig/other.pc".to_string()].into());
    run_ok(&mut make("uninstall", &variables)); // nothing left to do
    let refused = run(&mut make("install", &[("PREFIX", Path::new("relative"))]));
    assert!(
        !refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("'relative', expected an absolute path")
    );
}

#[test]
fn the_bindings_have_the_librarys_version() {
    for (file, line) in [
        ("bindings/python/pyproject.toml", format!("version = \"{VERSION}\"")),
        ("bindings/csharp/Tactus.csproj", format!("<Version>{VERSION}</Version>")),
        ("CHANGELOG.md", format!("## {VERSION}")),
    ] {
        let text = std::fs::read_to_string(root().join(file)).unwrap();
        assert!(text.lines().any(|found| found.trim() == line), "{file}: expected {line}");
    }
    // The name that the bindings look for where they are given none.
    let name = format!("\"libtactus.so.{}\"", major());
    for file in ["bindings/python/tactus/_library.py", "bindings/csharp/Library.cs"] {
        assert!(std::fs::read_to_string(root().join(file)).unwrap().contains(&name), "{file}: expected {name}");
    }
}

/// Copies the projects that use the library to a place that knows nothing of our tree.
fn consumers(name: &str) -> PathBuf {
    let dir = fresh(name);
    run_ok(Command::new("cp").arg("-R").arg(root().join("tests/consumers/.")).arg(&dir));
    dir
}

fn runs(binary: &Path, lib: Option<&Path>) {
    let mut command = Command::new(binary);
    if let Some(lib) = lib {
        command.env("LD_LIBRARY_PATH", lib);
    }
    assert_eq!(said(command.arg(tiny())), answer(), "{}", binary.display());
}

fn pkg_config(libdir: &Path, arguments: &[&str]) -> String {
    said(Command::new("pkg-config").env("PKG_CONFIG_PATH", libdir.join("pkgconfig")).args(arguments)).trim().to_string()
}

fn builds_with_pkg_config(libdir: &Path, name: &str) {
    assert_eq!(pkg_config(libdir, &["--modversion", "tactus"]), VERSION);
    assert_eq!(pkg_config(libdir, &["--variable=abi_version", "tactus"]), tactus::capi::TACTUS_ABI_VERSION.to_string());
    let dir = consumers(name).join("pkgconfig");
    run_ok(Command::new("make").current_dir(&dir).env("PKG_CONFIG_PATH", libdir.join("pkgconfig")));
    for binary in ["c_shared", "cpp_shared"] {
        runs(&dir.join(binary), Some(libdir));
    }
    for binary in ["c_static", "cpp_static", "c_all_static"] {
        runs(&dir.join(binary), None);
    }
}

fn builds_with_cmake(define: &str, name: &str) {
    let dir = consumers(name).join("cmake");
    let build = dir.join("build");
    run_ok(Command::new("cmake").arg("-S").arg(&dir).arg("-B").arg(&build).arg(define));
    run_ok(Command::new("cmake").arg("--build").arg(&build));
    assert_eq!(std::fs::read_to_string(build.join("found")).unwrap(), answer());
    for binary in ["c_tactus", "cpp_tactus", "c_static", "cpp_static"] {
        runs(&build.join(binary), None);
    }
}

/// A prefix with a space in it and libraries in lib64; then the same one moved elsewhere, with libraries in lib.
#[test]
fn projects_outside_find_an_installed_library_and_a_moved_one() {
    if !has_tools("pkg-config and CMake packages", &["cmake", "pkg-config"]) {
        return;
    }
    library();
    let dir = fresh("prefixes");
    let (prefix, lib64) = (dir.join("a prefix"), dir.join("a prefix/lib64"));
    run_ok(&mut make("install", &[("PREFIX", &prefix), ("LIBDIR", &lib64)]));
    builds_with_pkg_config(&lib64, "pkgconfig-lib64");
    builds_with_cmake(&format!("-DTactus_DIR={}", lib64.join("cmake/Tactus").display()), "cmake-lib64");
    let first = dir.join("first");
    run_ok(&mut make("install", &[("PREFIX", &first)]));
    let moved = dir.join("moved");
    std::fs::rename(&first, &moved).unwrap();
    builds_with_pkg_config(&moved.join("lib"), "pkgconfig-moved");
    builds_with_cmake(&format!("-DCMAKE_PREFIX_PATH={}", moved.display()), "cmake-moved");
}

#[test]
fn cmake_serves_older_minor_versions_and_refuses_the_rest() {
    if !has_tools("the CMake package's versions", &["cmake"]) {
        return;
    }
    library();
    let dir = fresh("versions");
    let prefix = dir.join("prefix");
    run_ok(&mut make("install", &[("PREFIX", &prefix)]));
    let asks = |version: &str| -> bool {
        let project = fresh("versions/project");
        let text = format!("cmake_minimum_required(VERSION 3.16)\nproject(p C)\nfind_package(Tactus {version} REQUIRED)\n");
        std::fs::write(project.join("CMakeLists.txt"), text).unwrap();
        let mut command = Command::new("cmake");
        command.arg("-S").arg(&project).arg("-B").arg(project.join("b")).arg(format!("-DCMAKE_PREFIX_PATH={}", prefix.display()));
        run(&mut command).status.success()
    };
    let number = |at: usize| VERSION.split('.').nth(at).unwrap().parse::<u32>().unwrap();
    assert!(asks("") && asks(VERSION) && asks(&format!("{VERSION} EXACT")) && asks(&format!("{}.0", number(0))));
    assert!(!asks(&format!("{}.{}", number(0), number(1) + 1)) && !asks(&format!("{}.0", number(0) + 1)));
    // A file that is gone is named.
    std::fs::remove_file(prefix.join("lib/libtactus.a")).unwrap();
    assert!(!asks(VERSION));
}

/// DECISIONS 24: beside another Rust library in one C++ program, in both orders, exceptions of C++ and panics of both included.
#[test]
fn a_cplusplus_program_holds_two_rust_libraries() {
    let library = library();
    let dir = fresh("two");
    let source = dir.join("other.rs");
    std::fs::write(
        &source,
        r#"#[unsafe(no_mangle)]
           pub extern "C" fn other_catches() -> i32 { std::panic::set_hook(Box::new(|_| ()));
               std::thread::spawn(|| std::panic::catch_unwind(|| { panic!("other") }).is_err() as i32).join().unwrap_or(0) }"#,
    )
    .unwrap();
    let other = dir.join("libother.a");
    let rustc = std::env::var_os("RUSTC").unwrap_or("rustc".into());
    run_ok(Command::new(rustc).args(["--edition", "2024", "--crate-type", "staticlib", "-o"]).arg(&other).arg(&source));
    let main = dir.join("main.cpp");
    let uses = std::fs::read_to_string(root().join("tests/consumers/uses.cpp")).unwrap();
    let uses = uses.replace("int main(int argc", "extern \"C\" int other_catches();\n\nint main(int argc");
    let uses = uses.replace("    try {", "    if (other_catches() != 1)\n        return 9;\n    try {");
    assert!(uses.contains("return 9"));
    std::fs::write(&main, uses.replace("    return 0;", "    return other_catches() != 1;")).unwrap();
    let ours = library.join("lib/libtactus.a");
    for (at, order) in [[&ours, &other], [&other, &ours]].into_iter().enumerate() {
        let binary = dir.join(format!("main-{at}"));
        let mut command = Command::new("c++");
        command
            .args(["-std=c++17", "-Wall", "-Wextra", "-Werror", "-I"])
            .arg(library.join("include"))
            .arg(&main)
            .arg("-o")
            .arg(&binary);
        run_ok(command.args(order).args(["-lpthread", "-lm", "-ldl"]));
        runs(&binary, None);
    }
}

/// The newest glibc symbol version that a library needs, as numbers.
fn glibc_of(library: &Path) -> Vec<u32> {
    let text = said(Command::new("readelf").args(["--version-info", "--wide"]).arg(library));
    let versions = text.split("GLIBC_").skip(1).map(|rest| {
        let version: String = rest.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
        version.split('.').filter_map(|n| n.parse().ok()).collect::<Vec<u32>>()
    });
    versions.max().unwrap()
}

#[test]
fn the_archive_is_unpacked_and_used() {
    if !has_tools("the archive", &["cmake", "pkg-config"]) {
        return;
    }
    library();
    let made = || {
        let line = said(&mut make("dist", &[])).lines().last().unwrap().to_string();
        root().join(line.split(':').next().unwrap())
    };
    let archive = made();
    let bytes = std::fs::read(&archive).unwrap();
    assert!(bytes == std::fs::read(made()).unwrap(), "two runs differ");
    let dir = fresh("archive");
    run_ok(Command::new("tar").arg("-xzf").arg(&archive).current_dir(&dir));
    let name = archive.file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap().to_string();
    let tree = dir.join(&name);
    let install = std::fs::read_to_string(tree.join("INSTALL")).unwrap();
    let floor = glibc_of(&tree.join(format!("lib/libtactus.so.{VERSION}")));
    assert!(install.contains(&format!("glibc {}.{} or later", floor[0], floor[1])) && !install.contains('@'), "{install}");
    // RHEL 9, Debian 12, Ubuntu 22.04 and later.
    assert!(floor <= vec![2, 34], "{floor:?}");
    for file in
        ["README.md", "LICENSE", "CHANGELOG.md", "include/tactus.h", "examples_c/chat.c", "bindings/python/tactus/__init__.py"]
    {
        assert!(tree.join(file).is_file(), "{file}");
    }
    let here = root().to_str().unwrap();
    for file in files(&tree) {
        let path = tree.join(&file);
        if !file.contains("lib/libtactus") {
            assert!(
                !String::from_utf8_lossy(&std::fs::read(&path).unwrap()).contains(here),
                "{file} names the tree it was made in"
            );
        }
    }
    // The commands of INSTALL, as they stand there.
    let commands: Vec<&str> = install.lines().filter_map(|line| line.strip_prefix("    ")).collect();
    let commands: Vec<&str> = commands.into_iter().filter(|line| line.contains('$') || line.starts_with("export")).collect();
    assert_eq!(commands.len(), 3, "{install}");
    run_ok(Command::new("sh").args(["-e", "-c", &commands.join("\n")]).current_dir(&tree));
    let chat = said(Command::new(tree.join("chat")).args(["--model", &tiny(), "--prompt", "a b", "--max-tokens", "5"]));
    assert!(chat.contains("generated "), "{chat}");
    builds_with_cmake(&format!("-DCMAKE_PREFIX_PATH={}", tree.display()), "cmake-archive");
}
