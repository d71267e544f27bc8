//! The library as a guest of a process: what it leaves alone, and what it stands. Each case is a mode of tests/c/process.c; the
//! locale, floating point and two copies in a process are in tests/capi_programs.rs.

mod capi_support;

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use capi_support::*;

fn process(what: &str, more: &[&str]) {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let binary = BUILT.get_or_init(|| program("process", Link::Shared));
    // Both outputs stay empty: the library prints nothing (FIELD_CASES 156).
    run_silent(Command::new(binary).arg(what).arg(tiny()).args(more));
}

/// FIELD_CASES 154; no threads, files, variables or timers stay behind either.
#[test]
fn it_leaves_the_process_as_it_was() {
    process("leaves-nothing", &[]);
}

#[test]
fn a_host_thread_of_64_kib_can_call_anything() {
    process("small-stacks", &[]);
}

/// FIELD_CASES 127.
#[test]
fn a_hundred_coordinators_take_the_memory_of_one() {
    process("cycles", &[]);
}

/// FIELD_CASES 154. No call ends early, nothing that is said changes, and no handler runs on a thread of ours.
#[test]
fn signals_every_millisecond_change_nothing() {
    process("signals", &[]);
}

/// FIELD_CASES 155.
#[test]
fn a_fork_in_the_middle_of_a_dispatch_harms_neither_process() {
    process("fork", &[]);
}

/// FIELD_CASES 152: below a directory whose name is no ASCII, and which nobody may write.
#[test]
fn a_model_can_be_loaded_by_who_may_only_read_it() {
    // Not below target: the user it runs as need not be able to reach that.
    let dir = std::env::temp_dir().join(format!("tactus модель é {}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let (model, binary) = (dir.join("模型.gguf"), dir.join("process"));
    std::fs::copy(tiny(), &model).unwrap();
    // By another process: one that this process holds open for writing while it starts others cannot be run.
    run_ok(Command::new("cp").arg(program("process", Link::Static)).arg(&binary));
    for path in [&model, &binary, &dir] {
        let mode = if path == &model { 0o444 } else { 0o555 };
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let output = run(Command::new(&binary).arg("read-only").arg(&model).arg(&dir));
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).unwrap();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(output.status.success() && output.stdout.is_empty() && output.stderr.is_empty(), "{output:?}");
}

/// Stays loaded after dlclose, as thread-local destructors of ours may still run; tests/c/opens.c closes and opens it again.
#[test]
fn the_shared_library_is_marked_to_stay() {
    let flags = said(Command::new("readelf").args(["-d", "-W"]).arg(library().join("lib/libtactus.so")));
    assert!(flags.lines().any(|line| line.contains("(FLAGS_1)") && line.contains("NODELETE")), "{flags}");
}
