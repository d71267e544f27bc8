#!/bin/sh
# Makes the pages of the C API and of the guides in OUT/html: docs.sh VERSION OUT. Fails where doxygen warns of anything.
set -eu
cd "$(dirname "$0")/.."
command -v doxygen >/dev/null || { echo "docs: no doxygen; on Debian and Ubuntu: apt-get install doxygen" >&2; exit 1; }
mkdir -p "$2"
VERSION=$1 OUT=$2 doxygen docs/Doxyfile
echo "$2/html/index.html"
