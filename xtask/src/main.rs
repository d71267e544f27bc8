//! Developer commands of the repository.
//!
//! `cargo xtask header` writes `include/tactus.h` from `src/capi`; `cargo xtask header --check` fails where the committed one is
//! not what it would write.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Files of `src/capi` that declare something, in the header's order, each with its heading.
const SECTIONS: &[(&str, &str)] = &[
    ("version", "Versions"),
    ("error", "Statuses and errors"),
    ("string", "Strings the library makes"),
    ("ids", "Lists of ids the library makes"),
    ("log", "Log"),
    ("config", "Configuration"),
    ("artifacts", "Model artifacts"),
    ("coordinator", "Coordinator"),
    ("request", "Requests"),
    ("message", "Messages of a chat"),
    ("options", "Options of requests and sequences"),
    ("response", "Responses"),
    ("channel", "Channels"),
    ("hook", "Boundary scheduling"),
    ("stepped", "Stepped execution"),
    ("system_prompt", "Saved system prompts"),
];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let outcome = match args.as_slice() {
        ["header"] => header().and_then(|text| write(&text)),
        ["header", "--check"] => header().and_then(|text| check(&text)),
        _ => Err("usage: cargo xtask header [--check]".to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

fn committed() -> PathBuf {
    root().join("include/tactus.h")
}

fn write(text: &str) -> Result<(), String> {
    std::fs::write(committed(), text).map_err(|e| format!("{}: {e}", committed().display()))
}

fn check(text: &str) -> Result<(), String> {
    let found = std::fs::read_to_string(committed()).map_err(|e| format!("{}: {e}", committed().display()))?;
    if found == text {
        return Ok(());
    }
    let line = found.lines().zip(text.lines()).take_while(|(a, b)| a == b).count() + 1;
    Err(format!("include/tactus.h is not what src/capi declares, from line {line}; run `cargo xtask header` and commit it"))
}

/// The header's text.
fn header() -> Result<String, String> {
    let config = cbindgen::Config::from_file(root().join("cbindgen.toml"))?;
    let mut builder = cbindgen::Builder::new().with_config(config);
    let mut headings = Vec::new();
    for (file, heading) in SECTIONS {
        let path = root().join(format!("src/capi/{file}.rs"));
        let source = std::fs::read_to_string(&path).map_err(|e| format!("{}: {e}", path.display()))?;
        if let Some(first) = first_function(&source) {
            headings.push((first, *heading));
        }
        builder = builder.with_src(path);
    }
    let bindings = builder.generate().map_err(|e| format!("cbindgen: {e}"))?;
    let mut bytes = Vec::new();
    bindings.write(&mut bytes);
    let text = String::from_utf8(bytes).map_err(|e| format!("cbindgen wrote something that is not UTF-8: {e}"))?;
    headings.iter().try_fold(text, |text, (function, heading)| insert_heading(&text, function, heading))
}

/// Name of the first exported function of a file.
fn first_function(source: &str) -> Option<String> {
    let exported = &source[source.find("#[unsafe(no_mangle)]")?..];
    let name = &exported[exported.find("extern \"C\" fn ")? + "extern \"C\" fn ".len()..];
    Some(name[..name.find('(')?].to_string())
}

/// Puts a heading before the comment of the declaration of `function`.
fn insert_heading(text: &str, function: &str, heading: &str) -> Result<String, String> {
    let declaration = text.find(&format!(" {function}(")).or_else(|| text.find(&format!("*{function}(")));
    let declaration = declaration.ok_or_else(|| format!("the header does not declare {function}"))?;
    let comment = text[..declaration].rfind("/**").ok_or_else(|| format!("{function} has no comment"))?;
    let rule = "-".repeat(100_usize.saturating_sub(heading.len()));
    Ok(format!("{}/* ---- {heading} {rule} */\n\n{}", &text[..comment], &text[comment..]))
}
