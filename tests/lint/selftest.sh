#!/bin/sh
# Lint must see each fault: every case puts one bad file into a small tree and expects its rule.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tree=$(mktemp -d) || exit 2
trap 'rm -rf "$tree"' EXIT
passed=0
failed=0

fresh() {
    rm -rf "${tree:?}"/*
    mkdir -p "$tree/src/base" "$tree/src/core" "$tree/src/store" "$tree/src/report" "$tree/src/cli" \
        "$tree/src/sym" "$tree/include" "$tree/tests"
    echo '    input -> core -> mem -> sym -> libc -> store -> report -> lib -> cli' > "$tree/src/README.md"
    echo '#define CF 1' > "$tree/include/corefrag.h"
}

verdict() {
    if [ "$1" = 0 ]; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
        echo "lint selftest: $2"
        cat "$tree.out"
    fi
}

# put FILE: the text on standard input, behind the opening comment that every .c file of src has
put() {
    case $1 in
    src/*.c) echo '/* A file. */' > "$tree/$1" ;;
    *) : > "$tree/$1" ;;
    esac
    cat >> "$tree/$1"
}

# expect RULE FILE: the file's text on standard input must be a fault of that rule, and of no other
expect() {
    fresh
    put "$2"
    expect_in_tree "$1" "$2"
}

# expect_in_tree RULE FILE: the same of a file that stands in the tree
expect_in_tree() {
    sh "$here/lint.sh" "$tree" > "$tree.out" 2>&1
    status=$?
    good=1
    if [ $status = 1 ] && grep -q "^$2:[0-9]*: $1: " "$tree.out" &&
        ! grep "^$2:" "$tree.out" | grep -qv ": $1: "; then
        good=0
    fi
    verdict $good "$1 in $2 was not seen, or something else was"
    rm -f "$tree.out"
}

# accept FILE: the text on standard input is in order
accept() {
    fresh
    put "$1"
    accept_tree "$1"
}

accept_tree() {
    sh "$here/lint.sh" "$tree" > "$tree.out" 2>&1
    verdict $? "$1 is in order, but lint complains"
    rm -f "$tree.out"
}

lines() {
    i=0
    while [ $i -lt "$1" ]; do
        echo "    x++;"
        i=$((i + 1))
    done
}

expect layers src/core/a.c <<'X'
#include "store/db.h"
X
expect layers src/base/a.c <<'X'
#include "core/core.h"
X
expect layers src/report/a.c <<'X'
#include "core/core.h"
X
expect layers src/cli/a.c <<'X'
#include "base/err.h"
X
expect sqlite src/report/a.c <<'X'
#include <sqlite3.h>
X
expect libdw src/core/a.c <<'X'
#include <elfutils/libdwfl.h>
X
expect libelf src/store/a.c <<'X'
#include <gelf.h>
X
expect library src/core/a.c <<'X'
#include <assert.h>
X
expect library src/core/a.c <<'X'
void f(void) {
    abort();
}
X
expect library src/core/a.c <<'X'
void f(void) {
    printf("no");
}
X
expect library src/core/a.c <<'X'
void f(void) {
    fputs("no", stderr);
}
X
expect library src/core/a.c <<'X'
void f(char *p, const char *q) {
    strcpy(p, q);
}
X
expect typedef src/core/a.c <<'X'
typedef struct a {
    int b;
} a_t;
X
expect tabs src/core/a.c <<X
int$(printf '\t')a;
X
expect spaces src/core/a.c <<X
int a;$(printf ' ')
X
expect spaces src/core/a.sh <<X
true$(printf ' ')
X
expect columns src/core/a.c <<'X'
/* 3456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 */
X
expect paths src/core/a.c <<X
/* see .$(printf .)/shared/x */
X
{ echo 'int f(int x) {'; lines 78; echo '    return x;'; echo '}'; } | expect length src/core/a.c
expect nesting src/core/a.c <<'X'
int f(int x) {
    if (x) {
        while (x) {
            for (;;) {
                if (x > 1) {
                    do {
                        x--;
                    } while (x);
                }
            }
        }
    }
    return x;
}
X
expect nesting src/core/a.c <<'X'
int f(int x) {
    if (x)
        while (x)
            for (;;)
                if (x > 1)
                    if (x > 2)
                        x--;
    return x;
}
X

# What only several files together do wrong.
fresh
echo 'struct cf_a;' | put src/core/a.c
mv "$tree/src/core/a.c" "$tree/src/core/b.c"
echo 'int a;' > "$tree/src/core/a.c"
expect_in_tree opening src/core/a.c

fresh
put src/core/a.c <<'X'
struct row {
    int a;
};
X
put src/sym/b.c <<'X'
static struct row { int a; } rows[2];
X
expect_in_tree tags src/sym/b.c

fresh
echo 'enum cf_row { CF_A };' | put src/core/a.h
put src/core/a.c <<'X'
#include "core/a.h"
static const enum cf_row row = CF_A, rows[] = {CF_A};
struct pair {
    enum cf_row row;
    struct { int a; } inner;
};
struct pair f(void) {
    return (struct pair){row, {rows[0]}};
}
X
accept_tree src/core/a.c

fresh
echo 'int a;' | put src/core/a.c
echo 'int b;' | put src/sym/a.c
expect_in_tree names src/sym/a.c

fresh
echo '#include "core/b.h"' | put src/core/a.h
echo '#include "core/a.h"' | put src/core/b.h
sh "$here/lint.sh" "$tree" > "$tree.out" 2>&1
grep -q '^src/core/[ab].h:1: circles: ' "$tree.out"
verdict $? "two headers that include each other were not seen"
rm -f "$tree.out"

# Two modules, in a circle through what they share, and two with a shared header in order.
fresh
echo "struct a;" | put src/core/a.h
echo "struct b;" | put src/core/b.h
echo '#include "core/b.h"' | put src/core/shared.h
echo '#include "core/shared.h"' | put src/core/a.c
echo '#include "core/a.h"' | put src/core/b.c
sh "$here/lint.sh" "$tree" > "$tree.out" 2>&1
grep -q '^src/core/[ab].c:1: circles: ' "$tree.out"
verdict $? "two modules that include each other were not seen"
rm -f "$tree.out"
echo '#include "core/a.h"' > "$tree/src/core/shared.h"
echo '#include "core/shared.h"' | put src/core/b.c
accept_tree "two modules that share a header"

fresh
i=0
while [ $i -lt 700 ]; do echo "/* $i */"; i=$((i + 1)); done > "$tree/part"
for folder in base core store report cli sym; do cat "$tree/part" > "$tree/src/$folder/$folder.c"; done
cat "$tree/part" "$tree/part" > "$tree/src/sym/sym.c"
rm "$tree/part"
sh "$here/lint.sh" "$tree" > "$tree.out" 2>&1
grep -q '^src/sym:1: share: 1400 of 4900 lines' "$tree.out"
verdict $? "a folder with too much of the code was not seen"
rm -f "$tree.out"

fresh
echo 'struct cf_a { uint64_t a; };' > "$tree/src/core/a.h"
sh "$here/lint.sh" "$tree" > "$tree.out" 2>&1
good=$?
[ $good = 1 ] && grep -q ': headers: ' "$tree.out"
verdict $? "headers: a header that needs another one was not seen"
rm -f "$tree.out"

# What is in order stays silent.
{ echo 'int f(int x) {'; lines 77; echo '    return x;'; echo '}'; } | accept src/core/a.c
accept src/cli/a.c <<'X'
#include <stdio.h>

#include "corefrag.h"
int main(void) {
    printf("yes { %s\n", "\"{");
    exit(0);
}
X
accept src/core/b.c <<'X'
/* A comment may say printf(), abort() and assert(x) { { { { { {. */
#define CF_B(x) ({ do { if (x) { (void)(x); } } while (0); })
static const struct { int a; struct { int b; } c[2]; } table[] = {{1, {{1}, {2}}}};
_Static_assert(sizeof table > 0, "abort(");
int f(int x) {
    struct p { int a[2]; } q = {{x, x}};
    for (int i = 0; i < 3; i++) {
        if (x) {
            while (x--) {
                if (x == '{')
                    g(&(struct p){{1, 2}});
            }
        }
    }
    return fprintf(sink, "%d", q.a[0]) + sink_exit(x) + s->abort(x);
}
X

# Three files: what declares, what has, and what calls.
declare_f() {
    fresh
    printf '#ifndef CF_A_H\n#define CF_A_H\nint cf_f(int x);\n#endif\n' | put src/core/a.h
    printf '#include "core/a.h"\nint cf_f(int x) {\n    return x;\n}\n' | put src/core/a.c
}
call_f() {
    printf '#include "core/a.h"\nint %s(int x) {\n    return cf_f(x);\n}\n' "$2" | put "$1"
}
declare_f
call_f tests/t.c g
expect_in_tree used src/core/a.h
declare_f
printf 'static int g(int x) {\n    return cf_f(x); /* cf_f() */\n}\n' >> "$tree/src/core/a.c"
expect_in_tree used src/core/a.h
declare_f
call_f src/core/b.c g
accept_tree src/core/a.h

[ "$failed" = 0 ] || { echo "lint selftest: $passed passed, $failed failed"; exit 1; }
