/*
 * Runtimes with a heap of their own, and other mallocs: whose memory it is, and that our figure of
 * it is the kernel's. Each program saves its own smaps before it is ready. One that is not
 * installed is left out, which the output says.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct runtime {
    const char *name;
    const char *needs; /* a command of the shell that must succeed */
    const char *command;
    int exit_code;
    const char *verdict;
    const char *label; /* of v_budget's largest row that is not malloc's; in the headline too */
};

#define PERL                                                                                       \
    "perl -e '$| = 1; %h = map { $_ => \"x\" x ($_ % 300) } 1..100000; "                        \
    " system(\"cat /proc/$$/smaps >smaps\"); print \"ready\\n\"; sleep 100'"
#define LIBRARY(name) "ldconfig -p | grep -q " name " && command -v perl >/dev/null"

static const struct runtime runtimes[] = {
    {"java", "command -v javac >/dev/null",
     "cat >S.java <<'END'\n"
     "import java.nio.file.*;\n"
     "import java.util.*;\n"
     "public class S {\n"
     "    public static void main(String[] a) throws Exception {\n"
     "        List<byte[]> l = new ArrayList<>();\n"
     "        for (int i = 0; i < 4000; i++) l.add(new byte[30000]);\n"
     "        System.gc();\n"
     "        byte[] smaps = Files.readAllBytes(Path.of(\"/proc/self/smaps\"));\n"
     "        Files.write(Path.of(\"smaps\"), smaps);\n"
     "        System.out.println(\"ready\");\n"
     "        Thread.sleep(100000);\n"
     "        System.out.println(l.size());\n"
     "    }\n"
     "}\n"
     "END\n"
     "javac S.java && exec java -XX:+UseSerialGC -Xmx256m -cp . S",
     0, "outside-malloc", "Java heap (HotSpot)"},
    {"node", "command -v node >/dev/null",
     "exec node -e 'const l = [];"
     " for (let i = 0; i < 300000; i++) l.push({a: i, b: \"x\" + i, c: [i]});"
     " const fs = require(\"fs\");"
     " fs.writeFileSync(\"smaps\", fs.readFileSync(\"/proc/self/smaps\"));"
     " console.log(\"ready\"); setInterval(() => l, 100000)'",
     0, "outside-malloc", "V8 heap (node)"},
    {"python3", "command -v python3 >/dev/null",
     "exec python3 -c \"\n"
     "import time\n"
     "a = [{'i': i, 's': str(i) * 5} for i in range(150000)]\n"
     "open('smaps', 'w').write(open('/proc/self/smaps').read())\n"
     "print('ready', flush=True)\n"
     "time.sleep(100)\"",
     0, "outside-malloc", "Python objects (pymalloc)"},
    {"go", "command -v go >/dev/null",
     "cat >t.go <<'END'\n"
     "package main\n"
     "import (\"fmt\"; \"os\"; \"runtime\"; \"time\")\n"
     "func main() {\n"
     "    var keep [][]byte\n"
     "    for i := 0; i < 4000; i++ {\n"
     "        b := make([]byte, 10000)\n"
     "        for j := range b { b[j] = 1 }\n"
     "        keep = append(keep, b)\n"
     "    }\n"
     "    s, _ := os.ReadFile(\"/proc/self/smaps\")\n"
     "    os.WriteFile(\"smaps\", s, 0644)\n"
     "    fmt.Println(\"ready\")\n"
     "    time.Sleep(100 * time.Second)\n"
     "    runtime.KeepAlive(keep)\n"
     "}\n"
     "END\n"
     "export HOME=$PWD GOTRACEBACK=crash; CGO_ENABLED=0 go build -o t t.go && exec ./t",
     5, "other-allocator", "Go heap"},
    {"musl", "command -v musl-gcc >/dev/null",
     "cat >t.c <<'END'\n"
     "#include <stdlib.h>\n"
     "#include <string.h>\n"
     "#include <unistd.h>\n"
     "int main(void) {\n"
     "    static char *p[100000];\n"
     "    for (int i = 0; i < 100000; i++) memset(p[i] = malloc(64 + i % 900), 1, 64);\n"
     "    for (int i = 0; i < 100000; i += 3) free(p[i]);\n"
     "    if (system(\"cat /proc/$PPID/smaps >smaps\")) return 1;\n"
     "    write(1, \"ready\\n\", 6);\n"
     "    pause();\n"
     "}\n"
     "END\n"
     "musl-gcc -static -o t t.c && exec ./t",
     5, "other-allocator", "musl malloc"},
    {"jemalloc", LIBRARY("libjemalloc.so.2"), "LD_PRELOAD=libjemalloc.so.2 exec " PERL, 5,
     "other-allocator", "jemalloc"},
    {"tcmalloc", LIBRARY("libtcmalloc_minimal.so.4"),
     "LD_PRELOAD=libtcmalloc_minimal.so.4 exec " PERL, 5, "other-allocator", "tcmalloc"},
    {"mimalloc", LIBRARY("libmimalloc.so.2"), "LD_PRELOAD=libmimalloc.so.2 exec " PERL, 5,
     "other-allocator", "mimalloc"},
};

static bool analyze_with_smaps(struct e2e_run *run) {
    const char *corefrag = process_corefrag();
    assert_non_null(corefrag);
    snprintf(run->db_path, PATH_ROOM, "%.4000s/out.db", run->folder);
    char *const argv[] = {(char *)corefrag, "analyze", run->core, "-o",
                          run->db_path,     "--smaps", "smaps",   NULL};
    run->exit_code = process_run(run->folder, argv);
    return e2e_open(run);
}

/* A query about `text` that must return no row. A label may end in a version. */
static void must_not(sqlite3 *db, const char *format, const char *text) {
    char *sql = sqlite3_mprintf(format, text);
    e2e_no_rows(db, sql);
    sqlite3_free(sql);
}

static void run_runtime(void **state) {
    const struct runtime *runtime = *state;
    struct e2e_run run = {.scenario = runtime->name, .command = runtime->command};
    assert_true(e2e_make_core(&run));
    assert_true(analyze_with_smaps(&run));
    assert_int_equal(run.exit_code, runtime->exit_code);
    must_not(run.db, "SELECT * FROM v_verdict WHERE code <> %Q", runtime->verdict);
    must_not(run.db, "SELECT headline FROM v_verdict WHERE instr(headline, %Q) = 0",
             runtime->label);
    must_not(run.db,
             "SELECT label, resident_bytes FROM (SELECT * FROM v_budget WHERE is_anonymous"
             " ORDER BY resident_bytes DESC LIMIT 1) WHERE instr(label, %Q) <> 1",
             runtime->label);
    /* The kernel counted a moment earlier; gdb's cores show at least what is not zero. */
    if (e2e_number(run.db, "SELECT value FROM meta WHERE key = 'residency_exact'", 0) == 1)
        must_not(run.db,
                 "SELECT sum(anonymous_bytes) kernel, sum(ours_bytes) ours FROM v_kernel_mapping"
                 " WHERE instr(label, %Q) = 1 AND ours_bytes IS NOT NULL"
                 " HAVING abs(kernel - ours) > kernel / 50 OR kernel < 10 << 20",
                 runtime->label);
    e2e_no_rows(run.db, "SELECT total(b.mapped_bytes) budget, (SELECT total(mapped_bytes) FROM"
                        " v_segment) segments FROM v_budget b HAVING budget <> segments");
    e2e_end(&run);
}

/* Also where nothing is installed there is something that passes or fails: the wrong file. */
static void a_smaps_of_another_run_is_refused(void **state) {
    (void)state;
    struct e2e_run run = {.scenario = "bins"};
    assert_true(e2e_make_core(&run));
    char *const argv[] = {(char *)process_corefrag(), "analyze", run.core, "-o", "x.db",
                          "--smaps", "/proc/self/smaps", NULL};
    assert_int_equal(process_run(run.folder, argv), 3);
    char *talk = process_text(run.folder, "stderr");
    assert_non_null(talk);
    assert_non_null(strstr(talk, "/proc/self/smaps: the smaps is of another process"));
    free(talk);
    e2e_end(&run);
}

int main(void) {
    enum { NR = sizeof runtimes / sizeof *runtimes };
    struct CMUnitTest tests[NR + 1] = {cmocka_unit_test(a_smaps_of_another_run_is_refused)};
    size_t nr = 1;
    for (size_t i = 0; i < NR; i++) {
        if (system(runtimes[i].needs) != 0) {
            print_message("%s: not installed, left out\n", runtimes[i].name);
            continue;
        }
        tests[nr++] = (struct CMUnitTest){.name = runtimes[i].name,
                                          .test_func = run_runtime,
                                          .initial_state = (void *)&runtimes[i]};
    }
    return _cmocka_run_group_tests("runtimes", tests, nr, NULL, NULL);
}
