//! Building and running C programs against the library that `make lib` makes.
#![allow(dead_code)] // each test file uses its part

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

pub const TINY: &str = "tests/data/gguf/llama-f32.gguf";

pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The tiny model's path.
pub fn tiny() -> String {
    root().join(TINY).display().to_string()
}

/// `target/tactus`, up to date.
pub fn library() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        run_ok(Command::new("make").args(["--no-print-directory", "lib", "examples"]).current_dir(root()));
        root().join("target/tactus")
    })
}

/// Whether each of `commands` is on the PATH. Where one is not, says what goes untested; that is a failure where CI_REQUIRE_HOSTS is
/// set, as it is by .ci/run, which installs them.
pub fn has_tools(untested: &str, commands: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there = |command: &&&str| std::env::split_paths(&path).any(|dir| dir.join(command).is_file());
    let missing: Vec<&&str> = commands.iter().filter(|command| !is_there(command)).collect();
    assert!(missing.is_empty() || std::env::var_os("CI_REQUIRE_HOSTS").is_none(), "{untested}: {missing:?} are not installed");
    if !missing.is_empty() {
        eprintln!("{untested}: not tested, {missing:?} are not installed");
    }
    missing.is_empty()
}

/// The small chat model that `make models` fetches. Its absence is told and treated as that of a tool.
pub fn smollm2() -> Option<PathBuf> {
    let path = root().join("target/models/SmolLM2-135M-Instruct.Q4_1.gguf");
    let is_there = path.exists();
    assert!(is_there || std::env::var_os("CI_REQUIRE_HOSTS").is_none(), "{} is not there: `make models`", path.display());
    if !is_there {
        eprintln!("{} is not there (`make models` fetches it): not tested", path.display());
    }
    is_there.then_some(path)
}

/// The blocks of code in a guide of docs/.
pub fn guide_blocks(guide: &str, language: &str) -> Vec<String> {
    let text = std::fs::read_to_string(root().join("docs").join(guide)).unwrap();
    let start = format!("```{language}\n");
    let blocks: Vec<String> = text.split(&start).skip(1).map(|rest| rest.split("```").next().unwrap().to_string()).collect();
    assert!(blocks.len() > 3, "{guide}: {} blocks of {language}", blocks.len());
    blocks
}

/// The README's program in a language, which is complete and short.
pub fn readme_program(language: &str) -> String {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    let start = format!("```{language}\n");
    let program = readme.split(&start).nth(1).unwrap_or_else(|| panic!("README.md has no {language} program"));
    let program = program.split("```").next().unwrap().to_string();
    assert!(program.lines().count() < 40, "{language}: {} lines", program.lines().count());
    program
}

/// What a successful command prints.
pub fn said(command: &mut Command) -> String {
    String::from_utf8(run_ok(command).stdout).unwrap()
}

/// Where programs of these tests go.
pub fn scratch(name: &str) -> PathBuf {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join("capi").join(name);
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

pub fn header() -> String {
    std::fs::read_to_string(root().join("include/tactus.h")).unwrap()
}

/// How a program gets the library.
#[derive(Clone, Copy, PartialEq)]
pub enum Link {
    Shared,
    Static,
    /// Not at all: it opens it itself.
    None,
}

/// Compiles `source` with warnings as errors.
pub fn compile(source: &Path, binary: &str, compiler: &[&str], link: Link) -> PathBuf {
    let library = library();
    let out = scratch("bin").join(binary);
    let mut command = Command::new(compiler[0]);
    command.args(&compiler[1..]).args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-g", "-O1", "-pthread"]);
    command.arg("-I").arg(library.join("include")).arg("-I").arg(root().join("tests/c")).arg(source).arg("-o").arg(&out);
    match link {
        Link::Shared => {
            let lib = library.join("lib");
            command.arg("-L").arg(&lib).arg("-ltactus").arg(format!("-Wl,-rpath,{}", lib.display())).arg("-lm");
        }
        Link::Static => {
            command.arg(library.join("lib/libtactus.a")).args(["-lgcc_s", "-lm", "-ldl"]);
        }
        Link::None => {
            command.arg("-ldl");
        }
    }
    run_ok(&mut command);
    out
}

/// The C program `tests/c/<name>.c`, as C11.
pub fn program(name: &str, link: Link) -> PathBuf {
    let suffix = match link {
        Link::Shared => "shared",
        Link::Static => "static",
        Link::None => "open",
    };
    compile(&root().join(format!("tests/c/{name}.c")), &format!("{name}-{suffix}"), &["cc", "-std=c11"], link)
}

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|e| panic!("{command:?}: {e}"))
}

/// Runs a command that must succeed; its output goes into the failure.
pub fn run_ok(command: &mut Command) -> Output {
    let output = run(command);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Runs a test program, which must succeed and leave both outputs empty: the library prints nothing (FIELD_CASES 156).
pub fn run_silent(command: &mut Command) {
    let output = run_ok(command);
    assert_eq!(
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)),
        ("".into(), "".into()),
        "{command:?}"
    );
}

/// A function of the header.
#[derive(Debug)]
pub struct Prototype {
    pub returns: String,
    pub name: String,
    /// Type and name.
    pub parameters: Vec<(String, String)>,
}

/// Every function the header declares.
pub fn prototypes() -> Vec<Prototype> {
    let text = without_comments(&header());
    let code: Vec<&str> = text.lines().filter(|line| !line.starts_with('#') && !line.starts_with("extern \"C\"")).collect();
    let statements = code.join(" ");
    let statements = statements.split(';').map(|s| s.split_whitespace().collect::<Vec<_>>().join(" "));
    let functions = statements.filter(|s| !s.starts_with("typedef") && s.ends_with(')'));
    functions
        .map(|statement| {
            let (head, parameters) = statement.strip_suffix(')').unwrap().split_once('(').unwrap();
            let at = head.rfind("tactus_").unwrap();
            let parameters = parameters.split(", ").filter(|p| *p != "void").map(split_declaration).collect();
            Prototype { returns: head[..at].trim().to_string(), name: head[at..].to_string(), parameters }
        })
        .collect()
}

fn split_declaration(declaration: &str) -> (String, String) {
    let at = declaration.rfind([' ', '*']).unwrap() + 1;
    (declaration[..at].trim().to_string(), declaration[at..].to_string())
}

pub fn without_comments(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find("/*") {
        out.push_str(&rest[..at]);
        rest = rest[at..].split_once("*/").unwrap().1;
    }
    out.push_str(rest);
    out.lines().map(|line| line.split("//").next().unwrap()).collect::<Vec<_>>().join("\n")
}
