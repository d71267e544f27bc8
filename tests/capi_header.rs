//! The header and the built libraries as files: what they declare, what they export, how they link.

mod capi_support;

use std::process::Command;

use capi_support::*;

const STANDARDS: [&[&str]; 7] = [
    &["cc", "-std=c99"],
    &["cc", "-std=c11"],
    &["cc", "-std=c17"],
    &["c++", "-x", "c++", "-std=c++11"],
    &["c++", "-x", "c++", "-std=c++14"],
    &["c++", "-x", "c++", "-std=c++17"],
    &["c++", "-x", "c++", "-std=c++20"],
];

#[test]
fn the_header_compiles_as_every_standard_with_warnings_as_errors() {
    let source = scratch("header").join("use.c");
    std::fs::write(
        &source,
        "#include <tactus.h>\n#include <tactus.h>\nint main(void) { return tactus_abi_version() != TACTUS_ABI_VERSION; }\n",
    )
    .unwrap();
    for standard in STANDARDS {
        let name = format!("header-{}", standard.last().unwrap().trim_start_matches("-std="));
        run_silent(&mut Command::new(compile(&source, &name, standard, Link::Shared)));
    }
}

/// FIELD_CASES 121, 123: nothing whose size or layout another language could get wrong.
#[test]
fn the_header_has_only_types_of_one_size_everywhere() {
    let text = without_comments(&header());
    for word in ["bool", "_Bool", "long", "enum", "unsigned", "short", "wchar_t"] {
        assert!(!text.split(|c: char| !c.is_alphanumeric() && c != '_').any(|w| w == word), "{word}");
    }
    for line in text.lines().filter(|line| line.contains("struct")) {
        assert!(line.starts_with("typedef struct tactus_") && line.ends_with("_t;") && !line.contains('{'), "{line}");
    }
    let plain = ["int32_t", "int64_t", "uint32_t", "uint64_t", "size_t", "float", "double"];
    let callback = |kind: &str| kind.starts_with("tactus_") && (kind.ends_with("_callback_t") || kind.ends_with("_hook_t"));
    for prototype in prototypes() {
        for (kind, name) in &prototype.parameters {
            let fine = kind.ends_with('*') || plain.contains(&kind.as_str()) || callback(kind);
            assert!(fine, "{}: {kind} {name}", prototype.name);
        }
        assert!(["int32_t", "const char *", "size_t", "void"].contains(&prototype.returns.as_str()), "{prototype:?}");
    }
}

/// STYLE: every function says something; a handle that is made says how it is given back.
#[test]
fn every_function_has_a_comment() {
    let text = header();
    let lines: Vec<&str> = text.lines().collect();
    for prototype in prototypes() {
        let start = format!("{}(", prototype.name);
        let declared = lines.iter().position(|line| !line.starts_with([' ', '/']) && line.contains(&start)).unwrap();
        assert!(lines[declared - 1].ends_with("*/"), "{} has no comment", prototype.name);
    }
    assert!(prototypes().len() > 100);
}

/// DECISIONS 24, FIELD_CASES 151.
#[test]
fn the_shared_library_exports_the_header_and_nothing_else() {
    let output = run_ok(Command::new("nm").args(["-D", "--defined-only"]).arg(library().join("lib/libtactus.so")));
    let mut exported: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| line.rsplit(' ').next().unwrap().to_string()).collect();
    let mut declared: Vec<String> = prototypes().into_iter().map(|p| p.name).collect();
    exported.sort();
    declared.sort();
    assert_eq!(exported, declared);
}

#[test]
fn the_static_library_defines_the_header_and_nothing_else() {
    let output = run_ok(Command::new("nm").args(["--defined-only", "--extern-only"]).arg(library().join("lib/libtactus.a")));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut defined: Vec<&str> = text.lines().filter_map(|line| line.split(' ').nth(2)).collect();
    let declared = prototypes();
    let mut declared: Vec<&str> = declared.iter().map(|p| p.name.as_str()).collect();
    defined.sort();
    declared.sort();
    assert_eq!(defined, declared);
}

/// FIELD_CASES 148, 149: no CUDA, NCCL or MPI is needed to load the library; 158: the name in the library is versioned.
#[test]
fn the_shared_library_needs_only_the_c_library() {
    let output = run_ok(Command::new("readelf").args(["-d", "-W"]).arg(library().join("lib/libtactus.so")));
    let text = String::from_utf8(output.stdout).unwrap();
    let named = |tag: &str| -> Vec<String> {
        let lines = text.lines().filter(|line| line.contains(tag));
        lines.map(|line| line.split(['[', ']']).nth(1).unwrap().to_string()).collect()
    };
    for needed in named("(NEEDED)") {
        let known = ["libc.so.6", "libm.so.6", "libgcc_s.so.1", "libpthread.so.0", "libdl.so.2"];
        assert!(known.contains(&needed.as_str()) || needed.starts_with("ld-linux"), "{needed}");
    }
    let major = env!("CARGO_PKG_VERSION").split('.').next().unwrap();
    assert_eq!(named("(SONAME)"), [format!("libtactus.so.{major}")]);
    assert!(!text.contains("RPATH") && !text.contains("RUNPATH") && !text.contains("TEXTREL"));
}

/// DECISIONS 24: linked beside another Rust library, in both orders, with neither's runtime in the other's way.
#[test]
fn the_static_library_links_beside_another_rust_library() {
    let library = library();
    let dir = scratch("other");
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
    let main = dir.join("main.c");
    std::fs::write(
        &main,
        "#include <tactus.h>\nint other_catches(void);\nint main(void) { tactus_config_t *c = 0;\n\
         if (other_catches() != 1 || tactus_config_create(&c) != TACTUS_OK) return 1;\n\
         return tactus_config_from_json(\"{\", 1, &c) != TACTUS_ERR_INVALID_ARGUMENT || other_catches() != 1; }\n",
    )
    .unwrap();
    let ours = library.join("lib/libtactus.a");
    for (at, order) in [[&ours, &other], [&other, &ours]].into_iter().enumerate() {
        let binary = dir.join(format!("main-{at}"));
        let mut command = Command::new("cc");
        command.arg("-I").arg(library.join("include")).arg(&main).arg("-o").arg(&binary).args(order);
        run_ok(command.args(["-lgcc_s", "-lpthread", "-lm", "-ldl"]));
        run_silent(&mut Command::new(&binary));
    }
}

/// FIELD_CASES 122; names and prototypes themselves are held by tests/abi.rs.
#[test]
fn the_versions_agree() {
    let text = header();
    assert!(text.contains(&format!("#define TACTUS_ABI_VERSION {}", tactus::capi::TACTUS_ABI_VERSION)));
}
