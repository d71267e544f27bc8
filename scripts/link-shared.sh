#!/bin/sh
# Makes what C links from the static library that cargo builds:
#
#   OUT/lib/libtactus.a          one relocatable object in which every symbol but tactus_* is local
#   OUT/lib/libtactus.so.X.Y.Z   the same code as a shared library, with the links libtactus.so.X and libtactus.so
#   OUT/include/tactus.h
#
# Why not cargo's own cdylib: rustc exports the symbols that dependencies mark for export, whatever a version script says. Why
# not cargo's own .a: it carries the Rust runtime with global names, so a program could not link a second Rust library beside it.
#
# usage: link-shared.sh STATIC_LIBRARY VERSION OUT
set -eu

archive=$1 version=$2 out=$3
cc=${CC:-cc}
root=$(cd "$(dirname "$0")/.." && pwd)
major=${version%%.*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$out/lib" "$out/include"

# The entry points are the header's functions, so a function that is declared and not defined fails here.
grep -o '\btactus_[a-z0-9_]*(' "$root/include/tactus.h" | tr -d '(' | sort -u >"$work/entries"
sed 's/^/-u /' "$work/entries" >"$work/undefined"

# One object of everything the entry points reach. Group sections are resolved here: a COMDAT of ours must not be replaced by
# another Rust library's.
ld -r --force-group-allocation --gc-sections @"$work/undefined" -o "$work/tactus.o" "$archive"
# Bitcode that rustc leaves in the standard library is of no use to C's linkers, and some tools' plugins choke on it. Weak undefined
# symbols that nothing refers to any more come out of `ld -r` as local ones; kept, they would become strong and could not be resolved.
readelf --symbols --wide "$work/tactus.o" | awk '$5 == "LOCAL" && $7 == "UND" && $8 != "" { print $8 }' >"$work/unreferenced"
objcopy --remove-section=.llvmbc --remove-section=.llvmcmd --strip-unneeded-symbols="$work/unreferenced" "$work/tactus.o"
nm --defined-only --extern-only "$work/tactus.o" | awk '{ print $3 }' | sort -u >"$work/defined"
missing=$(comm -23 "$work/entries" "$work/defined")
if [ -n "$missing" ]; then
    echo "declared in include/tactus.h but not in $archive: $missing" >&2
    exit 1
fi
# Debug sections are ten times the code. Symbols stay, for profilers.
objcopy --keep-global-symbols="$work/entries" --strip-debug "$work/tactus.o"
rm -f "$work/libtactus.a"
ar crsD "$work/libtactus.a" "$work/tactus.o"

{
    echo "{ global:"
    sed 's/$/;/' "$work/entries"
    echo "local: *; };"
} >"$work/version"

# nodelete: thread-local destructors of our code may run after a dlclose.
"$cc" -shared -o "$work/libtactus.so" "$work/tactus.o" \
    -Wl,-soname,"libtactus.so.$major" -Wl,--version-script,"$work/version" \
    -Wl,-z,nodelete -Wl,-z,defs -Wl,-z,relro -Wl,-z,now -Wl,--gc-sections -Wl,--as-needed \
    -lgcc_s -lpthread -lm -ldl

# Renames are atomic, so a program that runs meanwhile sees the old library or the new one.
mv "$work/libtactus.a" "$out/lib/libtactus.a"
mv "$work/libtactus.so" "$out/lib/libtactus.so.$version"
ln -sf "libtactus.so.$version" "$out/lib/libtactus.so.$major"
ln -sf "libtactus.so.$major" "$out/lib/libtactus.so"
cp "$root/include/tactus.h" "$out/include/tactus.h"
