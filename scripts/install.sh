#!/bin/sh
# Installs what `make lib` made, or takes it away again.
#
#   install.sh install|uninstall OUT VERSION      OUT as of link-shared.sh
#
# From the environment: PREFIX (/usr/local), LIBDIR (PREFIX/lib), INCLUDEDIR (PREFIX/include), DESTDIR (empty), which goes before
# all of them and is known to nothing that is installed. Uninstalling removes the files that installing writes and the directories
# of ours that are then empty, and nothing else.
set -eu

mode=$1 out=$2 version=$3
root=$(cd "$(dirname "$0")/.." && pwd)
prefix=${PREFIX:-/usr/local} dest=${DESTDIR:-}
libdir=${LIBDIR:-$prefix/lib}
includedir=${INCLUDEDIR:-$prefix/include}
major=${version%%.*}
abi=$(sed -n 's/^#define TACTUS_ABI_VERSION \([0-9]*\)$/\1/p' "$root/include/tactus.h")
case $prefix$libdir$includedir in
*[\&\|\\]*) echo "install: '$prefix', '$libdir', '$includedir': expected paths without & | and \\" >&2; exit 1 ;;
esac
case $prefix in
/*) ;;
*) echo "install: PREFIX is '$prefix', expected an absolute path" >&2; exit 1 ;;
esac

uninstall() {
    rm -f "$dest$libdir/libtactus.a" "$dest$libdir/libtactus.so" "$dest$libdir/libtactus.so.$major" "$dest$libdir/libtactus.so.$version" \
        "$dest$libdir/pkgconfig/tactus.pc" "$dest$includedir/tactus.h" "$dest$includedir/tactus.hpp"
    rm -rf "$dest$libdir/cmake/Tactus" "$dest$includedir/tactus/compat"
    for directory in "$libdir/pkgconfig" "$libdir/cmake" "$includedir/tactus"; do
        rmdir "$dest$directory" 2>/dev/null || :
    done
}

fill() { # fill TEMPLATE TARGET
    sed -e "s|@VERSION@|$version|g" -e "s|@MAJOR@|$major|g" -e "s|@ABI@|$abi|g" \
        -e "s|@PREFIX_FROM_PC@|$(realpath -m --relative-to="$libdir/pkgconfig" "$prefix")|" \
        -e "s|@INCLUDE@|$(realpath -m --relative-to="$prefix" "$includedir")|" \
        -e "s|@INCLUDE_FROM_LIB@|$(realpath -m --relative-to="$libdir" "$includedir")|" "$root/packaging/$1" >"$2"
    chmod 644 "$2"
}

case $mode in
install)
    uninstall
    install -d "$dest$libdir/pkgconfig" "$dest$libdir/cmake/Tactus" "$dest$includedir"
    install -m 755 "$out/lib/libtactus.so.$version" "$dest$libdir/"
    ln -s "libtactus.so.$version" "$dest$libdir/libtactus.so.$major"
    ln -s "libtactus.so.$major" "$dest$libdir/libtactus.so"
    install -m 644 "$out/lib/libtactus.a" "$dest$libdir/"
    install -m 644 "$root/include/tactus.h" "$dest$includedir/"
    if [ -e "$root/include/tactus.hpp" ]; then
        install -m 644 "$root/include/tactus.hpp" "$dest$includedir/"
    fi
    # In a directory of its own: its names are those of another library's headers.
    if [ -d "$root/include/compat" ]; then
        (cd "$root/include/compat" && find . -type f) | while read -r file; do
            install -D -m 644 "$root/include/compat/$file" "$dest$includedir/tactus/compat/$file"
        done
    fi
    fill tactus.pc.in "$dest$libdir/pkgconfig/tactus.pc"
    fill TactusConfig.cmake.in "$dest$libdir/cmake/Tactus/TactusConfig.cmake"
    fill TactusConfigVersion.cmake.in "$dest$libdir/cmake/Tactus/TactusConfigVersion.cmake" ;;
uninstall)
    uninstall ;;
*)
    echo "install: '$mode', expected install or uninstall" >&2
    exit 1 ;;
esac
