#!/bin/sh
# Measures Tactus against the pinned llama.cpp. The first run builds llama.cpp for this processor in target/peer-venv (a few minutes).
# Arguments are handed to bench_peer.py; see its --help. `bench_peer.sh --goldens` instead runs the peer along the committed goldens of the
# real models and says whether it still gives them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
venv=$root/target/peer-venv
wanted=$root/scripts/requirements-peer.txt
if ! cmp -s "$wanted" "$venv/installed.txt"; then
    echo "bench_peer: building llama.cpp in $venv" >&2
    python3 -m venv "$venv" || { echo "bench_peer: python3 cannot make a virtual environment; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }
    # From source, never from a wheel: a wheel may have been built for another processor.
    "$venv/bin/python" -m pip install --disable-pip-version-check --no-binary llama-cpp-python --no-cache-dir -r "$wanted" >&2
    cp "$wanted" "$venv/installed.txt"
fi
if [ "${1-}" = --goldens ]; then
    shift
    exec "$venv/bin/python" "$root/scripts/make_real_goldens.py" --check "$@"
fi
exec "$venv/bin/python" "$root/scripts/bench_peer.py" "$@"
