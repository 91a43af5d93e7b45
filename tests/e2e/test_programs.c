/*
 * Programs that were not made for us: their cores analyze without an anomaly, and the figures add
 * up. One that is not installed is left out, which the output says.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>

struct program {
    const char *name;
    const char *needs; /* a command that must exist */
    const char *command;
    bool by_gdb; /* too; a JVM's dense core would be gigabytes */
};

static const struct program programs[] = {
    {"python3", "python3",
     "exec python3 -c \"import time, json, re\n"
     "a = [{'i': i, 's': str(i) * 5} for i in range(50000)]\n"
     "b = a[::7]\n"
     "del a\n"
     "print('ready', flush=True)\n"
     "time.sleep(100)\"",
     true},
    {"perl", "perl",
     "exec perl -e '$| = 1; %h = map { $_ => \"x\" x ($_ % 300) } 1..50000;"
     " delete $h{$_} for grep { $_ % 3 } 1..50000; print \"ready\\n\"; sleep 100'",
     true},
    {"node", "node",
     "exec node -e 'const m = new Map();"
     " for (let i = 0; i < 50000; i++) m.set(i, Buffer.alloc(100 + i % 2000));"
     " for (let i = 0; i < 50000; i += 3) m.delete(i);"
     " console.log(\"ready\"); setInterval(() => m, 1000)'",
     false},
    {"java", "javac",
     "cat >S.java <<'END'\n"
     "import java.util.*;\n"
     "public class S {\n"
     "    public static void main(String[] a) throws Exception {\n"
     "        List<byte[]> l = new ArrayList<>();\n"
     "        for (int i = 0; i < 20000; i++) l.add(new byte[1000]);\n"
     "        for (int t = 0; t < 20; t++)\n"
     "            new Thread(() -> {\n"
     "                new java.util.zip.Deflater();\n"
     "                try { Thread.sleep(100000); } catch (Exception e) {}\n"
     "            }).start();\n"
     "        System.out.println(\"ready\");\n"
     "        Thread.sleep(100000);\n"
     "    }\n"
     "}\n"
     "END\n"
     "javac S.java && exec java -Xmx64m -cp . S",
     false},
    {"nginx", "nginx",
     "cat >n.conf <<END\n"
     "daemon off; master_process off; pid $PWD/n.pid; events {}\n"
     "http { access_log off; server { listen unix:$PWD/n.sock; location / { return 200; } } }\n"
     "END\n"
     "(sleep 1; echo ready) & exec nginx -c $PWD/n.conf -e stderr",
     true},
};

static bool is_installed(const char *command) {
    char test[128];
    snprintf(test, sizeof test, "command -v %s >/dev/null", command);
    return system(test) == 0;
}

static void something_is_left_to_run(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (is_installed(programs[i].needs))
            return;
    }
    print_message("none of the programs is installed\n");
    skip();
}

int main(void) {
    const struct CMUnitTest first[] = {cmocka_unit_test(something_is_left_to_run)};
    int failed = cmocka_run_group_tests(first, NULL, NULL);
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        const struct program *program = &programs[i];
        if (!is_installed(program->needs)) {
            print_message("%s: not installed, left out\n", program->name);
            continue;
        }
        failed += e2e_program(program->name, program->command, E2E_ANY);
        if (program->by_gdb)
            failed += e2e_program(program->name, program->command, E2E_GDB);
    }
    return failed != 0;
}
