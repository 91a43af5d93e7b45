#!/bin/sh
# What the libraries show: the shared one exports just the functions that the public header declares,
# and every global name of the archive begins with cf_.
#
#   sh tests/exports.sh FOLDER     faults one a line; exit 1 if there are any
set -u
folder=$1
version=$(sed -n 's/^ABI := //p' Makefile)
failed=0

fault() {
    echo "$1"
    failed=1
}

declared=$(sed -n 's/^CF_API .*[ *]\(cf_[a-z_0-9]*\)(.*/\1/p' include/corefrag.h | sort)
# What is declared without CF_API would be missing there: count the functions another way, too.
functions=$(${CC:-cc} -E -Iinclude include/corefrag.h | tr '\n' ' ' |
    grep -o 'cf_[a-z_0-9]*([a-z]' | sed 's/(.*//' | sort -u)
[ "$declared" = "$functions" ] ||
    fault "include/corefrag.h: a function without CF_API, or one that is not recognised"

# The linker's own marks of sections come with some sanitizers.
exported=$(nm -D --defined-only "$folder/libcorefrag.so" | awk '{ print $3 }' |
    grep -v '^__\|^_init$\|^_fini$\|^_edata$\|^_end$' | sort)
[ "$declared" = "$exported" ] ||
    fault "libcorefrag.so exports other names than the header declares: $(echo "$declared
$exported" | sort | uniq -u | head -n 20 | tr '\n' ' ')"

soname=$(readelf -d "$folder/libcorefrag.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
[ "$soname" = "libcorefrag.so.$version" ] || fault "libcorefrag.so calls itself '$soname'"

strange=$(nm -g --defined-only "$folder/libcorefrag.a" 2> /dev/null |
    awk 'NF == 3 && $3 !~ /^cf_/ && $3 !~ /^__(odr_)?asan/ { print $3 }' | sort -u)
[ -z "$strange" ] || fault "libcorefrag.a: global names without cf_: $(echo "$strange" | tr '\n' ' ')"
exit $failed
