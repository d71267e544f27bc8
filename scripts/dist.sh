#!/bin/sh
# Makes OUT/tactus-VERSION-linux-MACHINE.tar.gz, to be unpacked and used: libraries, headers, files for pkg-config and CMake, bindings,
# examples, guides. INSTALL in it says the oldest glibc that the shared library loads with.
#
#   dist.sh LIBRARY VERSION OUT     LIBRARY as of link-shared.sh
#
# The same files give the same bytes; SOURCE_DATE_EPOCH is the time they carry.
set -eu

library=$1 version=$2 out=$3
root=$(cd "$(dirname "$0")/.." && pwd)
machine=$(uname -m)
name=tactus-$version-linux-$machine
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tree=$work/$name

# The prefix is only a place to be relative to.
DESTDIR=$work PREFIX=/$name LIBDIR=/$name/lib INCLUDEDIR=/$name/include "$root/scripts/install.sh" install "$library" "$version"

needed() { readelf --version-info --wide "$library/lib/libtactus.so.$version" | grep -o 'GLIBC_[0-9][0-9.]*' | sed 's/GLIBC_//' | sort -uV | tail -n 1; }
glibc=$(needed)
abi=$(sed -n 's/^#define TACTUS_ABI_VERSION \([0-9]*\)$/\1/p' "$root/include/tactus.h")
sed -e "s/@VERSION@/$version/g" -e "s/@MAJOR@/${version%%.*}/g" -e "s/@ABI@/$abi/g" -e "s/@MACHINE@/$machine/g" \
    -e "s/@GLIBC@/$glibc/g" "$root/packaging/INSTALL.in" >"$tree/INSTALL"

cp "$root/README.md" "$root/LICENSE" "$root/CHANGELOG.md" "$tree/"
cp -R "$root/examples_c" "$root/docs" "$root/bindings" "$tree/"
find "$tree" \( -name __pycache__ -o -name bin -o -name obj \) -type d -prune -exec rm -rf {} +
chmod -R u+rwX,go+rX,go-w "$tree"

mkdir -p "$out"
tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@${SOURCE_DATE_EPOCH:-0}" -cf - "$name" | gzip -9n >"$work/$name.tar.gz"
mv "$work/$name.tar.gz" "$out/$name.tar.gz"
echo "$out/$name.tar.gz: glibc $glibc or later"
