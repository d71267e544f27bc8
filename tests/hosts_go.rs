//! The Go side: its tests with and without cgo, under the race detector, the README's program and the example.

mod capi_support;

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use capi_support::*;

fn go(arguments: &[&str], directory: &Path) -> Command {
    let mut command = Command::new("go");
    command.args(arguments).current_dir(directory).env("GOFLAGS", "-buildvcs=false");
    command.env("TACTUS_TEST_LIBRARY", library().join("lib/libtactus.so")).env("TACTUS_TEST_MODEL", tiny());
    if let Some(model) = smollm2() {
        command.env("TACTUS_TEST_CHAT_MODEL", model);
    }
    command
}

#[test]
fn the_packages_own_tests_pass_with_and_without_cgo() {
    if !has_tools("the Go binding", &["go", "gofmt"]) {
        return;
    }
    let package = root().join("bindings/go");
    assert_eq!(said(Command::new("gofmt").arg("-l").arg(&package)), "");
    run_ok(&mut go(&["vet", "./..."], &package));
    for (cgo, arguments) in [("0", &["test", "-count=1", "-v", "."][..]), ("1", &["test", "-race", "-count=1", "-v", "."])] {
        let report = said(go(arguments, &package).env("CGO_ENABLED", cgo));
        assert!(report.contains("--- PASS: TestTheEndOfAContextEndsADispatch") && report.contains("\nok"), "{report}");
        assert!(smollm2().is_none() || !report.contains("--- SKIP"), "{report}");
    }
}

/// The README's program as it stands there, in a module of its own, and the example, on SmolLM2.
#[test]
fn the_readmes_program_and_the_example_answer() {
    if !has_tools("Go programs", &["go"]) {
        return;
    }
    let Some(model) = smollm2() else { return };
    let (package, dir, library) = (root().join("bindings/go"), scratch("go"), library().join("lib/libtactus.so"));
    std::fs::write(dir.join("main.go"), readme_program("go")).unwrap();
    let package_module = std::fs::read_to_string(package.join("go.mod")).unwrap();
    let module = package_module.replace("module tactus\n", "module hello\n");
    let require = format!("\nrequire tactus v0.0.0\n\nreplace tactus => {}\n", package.display());
    std::fs::write(dir.join("go.mod"), module + &require).unwrap();
    std::fs::copy(package.join("go.sum"), dir.join("go.sum")).unwrap();
    run_ok(&mut go(&["build", "-o", "hello", "."], &dir));
    let question = "What is the capital of France? Answer in one sentence.";
    let answer = said(Command::new(dir.join("hello")).arg(&library).arg(&model).arg(question));
    assert!(answer.contains("Paris"), "{answer}");

    run_ok(go(&["build", "-o"], &package).arg(dir.join("chat")).arg("./example/chat"));
    let mut command = Command::new(dir.join("chat"));
    let mut child = command.arg(&library).arg(&model).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    writeln!(child.stdin.take().unwrap(), "{question}").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Paris"), "{output:?}");
    let output = run(Command::new(dir.join("chat")).arg(&library).arg("/nowhere"));
    assert!(output.status.code() == Some(1) && String::from_utf8_lossy(&output.stderr).starts_with("NOT_FOUND: "), "{output:?}");
}

/// Each block of the guide is the body of a function.
#[test]
fn the_guides_code_compiles() {
    if !has_tools("the Go guide", &["go"]) {
        return;
    }
    let (package, dir) = (root().join("bindings/go"), scratch("go-guide"));
    let mut code =
        String::from("package guide\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"fmt\"\n\t\"tactus\"\n\t\"time\"\n)\n\n");
    code.push_str("var _, _, _ = errors.New, fmt.Sprint, time.Now\n");
    for block in guide_blocks("GO.md", "go") {
        let body = format!("{{\n{block}return nil\n}}");
        code.push_str(&format!(
            "\nfunc _(ctx context.Context, coordinator *tactus.Coordinator) error {{\nif true {body}\nreturn nil\n}}\n"
        ));
    }
    std::fs::write(dir.join("guide.go"), code).unwrap();
    let module = std::fs::read_to_string(package.join("go.mod")).unwrap().replace("module tactus\n", "module guide\n");
    let require = format!("\nrequire tactus v0.0.0\n\nreplace tactus => {}\n", package.display());
    std::fs::write(dir.join("go.mod"), module + &require).unwrap();
    std::fs::copy(package.join("go.sum"), dir.join("go.sum")).unwrap();
    run_ok(&mut go(&["build", "."], &dir));
}
