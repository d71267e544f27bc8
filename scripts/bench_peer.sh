#!/bin/sh
# Measures Tactus against the pinned llama.cpp, after running llama.cpp along the committed goldens of the real models to see that it still
# gives them. The first run builds llama.cpp for this processor in target/peer-venv (a few minutes).
#
#   bench_peer.sh [options of bench_peer.py, see its --help]
#   bench_peer.sh --goldens       the goldens only
#   bench_peer.sh --no-goldens …  the measurements only
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
status=0
case ${1-} in
--no-goldens)
    shift ;;
--goldens)
    shift
    exec "$venv/bin/python" "$root/scripts/make_real_goldens.py" --check "$@" ;;
*)
    "$venv/bin/python" "$root/scripts/make_real_goldens.py" --check || status=1 ;;
esac
"$venv/bin/python" "$root/scripts/bench_peer.py" "$@" || status=1
exit $status
