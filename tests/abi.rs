//! The ABI holds still: what the header declares, against include/tactus.abi. FIELD_CASES 122.

mod capi_support;

use std::process::{Command, Output};

use capi_support::*;

fn abi(header: &str, record: &str, name: &str, arguments: &[&str]) -> (Output, String) {
    let dir = scratch("abi");
    let (header_path, record_path) = (dir.join(format!("{name}.h")), dir.join(format!("{name}.abi")));
    std::fs::write(&header_path, header).unwrap();
    std::fs::write(&record_path, record).unwrap();
    let mut command = Command::new("python3");
    command.arg(root().join("scripts/abi.py")).arg("--header").arg(&header_path).arg("--baseline").arg(&record_path);
    let output = run(command.args(arguments));
    (output, std::fs::read_to_string(&record_path).unwrap())
}

fn record() -> String {
    std::fs::read_to_string(root().join("include/tactus.abi")).unwrap()
}

/// The check of `make lint`.
#[test]
fn the_header_is_what_is_recorded() {
    run_silent(Command::new("python3").arg(root().join("scripts/abi.py")));
    let functions = record().lines().filter(|line| line.starts_with("function ")).count();
    assert_eq!(functions, prototypes().len());
}

#[test]
fn removals_and_changes_are_refused() {
    let header = header();
    for (what, from, to) in [
        ("gone: function const char * tactus_version(void)", "const char *tactus_version(void);", ""),
        (
            "changed: function int32_t tactus_config_set_max_batch",
            "set_max_batch(tactus_config_t *config, int32_t sequences)",
            "set_max_batch(tactus_config_t *config, int64_t sequences)",
        ),
        (
            "changed: function int32_t tactus_string_destroy",
            "tactus_string_destroy(tactus_string_t *string)",
            "tactus_string_destroy(const tactus_string_t *string)",
        ),
        ("gone: constant TACTUS_ERR_BUSY", "#define TACTUS_ERR_BUSY 10", ""),
        ("changed: constant TACTUS_KV_BF16 2", "#define TACTUS_KV_BF16 2", "#define TACTUS_KV_BF16 3"),
        (
            "changed: constant TACTUS_NUL_TERMINATED -1 bytes 8",
            "TACTUS_NUL_TERMINATED SIZE_MAX",
            "TACTUS_NUL_TERMINATED UINT32_MAX",
        ),
        (
            "changed: callback int32_t tactus_load_progress_callback_t",
            "(uint64_t done, uint64_t total, void *user_data)",
            "(uint64_t done, void *user_data)",
        ),
        ("is 0, expected at least the recorded", "#define TACTUS_ABI_VERSION ", "#define TACTUS_ABI_VERSION 0 * "),
    ] {
        assert!(header.contains(from), "{from}");
        for arguments in [&[][..], &["--record"]] {
            let (output, kept) = abi(&header.replace(from, to), &record(), "changed", arguments);
            let message = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && message.contains(what), "{what}: {message}");
            assert_eq!(kept, record());
        }
    }
}

#[test]
fn an_addition_needs_a_higher_version_and_a_new_record() {
    let added = header()
        .replace("const char *tactus_version(void);", "const char *tactus_version(void);\nvoid tactus_fresh(int32_t how);");
    let (output, _) = abi(&added, &record(), "added", &["--record"]);
    let message = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && message.contains("without raising") && message.contains("tactus_fresh"), "{message}");
    let version = tactus::capi::TACTUS_ABI_VERSION;
    let raised =
        added.replace(&format!("#define TACTUS_ABI_VERSION {version}"), &format!("#define TACTUS_ABI_VERSION {}", version + 1));
    let (output, _) = abi(&raised, &record(), "raised", &[]);
    assert!(!output.status.success() && String::from_utf8_lossy(&output.stderr).contains("make abi"));
    let (output, kept) = abi(&raised, &record(), "raised", &["--record"]);
    assert!(output.status.success() && kept.contains("function void tactus_fresh(int32_t)"));
    let (output, _) = abi(&raised, &kept, "raised", &[]);
    assert!(output.status.success());
}

/// Another name for a parameter, other comments and another order break nobody.
#[test]
fn what_breaks_nobody_is_accepted() {
    let header = header();
    let renamed = header.replace("tactus_ids_destroy(tactus_ids_t *ids)", "tactus_ids_destroy(tactus_ids_t *list)");
    let renamed = renamed.replace("const char *tactus_version(void);", "");
    let renamed = renamed.replace(
        "int32_t tactus_abi_version(void);",
        "int32_t tactus_abi_version(void);\nconst char * tactus_version(\n    void);",
    );
    assert!(renamed != header);
    let (output, _) = abi(&renamed, &record(), "renamed", &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
