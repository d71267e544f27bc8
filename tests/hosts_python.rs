//! The Python side: its tests, the README's program, the example and an installed package, against the released library.

mod capi_support;

use std::io::Write;
use std::process::{Command, Stdio};

use capi_support::*;

fn python(package: &str) -> Command {
    let mut command = Command::new("python3");
    command.env("PYTHONPATH", root().join(package)).env("PYTHONDONTWRITEBYTECODE", "1");
    command.env("TACTUS_TEST_LIBRARY", library().join("lib/libtactus.so")).env("TACTUS_TEST_MODEL", tiny());
    command
}

#[test]
fn the_packages_own_tests_pass() {
    if !has_tools("the Python binding", &["python3"]) {
        return;
    }
    let mut command = python("bindings/python");
    if let Some(model) = smollm2() {
        command.env("TACTUS_TEST_CHAT_MODEL", model);
    }
    command.args(["-W", "error", "-m", "unittest", "discover", "-s"]).arg(root().join("bindings/python/tests"));
    let output = run_ok(&mut command);
    let report = String::from_utf8_lossy(&output.stderr);
    assert!(report.contains("\nOK") && !report.contains("Ran 0 tests") && output.stdout.is_empty(), "{report}");
}

/// The README's program as it stands there, and the example, on SmolLM2.
#[test]
fn the_readmes_program_and_the_example_answer() {
    if !has_tools("Python programs", &["python3"]) {
        return;
    }
    let Some(model) = smollm2() else { return };
    let program = readme_program("python");
    let lib = library().join("lib");
    let mut command = python("bindings/python");
    command
        .env("LD_LIBRARY_PATH", &lib)
        .args(["-c", &program])
        .arg(&model)
        .arg("What is the capital of France? Answer in one sentence.");
    let answer = said(&mut command);
    assert!(answer.contains("Paris"), "{answer}");
    let mut command = python("bindings/python");
    command.arg(root().join("bindings/python/examples/chat.py")).arg(&model).arg(lib.join("libtactus.so"));
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"What is the capital of France? Answer in one sentence.\n").unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && String::from_utf8_lossy(&output.stdout).contains("Paris"), "{output:?}");
    // A failure reaches the user in the library's words.
    let mut command = python("bindings/python");
    let output = run(command.arg(root().join("bindings/python/examples/chat.py")).arg("/nowhere").arg(lib.join("libtactus.so")));
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).starts_with("NOT_FOUND: "), "{output:?}");
}

#[test]
fn the_guides_code_runs_from_top_to_bottom() {
    if !has_tools("the Python guide", &["python3"]) {
        return;
    }
    let Some(model) = smollm2() else { return };
    let code = guide_blocks("PYTHON.md", "python").join("\n");
    let library = library().join("lib/libtactus.so");
    let code = format!("LIBRARY, MODEL = {:?}, {:?}\n{code}", library.display().to_string(), model.display().to_string());
    let output = run_ok(python("bindings/python").args(["-W", "error", "-c", &code]));
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.stderr.is_empty() && said.trim_end().ends_with("\n1"), "{output:?}");
}
