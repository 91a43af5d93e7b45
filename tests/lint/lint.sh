#!/bin/sh
# The house's rules that a machine can check; needs sh, awk, grep, find and a C compiler.
#
#   sh tests/lint/lint.sh [ROOT]     faults as FILE:LINE: RULE: MESSAGE; exit 1 if there are any
#
# Rules:
#   layers      a folder includes only what stands before it in src/README.md's line; cli includes
#               corefrag.h alone, rules and report see the database alone
#   sqlite, libdw, libelf, libarchive    headers that one folder or two may include
#   library     nothing but cli prints, exits or asserts; no unbounded call
#   typedef     a struct is named by its tag; tags: a tag is defined once in src and include
#   names       no two files of src have one name
#   circles     no headers include each other in a circle, and no modules (a .c file with its header)
#               either; a header without a .c file belongs to all who share it
#   opening     every .c file of src opens with a comment
#   share       no folder has more than 15 % of the lines of src
#   length      a function has 80 lines at most; nesting: four levels
#   columns (100), tabs, spaces, paths (none that exists on one machine only)
#   headers     each compiles alone
#   used        a function that a header of src declares is called in src (what only tests call is
#               theirs), and by another file than its own (else it is static)
#   facts       each column of the table fact is read by a rule, a query or another fact
# A file of more than 500 lines is only warned about. That the shared library exports the public
# names alone is asked by tests/exports.sh, which `make lint` runs where the library is built.
set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-.}" || exit 2
failed=0

# The order of the folders has one home, the map of the source.
order=$(sed -n 's/^ *\(input -> .*\)/\1/p' src/README.md | head -n 1 | sed 's/->/ /g')
[ -n "$order" ] || { echo "src/README.md:1: layers: no line 'input -> core -> ...'"; exit 1; }

c_files=$(find src include tests samples -name '*.[ch]' 2>/dev/null | sort)
# shellcheck disable=SC2086
awk -v order="base $order" -f "$here/c.awk" $c_files || failed=1

# shellcheck disable=SC2046
awk -f "$here/used.awk" $(echo "$c_files" | grep "^src/") $(echo "$c_files" | grep -v "^src/") ||
    failed=1

# Other text: no space at the end of a line; nothing that exists on one machine only.
texts=$(find Makefile README.md .ci include samples schema src tests -type f \
    \( -name '*.[ch]' -o -name '*.md' -o -name '*.s[hq]*' -o -name '*.mk' -o -name '*.awk' \
    -o -name Makefile -o -path '.ci/*' \) 2>/dev/null | sort)
spaces=$(echo "$texts" | grep -v '\.[ch]$')
# shellcheck disable=SC2086
if grep -n '[[:blank:]]$' /dev/null $spaces | sed 's/^\([^:]*:[0-9]*\):.*/\1: spaces: space at the end of the line/' |
    grep .; then
    failed=1
fi
# shellcheck disable=SC2086
if grep -nE '([.][.]/|/work/)[s]hared|/tmp/[c]orpus|/tmp/[w]t/' /dev/null $texts |
    sed 's/^\([^:]*:[0-9]*\):.*/\1: paths: a path outside the project/' | grep .; then
    failed=1
fi

# In facts.sql each is set once; a name that stands nowhere else is read by nobody.
# shellcheck disable=SC2046
if [ -f schema/80-verdict.sql ]; then
    sed -n '/^CREATE TABLE fact (/,/^);/s/^    \([a-z_0-9]*\) .*/\1/p' schema/80-verdict.sql |
        awk 'FILENAME == "-" { column[$1] = 1; next }
             { for (rest = $0; match(rest, /[a-z_0-9]+/); rest = substr(rest, RSTART + RLENGTH))
                   met[substr(rest, RSTART, RLENGTH)]++ }
             END { for (c in column) if (met[c] < 2) {
                       print "schema/80-verdict.sql:1: facts: nobody reads " c; bad = 1 }
                   exit bad }' - schema/queries/*.sql $(find src -name '*.[ch]') || failed=1
fi

# No header needs another one included first.
headers=$(find include src -name '*.h' | sort)
flags=$(pkg-config --cflags libelf libdw sqlite3 libarchive zlib smartcols jansson 2>/dev/null)
# shellcheck disable=SC2086
if ! ${CC:-cc} -std=gnu11 -D_GNU_SOURCE -Wall -Wextra -Wno-unused-function -Werror -Iinclude -Isrc \
    $flags -fsyntax-only -x c $headers; then
    echo "include:1: headers: a header does not compile alone (see above)"
    failed=1
fi
exit $failed
