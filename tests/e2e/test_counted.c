/*
 * With the kernel's own count: smaps of a real process taken while it stood still, against which
 * every resident byte is held, and recorded files of cgroups.
 */
#include "e2e.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct e2e_run run;

static bool make_core(const char *how, enum e2e_producer producer) {
    char program[PATH_ROOM];
    static char command[2 * PATH_ROOM];
    if (!process_generator("counted", program))
        return false;
    snprintf(command, sizeof command, "exec %s . %s", program, how);
    run = (struct e2e_run){.scenario = "counted", .command = command, .producer = producer};
    return e2e_make_core(&run);
}

static void analyze(char *option, char *value) {
    snprintf(run.db_path, PATH_ROOM, "%.4000s/out.db", run.folder);
    char *const argv[] = {(char *)process_corefrag(), "analyze", run.core, "-o", run.db_path,
                          "--force", option, value, NULL};
    if (run.db != NULL)
        sqlite3_close(run.db);
    run.db = NULL;
    run.exit_code = process_run(run.folder, argv);
    assert_true(e2e_open(&run));
}

static long long number(const char *sql) {
    return e2e_number(run.db, sql, -1);
}

/* The sum of a figure over a text of smaps, in bytes. */
static long long summed(const char *text, const char *name) {
    long long kib = 0;
    size_t length = strlen(name);
    for (const char *at = text; at != NULL; at = strchr(at, '\n'), at += at != NULL)
        if (strncmp(at, name, length) == 0 && at[length] == ':')
            kib += strtoll(at + length + 1, NULL, 10);
    return kib * 1024;
}

/* What the process itself wrote down of a mapping. */
static long long witnessed(const char *name) {
    char *text = process_text(run.folder, "counted.txt");
    assert_non_null(text);
    char *at = strstr(text, name);
    assert_non_null(at);
    long long bytes = strtoll(strchr(at, '\t'), NULL, 10);
    free(text);
    return bytes;
}

static void check_sum(void) {
    char *text = process_text(run.folder, "stopped.smaps");
    assert_non_null(text);
    long long rss = summed(text, "Rss");
    assert_true(rss > 0);
    assert_int_equal(number("SELECT sum(bytes) FROM v_rss WHERE in_rss"), rss);
    assert_int_equal(number("SELECT sum(resident_bytes) FROM v_budget"), rss);
    assert_int_equal(number("SELECT kernel_rss_bytes FROM v_fact"), rss);
    assert_int_equal(number("SELECT kernel_pss_bytes FROM v_fact"), summed(text, "Pss"));
    free(text);
    e2e_no_rows(run.db, "SELECT * FROM v_budget WHERE resident_bytes IS NULL AND"
                        " kind NOT IN ('malloc main heap', 'malloc arena heaps')");
    e2e_no_rows(run.db, "SELECT total(mapped_bytes) AS b, (SELECT total(mapped_bytes) FROM"
                        " v_segment) AS s FROM v_budget HAVING b <> s");
}

/* The program's own page tables agree with what is made of smaps. */
static void check_mappings(void) {
    assert_int_equal(number("SELECT resident_bytes FROM v_module WHERE file LIKE '%/data.mdb'"),
                     witnessed("mapped"));
    assert_int_equal(number("SELECT resident_bytes FROM v_budget WHERE kind = 'shared memory'"),
                     witnessed("shared"));
    assert_int_equal(number("SELECT sum(content_bytes) FROM v_unknown_memory WHERE why ="
                            " 'DONTDUMP'"), witnessed("hidden"));
    e2e_no_rows(run.db, "SELECT title FROM v_finding WHERE code = 'by-smaps' AND"
                        " title NOT LIKE '%; the largest mapped file is data.mdb, 3.0 MiB of it%'");
    /* Less than half of Rss: below it, but not in the headline. */
    e2e_no_rows(run.db, "SELECT headline FROM v_verdict WHERE headline LIKE '%data.mdb%'");
    /* Half of four MiB of heap are still the child's too. */
    assert_in_range(number("SELECT forked_bytes FROM v_fact"), 2 << 20, 3 << 20);
    e2e_no_rows(run.db, "SELECT title FROM v_finding WHERE code = 'by-smaps' AND title NOT LIKE"
                        " '%anonymous memory is shared with the parent or a child%'");
}

static void a_kernel_core_is_exact_where_smaps_says_so(void **state) {
    (void)state;
    if (!make_core("", E2E_ANY) || run.by_gdb)
        skip();
    analyze("--smaps", "stopped.smaps");
    check_sum();
    check_mappings();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'residency_exact'"), 1);
    e2e_no_rows(run.db, "SELECT * FROM v_budget WHERE kind = 'not in the core'");
    /* The same core, and a smaps in which the kernel counts one page more. */
    char sed[2 * PATH_ROOM];
    snprintf(sed, sizeof sed,
             "cd '%s' && awk '/\\[heap\\]/ { on = 1 } on && /^Rss:/ { $2 += 4; on = 0 } 1'"
             " OFS=' ' stopped.smaps >more.smaps", run.folder);
    assert_int_equal(system(sed), 0);
    analyze("--smaps", "more.smaps");
    e2e_no_rows(run.db, "SELECT m.* FROM meta m, meta s WHERE m.key = 'residency_exact' AND"
                        " m.value = 1 AND s.key = 'residency_source' AND s.value = 'smaps'");
    e2e_end(&run);
}

/* A page that is all zeros again is in memory, and a core without holes cannot show it. */
static void a_page_of_zeros_is_counted_and_not_placed(void **state) {
    (void)state;
    if (!make_core("zeros", E2E_GDB))
        skip();
    analyze("--smaps", "stopped.smaps");
    check_sum();
    assert_int_equal(number("SELECT value FROM meta WHERE key = 'residency_exact'"), 0);
    assert_in_range(number("SELECT sum(difference_bytes) FROM v_kernel_mapping WHERE kind ="
                           " 'module bss'"), 4096, 1 << 20);
    e2e_no_rows(run.db, "SELECT (SELECT sum(max(difference_bytes, 0)) FROM v_kernel_mapping) AS"
                        " more, resident_bytes FROM v_budget WHERE kind = 'not in the core' AND"
                        " resident_bytes < more");
    e2e_no_rows(run.db, "SELECT * FROM meta WHERE key = 'smaps_confirms' AND value = 'exact'");
    e2e_end(&run);
}

static void shell(const char *commands) {
    char line[2 * PATH_ROOM];
    const char *core = strrchr(run.core, '/') + 1;
    assert_true(snprintf(line, sizeof line, "cd '%s' && core='%s' && %s", run.folder, core,
                         commands) < (int)sizeof line);
    assert_int_equal(system(line), 0);
}

static void must_say(const char *what, const char *sentence) {
    char *sql = sqlite3_mprintf("SELECT %s FROM v_verdict LEFT JOIN v_finding f ON"
                                " f.code = 'by-cgroup' WHERE instr(coalesce(%s, ''), %Q) = 0",
                                what, what, sentence);
    e2e_no_rows(run.db, sql);
    sqlite3_free(sql);
}

static void the_file_that_is_most_of_it_stands_in_the_headline(void **state) {
    (void)state;
    if (!make_core("file", E2E_ANY))
        skip();
    analyze("--smaps", "stopped.smaps");
    check_sum();
    must_say("headline", " 12.0 MiB of ");
    must_say("headline", " MiB Rss is the mapped file data.mdb.");
    e2e_end(&run);
}

static void put(const char *name, const char *text) {
    char path[PATH_ROOM];
    snprintf(path, sizeof path, "%.4000s/group/%s", run.folder, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void make_group(void) {
    shell("mkdir group");
}

static void empty_group(void) {
    shell("rm -f group/*");
}

static void the_limit_stands_in_the_headline(void **state) {
    (void)state;
    char *group = "group";
    run = (struct e2e_run){.scenario = "server-all"};
    assert_true(e2e_make_core(&run));
    make_group();
    put("memory.stat", "anon 377487360\nfile 9437184\nsock 12582912\n");
    put("memory.current", "418381824\n");
    put("memory.peak", "419430400\n");
    put("memory.max", "419430400\n");
    put("memory.events", "low 0\nhigh 0\nmax 60\noom 2\noom_kill 2\n");
    analyze("--cgroup", group);
    must_say("headline", " 400.0 MiB limit, 2 kills; malloc's free memory is ");
    must_say("f.detail", "The cgroup has 399.0 MiB in use. Its most so far is 400.0 MiB. Its "
                         "sockets hold 12.0 MiB. Its page cache holds 9.0 MiB.");
    e2e_no_rows(run.db, "SELECT headline, retained_free_bytes FROM v_verdict WHERE"
                        " instr(headline, printf('is %.1f %% of it', retained_free_bytes * 100.0 /"
                        " 419430400)) = 0");
    empty_group();
    put("memory.stat", "cache 1\nrss 2\ntotal_cache 2097152\ntotal_rss 4194304\n");
    put("memory.limit_in_bytes", "209715200\n");
    put("memory.max_usage_in_bytes", "104857600\n");
    put("memory.kmem.tcp.usage_in_bytes", "1048576\n");
    put("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n");
    analyze("--cgroup", group);
    must_say("headline", " 200.0 MiB limit, 1 kill; malloc's free memory is ");
    must_say("f.detail", "Its most so far is 100.0 MiB. Its sockets hold 1.0 MiB. Its page cache "
                         "holds 2.0 MiB.");
    empty_group();
    put("memory.max", "max\n");
    put("memory.events", "oom_kill 0\n");
    analyze("--cgroup", group);
    e2e_no_rows(run.db, "SELECT headline FROM v_verdict WHERE headline LIKE '%limit%'");
    e2e_no_rows(run.db, "SELECT title FROM v_finding WHERE code LIKE '%cgroup%'");
    /* No limit and no kill: what the group has is said all the same. */
    put("memory.current", "418381824\n");
    put("memory.stat", "anon 377487360\nfile 9437184\nsock 12582912\n");
    analyze("--cgroup", group);
    e2e_no_rows(run.db, "SELECT headline FROM v_verdict WHERE headline LIKE '%limit%'");
    e2e_no_rows(run.db, "SELECT count(*) AS n FROM v_finding WHERE code = 'cgroup-use' AND detail ="
                        " 'The cgroup has 399.0 MiB in use. Its sockets hold 12.0 MiB. Its page"
                        " cache holds 9.0 MiB.' HAVING n <> 1");
    shell("rm -r group");
    e2e_end(&run);
}

/* The waterfall is every resident byte of malloc, whatever was asked for. */
static void each_option_leaves_the_waterfall_whole(void **state) {
    (void)state;
    static char *const options[][2] = {
        {"--chunks", "none"}, {"--no-reach", NULL},        {"--cpus", "3"}, {"--threads", "1"},
        {"--previews", NULL}, {"--smaps", "stopped.smaps"}, {"--cgroup", "group"},
    };
    if (!make_core("", E2E_ANY))
        skip();
    make_group();
    put("memory.max", "419430400\n");
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        analyze(options[i][0], options[i][1]);
        print_message("%s\n", options[i][0]);
        e2e_no_rows(run.db, "SELECT sum(bytes) AS told, heap_resident_bytes FROM v_waterfall,"
                            " v_verdict GROUP BY 2 HAVING told IS NOT heap_resident_bytes");
        assert_true(number("SELECT sum(bytes) FROM v_waterfall") > 3 << 20);
    }
    shell("rm -r group");
    e2e_end(&run);
}

/* ---- found, and not named ---- */

static void side_files_are(const char *rows) {
    char *sql = sqlite3_mprintf(
        "SELECT coalesce(group_concat(place || ' ' || kind || iif(is_used, '', ' refused'), ', '),"
        " '') AS told FROM v_side_file GROUP BY 'all' HAVING told <> %Q"
        " UNION ALL SELECT 'none' WHERE %Q <> '' AND NOT EXISTS (SELECT 1 FROM v_side_file)",
        rows, rows);
    e2e_no_rows(run.db, sql);
    sqlite3_free(sql);
}

static void what_stands_beside_the_core_is_used(void **state) {
    (void)state;
    if (!make_core("", E2E_ANY) || run.by_gdb)
        skip();
    analyze("--chunks", "none");
    side_files_are("");
    shell("cp stopped.smaps smaps && mkdir cgroup && echo 419430400 >cgroup/memory.max &&"
          " mkfifo memory.max && ln -s stopped.smaps \"$core.smaps\"");
    analyze("--chunks", "none");
    side_files_are("beside the core smaps, beside the core cgroup");
    check_sum();
    must_say("headline", " 400.0 MiB limit");
    /* What is named is used alone. */
    analyze("--smaps", "stopped.smaps");
    side_files_are("named smaps, beside the core cgroup");
    /* Another process's: this test's own. */
    shell("rm \"$core.smaps\" && cat /proc/self/smaps >\"$core.smaps\" &&"
          " cat /proc/self/smaps_rollup >\"$core.smaps_rollup\" &&"
          " echo 4096 >cgroup/memory.peak");
    analyze("--chunks", "none");
    side_files_are("beside the core smaps refused, beside the core smaps,"
                   " beside the core cgroup refused");
    check_sum();
    e2e_no_rows(run.db, "SELECT headline FROM v_verdict WHERE headline LIKE '%limit%'");
    e2e_no_rows(run.db, "SELECT count(*) AS n FROM v_finding WHERE code = 'side-file-refused' AND"
                        " detail LIKE '%not those of the core%' HAVING n <> 1");
    shell("rm smaps && echo 1 >>cgroup/memory.peak && echo x >cgroup/memory.peak");
    analyze("--chunks", "none");
    side_files_are("beside the core smaps refused, beside the core smaps_rollup refused,"
                   " beside the core cgroup refused");
    assert_int_equal(number("SELECT count(*) FROM v_kernel"), 0);
    /* A side file is an input, and so no output. */
    char *const argv[] = {(char *)process_corefrag(), "analyze", run.core, "-o",
                          "cgroup/memory.max", "--force", NULL};
    assert_int_equal(process_run(run.folder, argv), 2);
    shell("rm -r cgroup");
    e2e_end(&run);
}

static void what_an_archive_holds_is_used(void **state) {
    (void)state;
    if (!make_core("", E2E_ANY) || run.by_gdb)
        skip();
    shell("mkdir -p e/proc e/cgroup/below && cp --sparse=always \"$core\" e/ &&"
          " cp stopped.smaps e/proc/smaps && echo 419430400 >e/cgroup/memory.max &&"
          " echo 4096 >e/cgroup/below/memory.max && cp /proc/self/smaps e/proc/1.smaps &&"
          " tar -czf \"$core.tgz\" e && rm -r e && mv \"$core.tgz\" \"$core\" && touch smaps");
    analyze("--chunks", "none");
    side_files_are("in the archive smaps, in the archive cgroup");
    check_sum();
    must_say("headline", " 400.0 MiB limit");
    e2e_end(&run);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_kernel_core_is_exact_where_smaps_says_so),
        cmocka_unit_test(a_page_of_zeros_is_counted_and_not_placed),
        cmocka_unit_test(the_file_that_is_most_of_it_stands_in_the_headline),
        cmocka_unit_test(the_limit_stands_in_the_headline),
        cmocka_unit_test(each_option_leaves_the_waterfall_whole),
        cmocka_unit_test(what_stands_beside_the_core_is_used),
        cmocka_unit_test(what_an_archive_holds_is_used),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
