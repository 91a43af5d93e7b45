#!/bin/sh
# Runs test programs, JOBS (2) at a time: the whole output of one that fails, then the closing
# lines of all. Exit 1 if one failed, or ended without saying that tests passed.
#
#   sh tests/run.sh LOGS PROGRAM...     LOGS: a folder that keeps each program's output
#
# WRAP is put before each program (valgrind, for example).
set -u
if [ "$1" = --one ]; then
    log=$2/$(basename "$3").log
    started=$(date +%s)
    # shellcheck disable=SC2086
    ${WRAP:-} "$3" > "$log" 2>&1 < /dev/null
    status=$?
    took=$(($(date +%s) - started))
    [ $took -lt 10 ] || echo "$(basename "$3") took $took s"
    if [ $status != 0 ] || ! grep -q '^\[  PASSED  \] [1-9]' "$log"; then
        echo $status > "$log.failed"
    fi
    exit 0
fi

logs=$1
shift
mkdir -p "$logs"
rm -f "$logs"/*.failed
printf '%s\n' "$@" | xargs -r -n 1 -P "${JOBS:-2}" sh "$0" --one "$logs"

failed=
for program in "$@"; do
    log=$logs/$(basename "$program").log
    [ -e "$log.failed" ] || continue
    echo "==== $program failed (exit status $(cat "$log.failed")) ===="
    grep -vE '^\[ +(RUN|OK) +\]' "$log"
    failed="$failed $(basename "$program")"
done
for program in "$@"; do
    basename "$program"
    grep -E '^\[(==========|  PASSED  |  FAILED  |  SKIPPED )\].*(test|run)' "$logs/$(basename "$program").log" |
        grep -v '^\[==========\] Running'
done
[ -z "$failed" ] || { echo "failed:$failed (their output: above, and in $logs)"; exit 1; }
