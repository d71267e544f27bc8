//! C programs, built with warnings as errors against the released library and run; a part of them under valgrind.

mod capi_support;

use std::process::Command;

use capi_support::*;

fn run_program(name: &str, arguments: &[&str]) {
    run_silent(Command::new(program(name, Link::Shared)).args(arguments));
}

/// FIELD_CASES 131, 133.
#[test]
fn handles() {
    run_program("handles", &[]);
    run_silent(&mut Command::new(program("handles", Link::Static)));
}

/// FIELD_CASES 126, 156.
#[test]
fn log() {
    run_program("log", &[&tiny()]);
}

/// FIELD_CASES 124, 153.
#[test]
fn json() {
    run_program("json", &[&tiny()]);
}

/// FIELD_CASES 84, 86, 87, 139.
#[test]
fn channels() {
    run_program("channels", &[&tiny()]);
}

/// FIELD_CASES 137, 138, 139.
#[test]
fn threads() {
    run_program("threads", &[&tiny()]);
}

/// FIELD_CASES 129, 130.
#[test]
fn lifetimes() {
    run_program("lifetimes", &[&tiny()]);
    run_program("lifetimes", &[&tiny(), "exit"]);
    for _ in 0..20 {
        run_program("lifetimes", &[&tiny(), "exit-running"]);
    }
}

/// FIELD_CASES 19, 23, 24, 26, 124, 152.
#[test]
fn text() {
    let dir = scratch("paths").join("модель/日本\u{3000}語 %20/e\u{301}");
    std::fs::create_dir_all(&dir).unwrap();
    let copy = dir.join("é.gguf");
    std::fs::copy(tiny(), &copy).unwrap();
    run_program("text", &[&tiny(), copy.to_str().unwrap()]);
}

/// FIELD_CASES 10, 11, 54, 109, 133.
#[test]
fn errors() {
    run_program("errors", &[&tiny(), scratch("errors").to_str().unwrap()]);
}

/// Stepped execution and boundary hooks.
#[test]
fn stepped() {
    run_program("stepped", &[&tiny()]);
}

/// FIELD_CASES 88, 127.
#[test]
fn memory() {
    run_program("memory", &[&tiny()]);
}

/// FIELD_CASES 153, 154; DECISIONS 15.
#[test]
fn environment() {
    let locales = String::from_utf8_lossy(&run_ok(Command::new("locale").arg("-a")).stdout).into_owned();
    let german = locales.lines().find(|name| name.to_lowercase().replace('-', "") == "de_de.utf8");
    let tiny = tiny();
    let arguments: Vec<&str> = [tiny.as_str()].into_iter().chain(german).collect();
    if german.is_none() {
        eprintln!(
            "no de_DE.UTF-8 locale here (`localedef -i de_DE -f UTF-8 de_DE.UTF-8` makes one): decimal commas are not tested"
        );
    }
    run_program("environment", &arguments);
}

/// FIELD_CASES 155.
#[test]
fn forks() {
    run_program("forks", &[&tiny()]);
}

/// FIELD_CASES 130, 151.
#[test]
fn opens() {
    let library = library().join("lib/libtactus.so");
    let dir = scratch("opens");
    let copy = dir.join("libcopy.so");
    std::fs::copy(&library, &copy).unwrap();
    let clash = dir.join("libclash.so");
    run_ok(Command::new("cc").args(["-shared", "-fPIC", "-w", "-o"]).arg(&clash).arg(root().join("tests/c/clash.c")));
    let binary = program("opens", Link::None);
    for order in ["clash-first", "library-first"] {
        run_silent(Command::new(&binary).args([&library, &copy, &clash]).arg(tiny()).arg(order));
    }
}

/// FIELD_CASES 131, 134: every function with each pointer null in turn, and with freed, foreign and made-up handles. The program is written
/// from the header, so that no function is left out.
#[test]
fn every_function_with_each_argument_wrong() {
    let source = scratch("wrong").join("wrong.c");
    std::fs::write(&source, wrong_arguments()).unwrap();
    let binary = compile(&source, "wrong", &["cc", "-std=c11"], Link::Shared);
    run_silent(Command::new(&binary).arg(tiny()));
}

/// Parameters that may be null.
fn nullable(function: &str, parameter: &str) -> bool {
    ["user_data", "cuda_stream", "out_sequence"].contains(&parameter)
        || (function.ends_with("_destroy") && !parameter.starts_with("out"))
        || (function == "tactus_request_set_channel" && parameter == "channel")
        || (function == "tactus_config_set_artifacts" && parameter == "artifacts")
}

fn wrong_arguments() -> String {
    let kinds = ["string", "ids", "config", "artifacts", "coordinator", "request", "response", "channel", "stepped"];
    let mut calls = String::new();
    for function in prototypes() {
        if function.returns != "int32_t" || function.parameters.is_empty() {
            continue;
        }
        let valid: Vec<String> =
            function.parameters.iter().map(|(kind, name)| valid_argument(&function.name, kind, name)).collect();
        let is_predicate = ["_is_", "_owns_", "_supports_", "_succeeded"].iter().any(|part| function.name.contains(part));
        for (at, (kind, name)) in function.parameters.iter().enumerate() {
            let handle = kinds.iter().find(|k| kind.trim_start_matches("const ") == format!("tactus_{k}_t *")).copied();
            let is_handle = handle.is_some() || kind.contains("tactus_boundary_t *") && !kind.contains("**");
            let mut wrong: Vec<String> = Vec::new();
            if kind.ends_with('*') && !nullable(&function.name, name) {
                wrong.push("NULL".into());
            }
            if let Some(handle) = handle {
                let other = if handle == "config" { "request" } else { "config" };
                wrong.extend([format!("(void *)freed_{handle}"), format!("(void *){other}"), "(void *)&here".into()]);
            }
            // There is no boundary outside a hook: it is what is wrong, whatever else is.
            if name != "boundary" && function.name.starts_with("tactus_boundary_") {
                continue;
            }
            let said = if kind == "const void *" { "handle" } else { name.trim_end_matches('_') };
            for argument in wrong {
                let mut arguments = valid.clone();
                arguments[at] = argument;
                let call = format!("{}({})", function.name, arguments.join(", "));
                let expected = if is_predicate && is_handle { "0" } else { "TACTUS_ERR_INVALID_ARGUMENT" };
                calls.push_str(&format!("    tactus_last_error_clear();\n    EXPECT({expected}, {call});\n"));
                calls.push_str(&format!("    CHECK(strstr(tactus_last_error_message(), \"{said}\") != NULL);\n"));
            }
        }
    }
    let declare = |kind: &&str| format!("    tactus_{kind}_t *{kind} = NULL, *freed_{kind} = NULL;\n");
    let declarations: String = kinds.iter().map(declare).collect();
    let end = |kind: &&str| format!("    OK(tactus_{kind}_destroy({kind}));\n");
    let ends: String = kinds.iter().rev().map(end).collect();
    let mut made = String::new();
    for (prefix, last) in [("freed_", false), ("", true)] {
        let p = prefix;
        made.push_str(&format!(
            "    OK(tactus_config_create(&{p}config));\n    OK(tactus_config_set_engine_dir({p}config, argv[1], NUL));\n\
             OK(tactus_artifacts_load({p}config, &{p}artifacts));\n    {p}coordinator = new_coordinator(argv[1]);\n\
             {p}request = new_request(3, 2, 1);\n    {p}response = dispatch({p}coordinator, {p}request);\n\
             OK(tactus_channel_create(&{p}channel));\n    OK(tactus_capabilities_json(&{p}string));\n\
             OK(tactus_artifacts_tokenize({p}artifacts, \"a\", 1, 0, 0, &{p}ids));\n\
             OK(tactus_coordinator_begin_stepped({p}coordinator, {p}request, 1, 0, NULL, &{p}stepped));\n"
        ));
        if !last {
            made.push_str(
                &kinds.iter().rev().map(|kind| format!("    OK(tactus_{kind}_destroy({p}{kind}));\n")).collect::<String>(),
            );
        }
    }
    format!(
        "#include \"check.h\"\n\nint main(int argc, char **argv)\n{{\n    long long room[64];\n    int32_t here = 0;\n    const char *words[] = {{ \"x\" }};\n    (void)argc, (void)room;\n\
         {declarations}{made}\n{calls}\n{ends}    return 0;\n}}\n"
    )
}

/// An argument that is fine, so that another one is what is wrong.
fn valid_argument(function: &str, kind: &str, name: &str) -> String {
    let plain = kind.trim_start_matches("const ");
    if plain.starts_with("tactus_") && plain.ends_with("_t *") {
        return match plain {
            "tactus_boundary_t *" => "NULL".into(), // there is none outside a hook
            _ => plain.trim_start_matches("tactus_").trim_end_matches("_t *").to_string(),
        };
    }
    match kind {
        "const void *" => "config".into(),
        "void *" => "NULL".into(),
        "const char *" if function == "tactus_request_add_message_json" => r#""{\"role\":\"user\"}""#.into(),
        "const char *" if function == "tactus_request_set_tools_json" => "\"[]\"".into(),
        "const char *" => "\"{}\"".into(),
        "const char *const *" => "words".into(),
        kind if kind.ends_with('*') => "(void *)room".into(),
        kind if kind.ends_with("_t") && (kind.contains("callback") || kind.contains("hook")) => "NULL".into(),
        "size_t" if name.ends_with("_len") => "NUL".into(),
        "size_t" => "1".into(),
        "float" | "double" => "1".into(),
        _ => "0".into(),
    }
}

/// FIELD_CASES 127, 131: no leak and no invalid access.
#[test]
fn under_valgrind() {
    if Command::new("valgrind").arg("--version").output().is_err() {
        eprintln!("no valgrind here: leaks and invalid accesses are not looked for");
        return;
    }
    let tiny = tiny();
    for (name, arguments) in [
        ("handles", vec![]),
        ("json", vec![tiny.as_str()]),
        ("channels", vec![tiny.as_str()]),
        ("stepped", vec![tiny.as_str()]),
        ("lifetimes", vec![tiny.as_str(), "quick"]),
    ] {
        let mut command = Command::new("valgrind");
        command.args(["--quiet", "--error-exitcode=9", "--leak-check=full", "--show-leak-kinds=definite,indirect"]);
        command.args(["--errors-for-leak-kinds=definite,indirect", "--fair-sched=yes"]);
        run_silent(command.arg(program(name, Link::Shared)).args(arguments));
    }
}

/// The README's own program, as it stands there, on the tiny model.
#[test]
fn the_readmes_program_compiles_and_answers() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let code = readme.split("```c\n").nth(1).unwrap().split("```").next().unwrap();
    let source = scratch("readme").join("hello.c");
    std::fs::write(&source, code).unwrap();
    for link in [Link::Shared, Link::Static] {
        let binary = compile(&source, if link == Link::Shared { "hello" } else { "hello-static" }, &["cc", "-std=c11"], link);
        let output = run_ok(Command::new(&binary).args([&tiny(), "a b c"]));
        assert!(!output.stdout.is_empty() && output.stderr.is_empty());
    }
}

#[test]
fn the_examples_compile_as_c_and_as_cplusplus() {
    for entry in std::fs::read_dir(root().join("examples_c")).unwrap() {
        let source = entry.unwrap().path();
        let name = source.file_stem().unwrap().to_str().unwrap().to_string();
        if ["chat", "bench", "batch"].contains(&name.as_str()) {
            assert!(std::fs::read_to_string(&source).unwrap().lines().count() < 200, "{name}");
        }
        compile(&source, &format!("{name}-c11"), &["cc", "-std=c11"], Link::Shared);
        compile(&source, &format!("{name}-cpp"), &["c++", "-x", "c++", "-std=c++17"], Link::Shared);
    }
}

#[test]
fn the_examples_run() {
    library();
    let (tiny, bin) = (tiny(), root().join("target/examples_c"));
    let said = |command: &mut Command| String::from_utf8(run_ok(command).stdout).unwrap();
    let chat = said(Command::new(bin.join("chat")).args(["--model", &tiny, "--prompt", "a b", "--max-tokens", "5"]));
    assert!(chat.contains("generated ") && chat.contains("first token"), "{chat}");
    let bench = said(
        Command::new(bin.join("bench")).args(["--model", &tiny, "--prompt", "20", "--gen", "5", "--batch", "1,3", "--json"]),
    );
    let lines: Vec<serde_json::Value> = bench.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.iter().map(|line| line["batch"].as_i64()).collect::<Vec<_>>(), [Some(1), Some(3)]);
    for key in ["prefill_tokens_per_s", "decode_tokens_per_s", "ttft_ms", "load_to_first_token_ms"] {
        assert!(lines.iter().all(|line| line[key].as_f64().unwrap() > 0.0), "{key}");
    }
    let batch = said(Command::new(bin.join("batch")).args(["--model", &tiny, "a", "b c", "d"]));
    assert_eq!(batch.matches("--- ").count(), 3, "{batch}");
    let refused = run(Command::new(bin.join("chat")).args(["--model", "/nowhere", "--prompt", "x"]));
    assert!(refused.status.code() == Some(1) && String::from_utf8_lossy(&refused.stderr).contains("NOT_FOUND: "));
}
