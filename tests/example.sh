#!/bin/sh
# The example program does what it says, whichever library it stands on.
#
#   sh tests/example.sh FOLDER CORE PROGRAM...     FOLDER: for what it writes
set -u
folder=$1
core=$2
shift 2
db=$folder/example.db
out=$folder/example.md
failed=0

fault() {
    echo "$1"
    cat "$folder/example.err"
    failed=1
}

for program in "$@"; do
    rm -f "$db"
    "$program" "$core" "$db" > "$out" 2> "$folder/example.err" || fault "$program: exit status $?"
    head -n 1 "$out" | grep -q '^not-returned: [0-9]* bytes are live, [0-9]* are freed and kept\.$' ||
        fault "$program: does not answer: $(head -n 1 "$out")"
    grep -q '^# corefrag ' "$out" || fault "$program: no report"
    rm -f "$db"
    "$program" "$core" "$db" 0 > "$out" 2> "$folder/example.err"
    [ $? = 3 ] || fault "$program: not cancelled"
    [ -z "$(find "$folder" -maxdepth 1 -name '*example.db*')" ] || fault "$program: leaves files"
done
[ "$failed" = 0 ] && echo "example: $# programs, whole and cancelled"
exit $failed
