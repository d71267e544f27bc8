#!/usr/bin/env python3
"""Writes the bindings' tables of functions and constants from include/tactus.abi.

    bindings.py             checks: fails where a table is not what it would write
    bindings.py --write     writes them

Each table declares every function of the header, so that a program can call what its language's classes do not wrap.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NOTE = "Generated from include/tactus.abi by `make abi`. Do not edit."


def read():
    version, handles, callbacks, constants, functions = 0, [], {}, [], []
    for line in (ROOT / "include" / "tactus.abi").read_text().splitlines():
        if line.startswith("#"):
            continue
        kind, rest = line.split(" ", 1)
        if kind == "version":
            version = int(rest)
        elif kind == "handle":
            handles.append(rest)
        elif kind == "constant":
            name, value, _, size = rest.split()
            constants.append((name, int(value), int(size)))
        else:
            returns, name, parameters = re.fullmatch(r"(.*?)(\w+)\((.*)\)", rest).groups()
            parameters = [] if parameters == "void" else parameters.split(", ")
            if kind == "callback":
                callbacks[name] = (returns.strip(), parameters)
            else:
                functions.append((returns.strip(), name, parameters))
    return version, handles, callbacks, constants, functions


def is_handle(kind):
    return re.fullmatch(r"(const )?tactus_\w+_t \*", kind)


# ---- Python -------------------------------------------------------------------------------------------------------------------------

CTYPES = {
    "int32_t": "c_int32", "int64_t": "c_int64", "uint32_t": "c_uint32", "uint64_t": "c_uint64", "size_t": "c_size_t",
    "float": "c_float", "double": "c_double", "void": "None", "const char *": "c_char_p", "void *": "c_void_p", "const void *": "c_void_p",
    "const char *const *": "POINTER(c_char_p)",
}  # fmt: skip


def python_type(kind):
    if kind in CTYPES:
        return CTYPES[kind]
    if is_handle(kind):
        return "c_void_p"
    if kind.endswith("_callback_t") or kind.endswith("_hook_t"):
        return kind
    if kind == "const char **":
        return "POINTER(c_void_p)"  # a span: bytes with a length, not a NUL-terminated text
    if kind.endswith("**"):
        inner = kind[:-2].strip().removeprefix("const ")
        return "POINTER(c_void_p)" if inner.startswith("tactus_") else f"POINTER(POINTER({CTYPES[inner]}))"
    return f"POINTER({CTYPES[kind.removesuffix('*').strip().removeprefix('const ')]})"


def python(version, _handles, callbacks, constants, functions):
    yield f'"""The C functions and constants. {NOTE}"""\n'
    yield "from ctypes import CFUNCTYPE, POINTER, c_char_p, c_double, c_float, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p\n"
    yield f"ABI_VERSION = {version}\n"
    for name, value, size in constants:
        yield f"{name} = {value if value >= 0 or size == 4 else value + (1 << 64)}"
    yield ""
    for name, (returns, parameters) in callbacks.items():
        kinds = [python_type(kind) for kind in [returns, *parameters]]
        # Texts come with a length.
        kinds = ["c_void_p" if kind == "c_char_p" else kind for kind in kinds]
        yield f"{name} = CFUNCTYPE({', '.join(kinds)})"
    yield "\n# Name: result, parameters.\nFUNCTIONS = {"
    for returns, name, parameters in functions:
        kinds = ", ".join(python_type(kind) for kind in parameters)
        result = "c_void_p" if returns == "const char *" else python_type(returns)
        yield f'    "{name}": ({result}, [{kinds}]),'
    yield "}"


# ---- Go -----------------------------------------------------------------------------------------------------------------------------

GO = {
    "int32_t": "int32", "int64_t": "int64", "uint32_t": "uint32", "uint64_t": "uint64", "size_t": "uintptr", "float": "float32",
    "double": "float64", "const char *": "*byte", "void *": "uintptr", "const void *": "uintptr", "const char *const *": "**byte",
}  # fmt: skip


def go_type(kind):
    if kind in GO:
        return GO[kind]
    if is_handle(kind) or kind.endswith("_callback_t") or kind.endswith("_hook_t"):
        return "uintptr"
    if kind.endswith("**"):
        return "*uintptr" if kind.startswith("tactus_") else "*unsafe.Pointer"
    return "*" + GO[kind.removesuffix("*").strip().removeprefix("const ")]


def camel(name, prefix):
    return "".join(word.capitalize() for word in name.removeprefix(prefix).lower().split("_"))


def go(version, _handles, _callbacks, constants, functions):
    yield f"// Code {NOTE[0].lower()}{NOTE[1:].replace('Do not edit.', 'DO NOT EDIT.')}\n"
    yield 'package tactus\n\nimport "unsafe"\n'
    yield "// The constants of the header, whose comments say what they mean.\nconst ("
    rows = [("abiVersion int32", str(version))]
    for name, value, size in constants:
        if size == 4:
            word = camel(name, "TACTUS_")
            if name == "TACTUS_OK" or word.startswith("Err"):
                rows.append((f"Status{word.removeprefix('Err')} Status", str(value)))
            else:
                rows.append((f"{word} {'FinishReason' if word.startswith('Finish') else 'int32'}", str(value)))
    width = max(len(name.split()[0]) for name, _ in rows)
    kinds = max(len(name.split()[1]) for name, _ in rows)
    for name, value in rows:
        word, kind = name.split()
        yield f"\t{word:<{width}} {kind:<{kinds}} = {value}"
    yield ")\n"
    yield "// functions are the library's; handles are numbers, as they are never dereferenced.\ntype functions struct {"
    fields = [(camel(name, "tactus_"), returns, parameters) for returns, name, parameters in functions]
    width = max(len(name) for name, _, _ in fields)
    for name, returns, parameters in fields:
        result = {"void": "", "const char *": " unsafe.Pointer"}.get(returns) if returns in ("void", "const char *") else " " + go_type(returns)
        name = name[0].lower() + name[1:]
        yield f"\t{name:<{width}} func({', '.join(go_type(kind) for kind in parameters)}){result}"
    yield "}\n"
    yield "// pairs names each function and says where it goes.\nfunc (f *functions) pairs() map[string]any {\n\treturn map[string]any{"
    width = max(len(name) for _, name, _ in functions)
    for (name, _, _), (_, symbol, _) in zip(fields, functions):
        key = f'"{symbol}":'
        yield f"\t\t{key:<{width + 3}} &f.{name[0].lower() + name[1:]},"
    yield "\t}\n}"


# ---- C# -----------------------------------------------------------------------------------------------------------------------------

CS = {
    "int32_t": "int", "int64_t": "long", "uint32_t": "uint", "uint64_t": "ulong", "size_t": "UIntPtr", "float": "float", "double": "double",
    "void": "void", "const char *": "byte[]", "void *": "IntPtr", "const char *const *": "IntPtr[]",
}  # fmt: skip


def cs_handle(kind):
    return camel(re.search(r"tactus_(\w+)_t", kind).group(1), "") + "Handle"


def cs_type(kind, function):
    if kind == "const void *":
        return "SafeHandle"
    if kind in CS:
        return CS[kind]
    if is_handle(kind):
        # A handle is given back by the SafeHandle itself, and a boundary belongs to nobody.
        return "IntPtr" if function.endswith("_destroy") or "boundary" in kind else cs_handle(kind)
    if kind.endswith("_callback_t") or kind.endswith("_hook_t"):
        return camel(kind.removesuffix("_t"), "tactus_")
    if kind.endswith("**"):
        return f"out {cs_handle(kind)}" if kind.startswith("tactus_") else "out IntPtr"
    inner = kind.removesuffix("*").strip()
    return f"{CS[inner.removeprefix('const ')]}[]" if inner.startswith("const ") else f"out {CS[inner]}"


def csharp(version, handles, callbacks, constants, functions):
    yield f"// {NOTE}\n"
    yield "using System;\nusing System.Runtime.InteropServices;\n\nnamespace Tactus\n{"
    for handle in handles:
        if "boundary" in handle:
            continue
        name, stem = cs_handle(handle), handle.removesuffix("_t")
        yield f"    internal sealed class {name} : TactusHandle\n    {{"
        yield f"        public {name}() {{ }}\n"
        yield f"        protected override bool ReleaseHandle() {{ return Native.{stem}_destroy(handle) == 0; }}\n    }}\n"
    for name, (returns, parameters) in callbacks.items():
        kinds = [CS.get(kind, "IntPtr") for kind in parameters]
        kinds = ["IntPtr" if kind == "byte[]" else kind for kind in kinds]
        listed = ", ".join(f"{kind} a{at}" for at, kind in enumerate(kinds))
        yield "    [UnmanagedFunctionPointer(CallingConvention.Cdecl)]"
        yield f"    internal delegate {CS[returns]} {camel(name.removesuffix('_t'), 'tactus_')}({listed});\n"
    yield "    /// The functions, found in the library by Library.Load. Delegates and not DllImport, as that would look for the library by a name of"
    yield "    /// its own, on some runtimes before Load has run."
    yield "    internal static class Native\n    {"
    yield f"        internal const int AbiVersion = {version};\n"
    for name, value, size in constants:
        yield f"        internal const {'int' if size == 4 else 'long'} {name} = {value};"
    for returns, name, parameters in functions:
        listed = ", ".join(f"{cs_type(kind, name)} a{at}" for at, kind in enumerate(parameters))
        result = "IntPtr" if returns == "const char *" else CS[returns]
        yield "\n        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]"
        yield f"        internal delegate {result} {camel(name, 'tactus_')}Function({listed});"
        yield f"        internal static {camel(name, 'tactus_')}Function {name};"
    yield "\n        /// Takes every function from where `find` says it is.\n        internal static void Bind(Func<string, IntPtr> find)\n        {"
    for _, name, _ in functions:
        kind = f"{camel(name, 'tactus_')}Function"
        yield f'            {name} = Marshal.GetDelegateForFunctionPointer<{kind}>(find("{name}"));'
    yield "        }\n    }\n}"


TABLES = {
    "bindings/python/tactus/_native.py": python,
    "bindings/go/native.go": go,
    "bindings/csharp/Native.cs": csharp,
}


def main():
    abi, stale = read(), []
    for path, table in TABLES.items():
        text = "\n".join(table(*abi)) + "\n"
        target = ROOT / path
        if target.exists() and target.read_text() == text:
            continue
        if "--write" in sys.argv[1:]:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        else:
            stale.append(path)
    if stale:
        sys.exit(f"not what include/tactus.abi says: {', '.join(stale)}; run `make abi` and commit them")


if __name__ == "__main__":
    main()
