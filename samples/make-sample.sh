#!/bin/sh
# Makes samples/session_server.tar.zst again: builds session_server, lets it abort, and packs the
# kernel's core with its holes. Run it in the project's folder, where the kernel writes cores into
# the current folder (/proc/sys/kernel/core_pattern is a plain name).
#
# MALLOC_ARENA_MAX=64 is what a machine with eight cores allows by itself.
set -eu
here=$(pwd)
folder=/tmp/session_server
rm -rf "$folder"
mkdir "$folder"
trap 'rm -rf "$folder"' EXIT
${CC:-cc} -std=gnu11 -O1 -g -pthread -o "$folder/session_server" samples/session_server.c
cd "$folder"
ulimit -c unlimited
env -i MALLOC_ARENA_MAX=64 ./session_server || true
[ -e core ] || mv core.* core
tar -S --owner=0 --group=0 --mtime=@0 -cf - core | zstd -q -19 --long=27 -f -o "$here/samples/session_server.tar.zst"
ls -l "$here/samples/session_server.tar.zst"
