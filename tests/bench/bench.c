/*
 * Measures corefrag against the tools that bound it, on this machine, in one go.
 *
 *     build/bench [-r ROUNDS] [CHUNKS...]     5 rounds and 5,000,000 chunks unless told
 *
 * Seconds of one machine mean little on another; ratios hold. So in each round every command of a
 * section runs once, one right after the other, and each row shows the median of what the rounds
 * gave: of ours, of the yardstick, and of their ratios. Cores are made by build/gen/big and
 * build/gen/scale, read once before the first round so that the page cache holds them, and removed
 * with everything else in build/bench.d (KEEP=1 keeps it). The table for the readme is left in
 * build/bench.md. The status is 1 where a command failed, or gave nothing to measure; a missed
 * target only shows in its row.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "measure.h"
#include "sections.h"

enum { ROUNDS_MAX = 25, SIZES_MAX = 8 };

/* What the rounds of a section gave, command by command. */
struct results {
    unsigned rounds;
    struct sample samples[COMMANDS_MAX][ROUNDS_MAX];
    bool complete[COMMANDS_MAX];
};

/* Bytes of the heap, and of tables with 20 bytes for each of its chunks that are reached. */
struct heap {
    double mib;
    double graph_mib;
};

static struct heap heap_of(const struct section *section) {
    struct sample said;
    if (!measure_run(section->heap_bytes, &said))
        return (struct heap){0};
    return (struct heap){said.said[0] / 1048576, 20 * said.said[1] / 1048576};
}

static double value_of(const struct operand *operand, const struct sample *sample) {
    switch (operand->measure) {
    case CPU:
        return sample->cpu;
    case WALL:
        return sample->wall;
    case RSS:
        return sample->rss_mib;
    case ANONYMOUS:
        return sample->anonymous_mib;
    case SAID:
        return sample->said[0];
    case SAID_NEXT:
        return sample->said[1];
    case FILE_BYTES:
        return measure_file_bytes(operand->file);
    }
    return 0;
}

/* Those that ran in the first round only are the same in each. */
static double value_in(const struct section *section, const struct results *results,
                       const struct operand *operand, unsigned round) {
    bool once = section->commands[operand->command].once;
    return value_of(operand, &results->samples[operand->command][once ? 0 : round]);
}

static double target_of(const struct section *section, const struct row *row) {
    if (row->limit == FIXED)
        return row->target;
    struct heap heap = heap_of(section);
    double own = 32 + 0.03 * heap.mib;
    switch (row->limit) {
    case MEMORY_OWN:
        return own;
    case MEMORY_ALL:
        return own + 64;
    case MEMORY_GRAPH:
        return own + 64 + heap.graph_mib;
    case FIXED:
        break;
    }
    return row->target;
}

static const char *verdict_of(const struct row *row, double result, double target) {
    if (!(result > 0))
        return "FAILED";
    if (target == 0)
        return "";
    if (result > target)
        return "MISSED";
    return row->stretch > 0 && result <= row->stretch ? "holds, stretch too" : "holds";
}

static void print_number(double value, const char *unit) {
    printf(" %9.*f%-3s", value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 3 : 4, value, unit);
}

/* One row of the table; what it says stands in `out` for the readme. False: there was nothing. */
static bool show_row(const struct section *section, const struct results *results,
                     const struct row *row, double chunks, struct cell *out) {
    double ours[ROUNDS_MAX], theirs[ROUNDS_MAX], ratios[ROUNDS_MAX];
    bool complete = results->complete[row->ours.command] &&
                    (row->theirs.command == NOTHING || results->complete[row->theirs.command]);
    for (unsigned i = 0; complete && i < results->rounds; i++) {
        ours[i] = value_in(section, results, &row->ours, i) /
                  (row->ours.measure == FILE_BYTES ? chunks : 1);
        theirs[i] = row->theirs.command == NOTHING
                        ? 1
                        : value_in(section, results, &row->theirs, i);
        ratios[i] = ours[i] / theirs[i];
        complete = ours[i] > 0 && theirs[i] > 0;
    }
    double result = complete ? measure_median(ratios, results->rounds) : NAN;
    double target = target_of(section, row);
    const char *unit = unit_of(row->ours.measure);
    printf("  %-66s", row->what);
    print_number(complete ? measure_median(ours, results->rounds) : NAN, unit);
    if (row->theirs.command != NOTHING)
        print_number(complete ? measure_median(theirs, results->rounds) : NAN, unit);
    else
        printf(" %12s", "");
    print_number(result, row->theirs.command != NOTHING ? "" : unit);
    if (target > 0)
        print_number(target, row->theirs.command != NOTHING ? "" : unit);
    else
        printf(" %12s", "");
    printf("  %s\n", verdict_of(row, result, target));
    (void)fflush(stdout);
    *out = (struct cell){.result = result, .target = target};
    return complete;
}

static bool run_commands(const struct section *section, struct results *results) {
    bool complete = true;
    for (size_t i = 0; i < section->nr_commands; i++)
        results->complete[i] = true;
    for (unsigned round = 0; round < results->rounds; round++)
        for (size_t i = 0; i < section->nr_commands; i++) {
            const struct command *command = &section->commands[i];
            if (!results->complete[i] || (command->once && round > 0))
                continue;
            results->complete[i] = measure_run(command->text, &results->samples[i][round]);
            complete = complete && results->complete[i];
        }
    return complete;
}

static bool has_room(double bytes) {
    double free_bytes = measure_free_bytes("build");
    if (free_bytes >= bytes)
        return true;
    fprintf(stderr, "bench: %.1f GB are needed in build/, %.1f GB are free\n", bytes / 1e9,
            free_bytes / 1e9);
    return false;
}

/* `nr` is handed to the commands as $N, twice as much as $N2. */
static bool run_section(const struct section *section, unsigned long long nr, unsigned rounds,
                        struct cell *cells) {
    static struct results results;
    struct sample sample;
    char text[32], twice[32];
    (void)snprintf(text, sizeof text, "%llu", nr);
    (void)snprintf(twice, sizeof twice, "%llu", 2 * nr);
    if (setenv("N", text, 1) != 0 || setenv("N2", twice, 1) != 0 ||
        !has_room(section->room_bytes + section->room_bytes_each * (double)nr))
        return false;
    printf("\n%s", section->title);
    printf(section->room_bytes_each > 0 ? " %llu chunks\n" : "\n", nr);
    printf("  %-66s %12s %12s %12s %12s\n", "", "ours", "theirs", "result", "target");
    bool complete = measure_run(section->prepare, &sample);
    results.rounds = rounds;
    for (size_t i = 0; i < ROWS_MAX; i++)
        cells[i] = (struct cell){.result = NAN};
    if (!complete)
        printf("  FAILED: there is no core\n");
    if (complete) {
        complete = run_commands(section, &results);
        for (size_t i = 0; i < section->nr_rows; i++)
            complete = show_row(section, &results, &section->rows[i], (double)nr, &cells[i]) &&
                       complete;
    }
    if (getenv("KEEP") == NULL)
        complete = measure_run("rm -rf " FOLDER, &sample) && complete;
    return complete;
}

/* ---- the readme's table ---- */

static void put_cell(FILE *file, const struct row *row, const struct cell *cell) {
    const char *unit = row->theirs.command != NOTHING ? "" : unit_of(row->ours.measure);
    double value = cell->result;
    if (!(value > 0)) {
        (void)fprintf(file, " failed |");
        return;
    }
    int digits = value >= 100 ? 0 : value >= 10 ? 1 : value >= 0.1 ? 2 : 4;
    (void)fprintf(file, " %.*f%s%s%s |", digits, value,
                  unit[0] != '\0' ? " " : "", unit,
                  cell->target > 0 && value > cell->target ? " (missed)" : "");
}

static void put_target(FILE *file, const struct row *row) {
    if (row->limit == MEMORY_OWN)
        (void)fprintf(file, "3 %% + 32 MiB |");
    else if (row->limit == MEMORY_ALL)
        (void)fprintf(file, "3 %% + 96 MiB |");
    else if (row->limit == MEMORY_GRAPH)
        (void)fprintf(file, "3 %% + 96 MiB + 20 B a reachable chunk |");
    else if (row->target > 0)
        (void)fprintf(file, "%g%s%s |", row->target,
                      row->theirs.command != NOTHING ? "" : " ",
                      row->theirs.command != NOTHING ? "" : unit_of(row->ours.measure));
    else
        (void)fprintf(file, "|");
}

static void put_rows(FILE *file, const struct section *section, struct cell (*cells)[ROWS_MAX],
                     size_t nr_columns) {
    for (size_t i = 0; i < section->nr_rows; i++) {
        (void)fprintf(file, "| %s | ", section->rows[i].what);
        put_target(file, &section->rows[i]);
        for (size_t k = 0; k < nr_columns; k++)
            put_cell(file, &section->rows[i], &cells[k][i]);
        (void)fprintf(file, "\n");
    }
}

static bool run_sizes(const unsigned long long *sizes, size_t nr_sizes, unsigned rounds,
                      FILE *file) {
    static struct cell cells[SIZES_MAX][ROWS_MAX];
    bool complete = true;
    for (size_t i = 0; i < nr_sizes; i++)
        complete = run_section(&size_section, sizes[i], rounds, cells[i]) && complete;
    (void)fprintf(file, "| chunks | target |");
    for (size_t i = 0; i < nr_sizes; i++)
        (void)fprintf(file, " %g million |", (double)sizes[i] / 1e6);
    (void)fprintf(file, "\n|---|---|");
    for (size_t i = 0; i < nr_sizes; i++)
        (void)fprintf(file, "---|");
    (void)fprintf(file, "\n");
    put_rows(file, &size_section, cells, nr_sizes);
    return complete;
}

static bool run_scales(unsigned rounds, FILE *file) {
    static struct cell cells[1][ROWS_MAX];
    bool complete = true;
    (void)fprintf(file, "\n| much of one thing | target | |\n|---|---|---|\n");
    for (size_t i = 0; i < nr_scale_sections; i++) {
        complete = run_section(scale_sections[i], scale_sections[i]->nr, rounds, cells[0]) &&
                   complete;
        put_rows(file, scale_sections[i], cells, 1);
    }
    return complete;
}

/* Fills `sizes`; their number, or 0 for a command line that cannot be. */
static size_t parse(int argc, char **argv, unsigned *rounds, unsigned long long *sizes) {
    size_t nr = 0;
    for (int i = 1; i < argc; i++) {
        char *end;
        bool is_rounds = strcmp(argv[i], "-r") == 0 && i + 1 < argc;
        unsigned long long value = strtoull(argv[is_rounds ? ++i : i], &end, 10);
        if (*end != '\0' || value == 0 || nr == SIZES_MAX || (is_rounds && value > ROUNDS_MAX))
            return 0;
        if (is_rounds)
            *rounds = (unsigned)value;
        else
            sizes[nr++] = value;
    }
    if (nr == 0)
        sizes[nr++] = 5000000;
    return nr;
}

int main(int argc, char **argv) {
    unsigned long long sizes[SIZES_MAX];
    unsigned rounds = 5;
    size_t nr_sizes = parse(argc, argv, &rounds, sizes);
    FILE *file = nr_sizes > 0 ? fopen("build/bench.md", "w") : NULL;
    if (file == NULL) {
        fprintf(stderr, "usage: bench [-r ROUNDS up to %d] [CHUNKS...], where build/ is\n",
                ROUNDS_MAX);
        return 2;
    }
    measure_print_machine(stdout);
    printf("Medians of %u paired runs.\n", rounds);
    measure_print_machine(file);
    (void)fprintf(file, "Medians of %u paired runs.\n\n", rounds);
    bool complete = run_sizes(sizes, nr_sizes, rounds, file);
    complete = run_scales(rounds, file) && complete;
    return fclose(file) != 0 || !complete;
}
