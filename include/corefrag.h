/*
 * corefrag: reads an ELF core offline, rebuilds what glibc's malloc was doing, stores it in an
 * SQLite database and reports why the process holds its memory.
 *
 * This is the whole public interface of libcorefrag; the command line is its first client. The
 * library never prints, exits or aborts: it returns a status, fills the caller's struct cf_err,
 * talks through struct cf_context, and writes reports to the FILE that the caller hands in.
 * Nothing here keeps global state; calls on different threads do not disturb each other.
 *
 * Every call judges its arguments first and answers CF_EUSAGE, before anything is read or written,
 * where one is missing, empty or out of range. NULL is allowed for a context, for options (all
 * defaults) and for `err`; for others only where it is said.
 *
 * The option structs may grow at their end. `size` tells which of their members the caller knows:
 * begin with CF_OPTIONS_INIT and its like, or set it to sizeof; 0 stands for the members of 0.2.
 * samples/example.c shows an analysis, a report and a question in SQL.
 */
#ifndef COREFRAG_H
#define COREFRAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Of this header; cf_version_number() tells that of the library that is there at run time. */
#define CF_VERSION_MAJOR 0
#define CF_VERSION_MINOR 2
#define CF_VERSION_NUMBER (CF_VERSION_MAJOR * 1000 + CF_VERSION_MINOR)

/* What the shared library exports. */
#define CF_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

enum cf_status {
    CF_OK = 0,
    CF_EUSAGE,     /* the call's arguments make no sense together */
    CF_EINPUT,     /* the input cannot be read or is not a core */
    CF_EOUTPUT,    /* the output cannot be written, or exists and force was not given */
    CF_ENOTDB,     /* the database is not one of ours, or of a newer schema */
    CF_ENOMEM,     /* memory is out */
    CF_EINTERNAL,  /* a bug in this library, or in SQLite's answer to it */
    CF_ECANCELLED, /* progress() said so; nothing is left behind */
};

struct cf_err {
    int status;
    char text[1024]; /* one line of harmless text: file, offset or address, remedy */
};

/* How the library talks. Every callback may be NULL. None is ever called twice at a time during one
 * call of the library, but not always on the thread that made it. */
struct cf_context {
    size_t size;
    void *user;
    void (*log)(void *user, const char *text); /* a line of harmless text, without its newline */
    /* How far we are: a stage in words, and done of total in that stage's own unit (total 0: not
     * known). It is called many times a second while something takes long. Any result but 0 cancels
     * the call, which then returns CF_ECANCELLED within a moment. */
    int (*progress)(void *user, const char *stage, uint64_t done, uint64_t total);
    /* A temporary file is about to be made at `path` (exists), or is gone, renamed or removed: for
     * a caller that may be ended by a signal and then has to remove what is left. */
    void (*temporary)(void *user, const char *path, bool exists);
};

#define CF_CONTEXT_INIT {.size = sizeof(struct cf_context)}

/* What an analysis that succeeded found. */
enum cf_outcome {
    CF_OUTCOME_WHOLE = 0,
    CF_OUTCOME_INCOMPLETE, /* done, but the core is incomplete */
    CF_OUTCOME_NO_HEAP,    /* done, but there is no glibc malloc heap in it */
    CF_OUTCOME_CORRUPT,    /* done, but the heap is corrupt where the core is complete, or malloc
                              says so */
};

/* Which chunks the database lists. */
enum cf_chunks { CF_CHUNKS_ALL, CF_CHUNKS_FREE, CF_CHUNKS_NONE };

enum cf_depth {
    CF_DEPTH_FULL,   /* malloc, and what its live chunks are: reachability, leaks, types, holders */
    CF_DEPTH_MALLOC, /* malloc alone */
};

/* All zero is the default of each. Paths are borrowed for the duration of the call. */
struct cf_options {
    size_t size;
    const char *exe;        /* the program's file, where the core's path does not lead to it */
    const char *sysroot;    /* the container image, unpacked */
    const char *debuginfo;  /* a folder of debug files, by build id below .build-id */
    const char *smaps_path; /* /proc/PID/smaps or smaps_rollup, saved beside the core */
    const char *cgroup_path;
    unsigned cpus;          /* cores that the process could use; 0: not known */
    enum cf_chunks chunks;
    enum cf_depth depth;
    unsigned threads;       /* 0: as many as there are cores */
    bool debuginfod;        /* ask the servers of DEBUGINFOD_URLS: the one use of a network */
    bool previews;          /* keep first words of texts, which are the process's memory */
    bool force;             /* overwrite an existing database */
};

#define CF_OPTIONS_INIT {.size = sizeof(struct cf_options)}

/*
 * Analyzes the core at `core_path` ("-": standard input) into a new database at `db_path`, which
 * appears only when complete, with mode 0600. Neither an input nor an ELF file is ever overwritten
 * (CF_EUSAGE).
 */
CF_API int cf_analyze(const struct cf_context *ctx, const char *core_path, const char *db_path,
                      const struct cf_options *options, enum cf_outcome *out, struct cf_err *err);

/* Writes one screen to `sink`: which core, whether it is whole, whether glibc malloc is in it. */
CF_API int cf_check(const struct cf_context *ctx, const char *core_path,
                    const struct cf_options *options, FILE *sink, enum cf_outcome *out,
                    struct cf_err *err);

enum cf_format { CF_FORMAT_TEXT, CF_FORMAT_MARKDOWN, CF_FORMAT_HTML, CF_FORMAT_JSON };

/* All zero is the default of each. */
struct cf_report_options {
    size_t size;
    enum cf_format format;
    unsigned top;   /* rows of a section; 0: each section's own default */
    bool full;      /* all rows, exact bytes */
    bool color;     /* terminal colours (text only) */
    unsigned width; /* columns of the text, 20 to 10,000; 0: 100 */
};

#define CF_REPORT_OPTIONS_INIT {.size = sizeof(struct cf_report_options)}

/* Writes the report of the database at `db_path` to `sink`. */
CF_API int cf_report(const struct cf_context *ctx, const char *db_path,
                     const struct cf_report_options *options, FILE *sink, struct cf_err *err);

/*
 * A limit that a soak test sets, as text: METRIC=LIMIT, where METRIC is retained, releasable,
 * pinned, leak (bytes: 1073741824, 10M, 1.5G, or a percentage of the resident heap: 50%), arenas or
 * anomalies (a count). CF_EUSAGE: no such metric, or no such limit.
 */
CF_API int cf_gate_check(const char *limit, struct cf_err *err);

/*
 * Measures what the database at `db_path` says against `limit`. `*crossed` is true where the value
 * is above it, or is not known; `says` receives a line with the value either way, cut to
 * `says_bytes` (256 are enough); NULL and 0: not wanted.
 */
CF_API int cf_gate_measure(const struct cf_context *ctx, const char *db_path, const char *limit,
                           bool *crossed, char *says, size_t says_bytes, struct cf_err *err);

/*
 * Whether a file may be written to `path`, for callers that keep a report in a file: CF_EUSAGE
 * where it is one of the `nr_inputs` inputs (the same file, also through links; "-" is standard
 * input, NULL is passed over), an ELF file, or (`is_report`) a database of ours. Nothing else about
 * the path is judged. cf_analyze() asks the same of its database, whatever `force` says.
 */
CF_API int cf_output_check(const char *path, bool is_report, const char *const *inputs,
                           size_t nr_inputs, struct cf_err *err);

/*
 * Writes to `sink` what grew between two cores of one program, from their databases, the largest
 * first. CF_EUSAGE when they are of different programs and `any_program` is false.
 */
CF_API int cf_diff(const struct cf_context *ctx, const char *old_path, const char *new_path,
                   const struct cf_report_options *options, bool any_program, FILE *sink,
                   struct cf_err *err);

/*
 * Writes to `sink` what stands at an address of the process: mapping, heap, chunk with its
 * neighbours, hole, page, who holds it. The database alone will do; with the core too
 * (`core_path`, or NULL) it also tells the symbol there and what the words look like, never their
 * bytes. Of `options` only those count that name files. CF_EUSAGE: another process's core.
 */
CF_API int cf_explain(const struct cf_context *ctx, const char *db_path, uint64_t address,
                      const char *core_path, const struct cf_options *options, FILE *sink,
                      struct cf_err *err);

/* Writes the documented schema to `sink`, or one view's part of it (`view` not NULL). CF_EUSAGE: no
 * such view. */
CF_API int cf_schema(const char *view, FILE *sink, struct cf_err *err);

/*
 * Writes `raw` to `out` as one line of valid UTF-8 that drives no terminal: control characters and
 * bytes that are no UTF-8 as \x1b, format and direction characters as \u{202e}. Names in a database
 * are as they were in the core. Returns the length of the whole; it is cut to `bytes`.
 */
CF_API size_t cf_escape(const char *raw, char *out, size_t bytes);

/* The version of the library, as "0.2" (static), and as CF_VERSION_NUMBER. */
CF_API const char *cf_version(void);
CF_API int cf_version_number(void);

#ifdef __cplusplus
}
#endif

#endif
