#!/usr/bin/env python3
"""The ABI that holds still: what include/tactus.h declares, against the record in include/tactus.abi.

    abi.py              checks: fails where something recorded is gone or has changed, and where something was added without raising
                        TACTUS_ABI_VERSION
    abi.py --record     checks, and writes additions into the record
    abi.py --print      prints what the header declares, as the record has it

A declaration is read after the preprocessor, and a constant's value is computed by the compiler, so the record holds what a program
is compiled to: names, types and order of parameters, values. Names of parameters are left out; a change of them breaks nobody.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADER = ROOT / "include" / "tactus.h"
RECORD = ROOT / "include" / "tactus.abi"


class Failure(Exception):
    pass


def cc(arguments, text):
    command = ["cc", "-std=c11", "-x", "c", *arguments, "-"]
    result = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
    if result.returncode:
        raise Failure(f"{' '.join(command)}: {result.stderr}")
    return result.stdout


def declarations(header):
    """Statements of the header itself, the files that it includes left out."""
    own, kept = False, []
    for line in cc(["-E"], f'#include "{header}"\n').splitlines():
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            own = marker.group(1) == str(header)
        elif own:
            kept.append(line)
    return [" ".join(statement.split()) for statement in " ".join(kept).split(";") if statement.strip()]


def spaced(text):
    """One spelling per type: `const char *const *`."""
    return re.sub(r"\s*\*\s*", " *", " ".join(text.split())).replace("* *", "**").strip()


def type_of(parameter):
    """A parameter without its name."""
    if parameter == "void":
        return parameter
    found = re.fullmatch(r"(.*[\s*])(\w+)", parameter)
    if not found:
        raise Failure(f"{HEADER}: parameter '{parameter}', expected a type and a name")
    return spaced(found.group(1))


def parameters(text):
    return ", ".join(type_of(part.strip()) for part in text.split(","))


def entry(statement):
    """A name and its line of the record."""
    if found := re.fullmatch(r"typedef struct (\w+) (\w+)", statement):
        if found.group(1) != found.group(2):
            raise Failure(f"{HEADER}: '{statement}', expected one name")
        return found.group(1), f"handle {found.group(1)}"
    if found := re.fullmatch(r"typedef (.+?)\(\*(\w+)\)\((.*)\)", statement):
        return found.group(2), f"callback {spaced(found.group(1))} {found.group(2)}({parameters(found.group(3))})"
    if found := re.fullmatch(r"([^()]+?)(\w+)\(([^()]*)\)", statement):
        return found.group(2), f"function {spaced(found.group(1))} {found.group(2)}({parameters(found.group(3))})"
    raise Failure(f"{HEADER}: '{statement}', expected a handle, a callback or a function: teach scripts/abi.py")


def constants(header):
    names = re.findall(r"^#define (TACTUS_\w+) \S", cc(["-E", "-dM"], f'#include "{header}"\n'), re.MULTILINE)
    lines = "".join(f'    printf("{name} %lld %d\\n", (long long)({name}), (int)sizeof({name}));\n' for name in names)
    program = f'#include <stdio.h>\n#include "{header}"\nint main(void)\n{{\n{lines}    return 0;\n}}\n'
    with tempfile.TemporaryDirectory() as work:
        binary = pathlib.Path(work) / "constants"
        cc(["-o", str(binary)], program)
        printed = subprocess.run([binary], capture_output=True, text=True, check=True).stdout
    for line in printed.splitlines():
        name, value, size = line.split()
        yield name, f"constant {name} {value} bytes {size}"


def current():
    """The ABI version, and what is declared: name to line."""
    declared = dict(entry(statement) for statement in declarations(HEADER))
    declared.update(constants(HEADER))
    version = declared.pop("TACTUS_ABI_VERSION", None)
    if version is None:
        raise Failure(f"{HEADER}: no TACTUS_ABI_VERSION")
    return int(version.split()[2]), declared


def recorded():
    if not RECORD.exists():
        return 0, {}
    lines = [line for line in RECORD.read_text().splitlines() if line and not line.startswith("#")]
    if not lines or not re.fullmatch(r"version \d+", lines[0]):
        raise Failure(f"{RECORD}: expected 'version N' first")
    names = {}
    for line in lines[1:]:
        kind, rest = line.split(" ", 1)
        name = re.search(r"(\w+)\(", rest).group(1) if kind in ("function", "callback") else rest.split()[0]
        names[name] = line
    return int(lines[0].split()[1]), names


def check(version, declared, old_version, old):
    """What is wrong, in lines."""
    for name, line in old.items():
        if name not in declared:
            yield f"gone: {line}"
        elif declared[name] != line:
            yield f"changed: {line}\n     now: {declared[name]}"
    if version < old_version:
        yield f"TACTUS_ABI_VERSION is {version}, expected at least the recorded {old_version}"
    added = sorted(set(declared) - set(old))
    if added and version <= old_version:
        yield f"added without raising TACTUS_ABI_VERSION above {old_version} (src/capi/version.rs): {', '.join(added)}"


def text_of(version, declared):
    head = (
        "# What programs that use Tactus are compiled to: checked by `make lint`, written by `make abi`. Lines are added, and none is ever\n"
        "# taken away or changed within a major version of the library. scripts/abi.py says how it is read.\n"
    )
    order = {"handle": 0, "callback": 1, "constant": 2, "function": 3}
    lines = sorted(declared.values(), key=lambda line: (order[line.split()[0]], line))
    return f"{head}version {version}\n" + "".join(f"{line}\n" for line in lines)


def main():
    global HEADER, RECORD
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--record", action="store_true")
    parser.add_argument("--print", action="store_true")
    parser.add_argument("--header", type=pathlib.Path, default=HEADER)
    parser.add_argument("--baseline", type=pathlib.Path, default=RECORD)
    options = parser.parse_args()
    HEADER, RECORD = options.header.resolve(), options.baseline
    version, declared = current()
    if options.print:
        print(text_of(version, declared), end="")
        return 0
    old_version, old = recorded()
    wrong = list(check(version, declared, old_version, old))
    if wrong:
        print("\n".join(wrong), file=sys.stderr)
        return 1
    if options.record:
        RECORD.write_text(text_of(version, declared))
    elif (version, declared) != (old_version, old):
        print("the record lacks what was added: run `make abi` and commit it", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        sys.exit(str(failure))
