//! The C# side: compiled by Mono's mcs with warnings as errors, its tests, the README's program and the example.

mod capi_support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use capi_support::*;

fn mcs(arguments: &[&str], out: &Path, sources: &[PathBuf]) {
    let mut command = Command::new("mcs");
    command.args(["-langversion:7", "-warn:4", "-warnaserror"]).args(arguments).arg(format!("-out:{}", out.display()));
    run_ok(command.args(sources));
}

/// The compiled package, `None` where there is no Mono.
fn assembly() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<PathBuf>> = OnceLock::new();
    BUILT
        .get_or_init(|| {
            if !has_tools("the C# binding", &["mcs", "mono"]) {
                return None;
            }
            let (package, dir) = (root().join("bindings/csharp"), scratch("csharp"));
            let files = std::fs::read_dir(&package).unwrap().map(|entry| entry.unwrap().path());
            let sources: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "cs")).collect();
            let out = dir.join("Tactus.dll");
            // With -doc, a public member without a comment is a warning.
            mcs(&["-target:library", &format!("-doc:{}", dir.join("Tactus.xml").display())], &out, &sources);
            Some(out)
        })
        .as_deref()
}

fn program(source: &Path, name: &str) -> PathBuf {
    let out = scratch("csharp").join(name);
    mcs(&[&format!("-r:{}", assembly().unwrap().display())], &out, &[source.to_path_buf()]);
    out
}

#[test]
fn the_packages_own_tests_pass() {
    if assembly().is_none() {
        return;
    }
    let tests = program(&root().join("bindings/csharp/tests/Tests.cs"), "Tests.exe");
    let library = library().join("lib/libtactus.so");
    let mut command = Command::new("mono");
    command.arg(&tests).arg(&library).arg(tiny());
    if let Some(model) = smollm2() {
        command.arg(model);
    }
    let report = said(&mut command);
    assert!(report.contains(" passed, 0 failed"), "{report}");
    // What is no Tactus, or too old.
    for (kind, code) in [("old", "int tactus_abi_version(void) { return 0; }"), ("strange", "int x;"), ("missing", "")] {
        let path = scratch("csharp").join(format!("lib{kind}.so"));
        if !code.is_empty() {
            let source = path.with_extension("c");
            std::fs::write(&source, code).unwrap();
            run_ok(Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&path).arg(&source));
        }
        run_silent(Command::new("mono").arg(&tests).arg(kind).arg(&path));
    }
}

/// The README's program as it stands there, and the example, on SmolLM2.
#[test]
fn the_readmes_program_and_the_example_answer() {
    let (Some(_), Some(model)) = (assembly(), smollm2()) else { return };
    let source = scratch("csharp").join("Hello.cs");
    std::fs::write(&source, readme_program("csharp")).unwrap();
    let hello = program(&source, "Hello.exe");
    let lib = library().join("lib");
    let question = "What is the capital of France? Answer in one sentence.";
    // By name, which the system's loader finds.
    let mut command = Command::new("mono");
    let answer = said(command.env("LD_LIBRARY_PATH", &lib).arg(&hello).arg(&model).arg(question));
    assert!(answer.contains("Paris"), "{answer}");

    let chat = program(&root().join("bindings/csharp/examples/Chat.cs"), "Chat.exe");
    let mut command = Command::new("mono");
    command.arg(&chat).arg(lib.join("libtactus.so")).arg(&model).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{question}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Paris"), "{output:?}");
    let output = run(Command::new("mono").arg(&chat).arg(lib.join("libtactus.so")).arg("/nowhere"));
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).starts_with("NOT_FOUND: "), "{output:?}");
}

/// Each block of the guide is the body of a method.
#[test]
fn the_guides_code_compiles() {
    if assembly().is_none() {
        return;
    }
    let mut code = String::from("using System;\nusing System.Threading;\nusing Tactus;\n\npublic static class Guide\n{\n");
    for (at, block) in guide_blocks("CSHARP.md", "csharp").into_iter().enumerate() {
        let parameters = if block.contains("var coordinator") { "" } else { "Coordinator coordinator, CancellationToken token" };
        code.push_str(&format!("    public static void Part{at}({parameters})\n    {{\n{block}    }}\n\n"));
    }
    code.push_str("    public static void Main()\n    {\n    }\n}\n");
    let source = scratch("csharp").join("Guide.cs");
    std::fs::write(&source, code).unwrap();
    program(&source, "Guide.exe");
}
