#!/bin/sh
# The header as doxygen takes it: its opening comment describes the file, and its headings group what follows them.
exec awk '
NR == 1 && $0 == "/*" { print "/** @file tactus.h"; next }
/^\/\* ---- .* -+ \*\/$/ {
    heading = $0
    sub(/^\/\* ---- /, "", heading)
    sub(/ -+ \*\/$/, "", heading)
    if (open) print "/** @} */"
    printf "/** @name %s */\n/** @{ */\n", heading
    open = 1
    next
}
open && /^#ifdef __cplusplus/ { print "/** @} */"; open = 0 }
{ print }' "$1"
