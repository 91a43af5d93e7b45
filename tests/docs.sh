#!/bin/sh
# What the documents promise about the sample core: every SQL block of README.md runs on its
# database, samples/questions.sql gets the answers in samples/answers.txt, and the report in
# README.md is the one in samples/.
#
#   sh tests/docs.sh DATABASE
set -u
db=$1
blocks=$(mktemp -d) || exit 2
trap 'rm -rf "$blocks"' EXIT
awk -v dir="$blocks" '
    /^```sql$/ { on = 1; n++; next }
    /^```$/ { on = 0 }
    on { print > (dir "/" sprintf("%02d", n) ".sql") }
' README.md
failed=0
count=0
for block in "$blocks"/*.sql; do
    count=$((count + 1))
    if ! sqlite3 -bail "$db" < "$block" > "$blocks/out" 2>&1; then
        echo "README.md: a query fails on $db:"
        cat "$block" "$blocks/out"
        failed=1
    fi
done
[ "$count" -ge 10 ] || { echo "README.md: $count queries, ten are promised"; failed=1; }
if ! sqlite3 -batch "$db" < samples/questions.sql 2>&1 | diff samples/answers.txt -; then
    echo "samples/answers.txt: other answers than these"
    failed=1
fi
if ! awk '/^corefrag [0-9]/ { on = 1 } /^```$/ { on = 0 } on' README.md | diff samples/report.txt -; then
    echo "README.md: another report than samples/report.txt (make samples)"
    failed=1
fi
exit $failed
