#!/bin/sh
# Runs test programs one after the other: the whole output of one that fails, then the closing
# lines of all. Exit 1 if one failed, or ended without saying how many tests it ran.
#
#   sh tests/run.sh LOGS PROGRAM...     LOGS: a folder that keeps each program's output
set -u
logs=$1
shift
mkdir -p "$logs"
failed=
for program in "$@"; do
    log=$logs/$(basename "$program").log
    started=$(date +%s)
    # shellcheck disable=SC2086
    ${WRAP:-} "$program" > "$log" 2>&1 < /dev/null
    status=$?
    took=$(($(date +%s) - started))
    if [ $status = 0 ] && grep -q '^\[  PASSED  \] [1-9]' "$log"; then
        [ $took -lt 5 ] || echo "$(basename "$program") took $took s"
    else
        echo "==== $program failed (exit status $status) ===="
        grep -vE '^\[ (RUN  |     OK) ' "$log"
        failed="$failed $(basename "$program")"
    fi
done
for program in "$@"; do
    basename "$program"
    grep -E '^\[(==========|  PASSED  |  FAILED  |  SKIPPED )\].*(test|run)' "$logs/$(basename "$program").log" |
        grep -v '^\[==========\] Running'
done
[ -z "$failed" ] || { echo "failed:$failed"; exit 1; }
