//! The pages of the documentation: made without a warning, complete, and with links that lead somewhere.

mod capi_support;

use std::path::PathBuf;
use std::process::Command;

use capi_support::*;

#[test]
fn the_pages_are_made_without_a_warning_and_name_every_function() {
    if !has_tools("the pages of the documentation", &["doxygen"]) {
        return;
    }
    let out = scratch("docs");
    let output = run_ok(Command::new(root().join("scripts/docs.sh")).args([env!("CARGO_PKG_VERSION")]).arg(&out));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read_to_string(out.join("html/tactus_8h.html")).unwrap();
    for function in prototypes() {
        assert!(page.contains(&format!(">{}<", function.name)), "{} has no place on the page", function.name);
    }
    for heading in ["Stepped execution", "Statuses and errors"] {
        assert!(page.contains(heading), "{heading}");
    }
}

/// What has no comment is an error.
#[test]
fn a_function_without_a_comment_is_refused() {
    if !has_tools("the pages of the documentation", &["doxygen"]) {
        return;
    }
    let tree = scratch("docs-broken");
    for part in ["include", "docs", "scripts"] {
        run_ok(Command::new("cp").arg("-R").arg(root().join(part)).arg(&tree));
    }
    std::fs::copy(root().join("README.md"), tree.join("README.md")).unwrap();
    let text = header().replace("#endif  /* TACTUS_H */", "int32_t tactus_silent(void);\n#endif  /* TACTUS_H */");
    std::fs::write(tree.join("include/tactus.h"), text).unwrap();
    let output = run(Command::new(tree.join("scripts/docs.sh")).args(["0"]).arg(tree.join("out")));
    let message = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && message.contains("tactus_silent"), "{message}");
}

fn pages() -> Vec<PathBuf> {
    let docs = std::fs::read_dir(root().join("docs")).unwrap().map(|entry| entry.unwrap().path());
    let mut pages: Vec<PathBuf> = docs.filter(|path| path.extension().is_some_and(|e| e == "md")).collect();
    pages.push(root().join("README.md"));
    pages
}

#[test]
fn links_and_names_lead_somewhere() {
    let (header, names) = (header(), prototypes());
    // What the build reads from its surroundings is spoken of, too.
    let build = std::fs::read_to_string(root().join("build.rs")).unwrap();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).map(|rest| rest.split([')', '#']).next().unwrap()) {
            assert!(link.is_empty() || page.parent().unwrap().join(link).exists(), "{}: {link}", page.display());
        }
        for path in text.split('`').skip(1).step_by(2).filter(|code| code.starts_with("docs/") || code.starts_with("include/")) {
            assert!(root().join(path).exists(), "{}: {path}", page.display());
        }
        // Every C name that a page speaks of is declared, or begins several that are.
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        for word in text.split(|c: char| !is_word(c)).filter(|word| word.starts_with("tactus_") || word.starts_with("TACTUS_")) {
            let begins = word.ends_with('_') && names.iter().any(|function| function.name.starts_with(word));
            assert!(begins || header.contains(word) || build.contains(word), "{}: {word} is not in tactus.h", page.display());
        }
    }
}

#[test]
fn the_table_of_owners_has_every_handle() {
    let text = std::fs::read_to_string(root().join("docs/OWNERSHIP.md")).unwrap();
    for line in header().lines().filter(|line| line.starts_with("typedef struct tactus_")) {
        let handle = line.split_whitespace().nth(2).unwrap();
        assert!(text.contains(&format!("`{handle}`")), "{handle}");
    }
}
