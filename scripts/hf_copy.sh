#!/bin/sh
# Makes target/models/SmolLM2-135M-Instruct-hf from the fetched GGUF file, in a virtual environment of its own.
# Arguments are handed to gguf_to_hf.py. A second run does nothing.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/target/convert-venv
wanted=$root/scripts/requirements-convert.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    python3 -m venv "$venv" || { echo "hf_copy: python3 cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
    "$venv/bin/python" -m pip install --disable-pip-version-check --quiet -r "$wanted" >&2
    cp "$wanted" "$venv/installed.txt"
fi
exec "$venv/bin/python" "$root/scripts/gguf_to_hf.py" "$@"
