/*
 * corefrag: reads an ELF core offline, rebuilds what glibc's malloc was doing, stores it in an
 * SQLite database and reports why the process holds its memory.
 *
 * This is the whole public interface of libcorefrag; the command line is its first client. The
 * library never prints, exits or aborts: it returns a status, fills the caller's struct cf_err,
 * talks through struct cf_context, and writes reports to the FILE that the caller hands in.
 * Nothing here keeps global state; calls on different threads do not disturb each other.
 */
#ifndef COREFRAG_H
#define COREFRAG_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum cf_status {
    CF_OK = 0,
    CF_EUSAGE,    /* the call's arguments make no sense together */
    CF_EINPUT,    /* the input cannot be read or is not a core */
    CF_EOUTPUT,   /* the output cannot be written, or exists and force was not given */
    CF_ENOTDB,    /* the database is not one of ours, or of a newer schema */
    CF_ENOMEM,    /* memory is out */
    CF_EINTERNAL, /* a bug in this library, or in SQLite's answer to it */
};

struct cf_err {
    int status;
    char text[1024]; /* one line without a newline: file, offset or address, remedy */
};

/* How the library talks. Every member may be NULL. */
struct cf_context {
    void *user;
    void (*log)(void *user, const char *text);
    void (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
    /* A temporary file is about to be made at `path` (exists), or is gone, renamed or removed: for
     * a caller that may be ended by a signal and then has to remove what is left. */
    void (*temporary)(void *user, const char *path, bool exists);
};

/* What an analysis that succeeded found; the values are the exit codes of the command line. */
enum cf_outcome {
    CF_OUTCOME_WHOLE = 0,
    CF_OUTCOME_INCOMPLETE = 4, /* done, but the core is incomplete */
    CF_OUTCOME_NO_HEAP = 5,    /* done, but there is no glibc malloc heap in it */
    CF_OUTCOME_CORRUPT = 6,    /* done, but the heap is inconsistent where the core is complete */
};

enum cf_chunks { CF_CHUNKS_ALL, CF_CHUNKS_FREE, CF_CHUNKS_NONE, CF_CHUNKS_COMPACT };

/* All zero is the default of each. Paths are borrowed for the duration of the call. */
struct cf_options {
    const char *exe;        /* the program's file, where the core's path does not lead to it */
    const char *sysroot;    /* the container image, unpacked */
    const char *debuginfo;  /* a folder of debug files, by build id below .build-id */
    const char *smaps_path; /* /proc/PID/smaps or smaps_rollup, saved beside the core */
    const char *cgroup_path;
    unsigned cpus;          /* cores that the process could use; 0: not known */
    enum cf_chunks chunks;
    bool debuginfod;
    bool no_reach;
    bool retained;
    bool previews;
    bool safe;
    bool force;
    unsigned threads;       /* 0: as many as there are cores */
};

/*
 * Analyzes the core at `core_path` ("-": standard input) into a new database at `db_path`, which
 * appears only when complete, with mode 0600.
 */
int cf_analyze(const struct cf_context *ctx, const char *core_path, const char *db_path,
               const struct cf_options *options, enum cf_outcome *out, struct cf_err *err);

/* Writes one screen to `sink`: which core, whether it is whole, whether glibc malloc is in it. */
int cf_check(const struct cf_context *ctx, const char *core_path, const struct cf_options *options,
             FILE *sink, enum cf_outcome *out, struct cf_err *err);

enum cf_format { CF_FORMAT_TEXT, CF_FORMAT_MARKDOWN, CF_FORMAT_HTML, CF_FORMAT_JSON };

struct cf_report_options {
    enum cf_format format;
    unsigned top;   /* rows of a section; 0: each section's own default */
    bool full;      /* all rows, exact bytes */
    bool color;     /* terminal colours (text only) */
    unsigned width; /* columns of the text; 0: 100 */
};

/* Writes the report of the database at `db_path` to `sink`. */
int cf_report(const struct cf_context *ctx, const char *db_path,
              const struct cf_report_options *options, FILE *sink, struct cf_err *err);

/*
 * A limit that a soak test sets: METRIC=LIMIT, where METRIC is retained, releasable, pinned, leak
 * (bytes: 1073741824, 10M, 1.5G, or a percentage of the resident heap: 50%), arenas or anomalies
 * (a count). Fill it with cf_gate_parse() alone.
 */
struct cf_gate {
    unsigned metric;
    bool is_percent;
    double limit;
    char text[64]; /* as it was given */
};

/* CF_EUSAGE: no such metric, or no such limit. */
int cf_gate_parse(const char *text, struct cf_gate *out, struct cf_err *err);

/*
 * Measures what the database at `db_path` says. `*crossed` is true where the value is above the
 * limit, or is not known; `says` receives a line with the value either way.
 */
int cf_gate_measure(const char *db_path, const struct cf_gate *gate, bool *crossed,
                    char says[256], struct cf_err *err);

/*
 * Writes to `sink` what grew between two cores of one program, from their databases, the largest
 * first. CF_EUSAGE when they are of different programs and `any_program` is false.
 */
int cf_diff(const struct cf_context *ctx, const char *old_path, const char *new_path,
            const struct cf_report_options *options, bool any_program, FILE *sink,
            struct cf_err *err);

/*
 * Writes to `sink` what stands at an address of the process: mapping, heap, chunk with its
 * neighbours, hole, page, who holds it. The database alone will do; with the core too
 * (`core_path`, or NULL) it also tells the symbol there and what the words look like, never their
 * bytes. Of `options` only those count that name files. CF_EUSAGE: another process's core.
 */
int cf_explain(const struct cf_context *ctx, const char *db_path, uint64_t address,
               const char *core_path, const struct cf_options *options, FILE *sink,
               struct cf_err *err);

/* Writes the documented schema, or one view's part of it, to `sink`; CF_EUSAGE: no such view. */
int cf_schema(const char *view, FILE *sink, struct cf_err *err);

/* The version of the library, as "0.1"; static. */
const char *cf_version(void);

#ifdef __cplusplus
}
#endif

#endif
