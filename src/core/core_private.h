/*
 * What the files of this folder share: the open core, filled in the order mapping (corefile.c),
 * headers (headers.c), notes (notes.c, threads.c, filenotes.c), producer (producer.c), blanks
 * (blank.c).
 */
#ifndef CF_CORE_CORE_PRIVATE_H
#define CF_CORE_CORE_PRIVATE_H

#include <time.h>

#include "base/array.h"
#include "base/bus_guard.h"
#include "base/cursor.h"
#include "core/core.h"

enum {
    CF_CORE_MAX_SEGMENTS =
        1 << 23,            /* the kernel's own limit is vm.max_map_count, 65,530 at first */
    CF_CORE_MAX_FLAWS = 64, /* the last one says that there are more */
};

/* One PT_NOTE, clipped to the file. */
struct note_range {
    uint64_t offset;
    uint64_t file_bytes;
    uint64_t present_bytes;
};

/* Which kinds of notes were met; the producer is judged by them. */
struct note_evidence {
    unsigned nr_notes;
    unsigned nr_psinfo;
    unsigned nr_auxv;
    unsigned nr_others; /* neither PRSTATUS, PRPSINFO nor AUXV */
    bool first_is_psinfo;
    bool siginfo_after_psinfo;
    bool createdump_tag; /* the padding behind "CORE" spells PRP, AUX, FIL or THR */
    uint32_t last_type;
};

/* Pages that are about to be dropped (drop.c); the only thing of an open core that changes. */
struct core_window;
struct core_window *cf_core_window_new(void);
void cf_core_window_free(struct core_window *window);

struct cf_core {
    char *name;
    int fd;
    unsigned char *map;
    uint64_t map_bytes;
    struct timespec modified; /* the file, when it was mapped */
    struct cf_bus_guard *guard;
    CF_ARRAY(struct cf_core_extent) extents; /* the file's data */
    CF_ARRAY(struct cf_core_extent) copies;  /* parts of the mapping that must not be dropped */
    uint64_t usable_bytes; /* less where the file's end is zeros that nobody meant */
    struct cf_core_origin origin;
    struct core_window *window;
    enum cf_machine machine;
    unsigned word_bytes;
    enum cf_producer producer;

    /* Of the ELF header. */
    unsigned char os_abi;
    uint64_t header_bytes;
    uint64_t table_offset; /* e_phoff */
    uint64_t entry_bytes;  /* of one program header */
    uint64_t section_offset;
    uint32_t nr_sections;

    uint64_t declared_segments; /* PT_LOAD and others, as the table's length says */
    uint64_t nr_entries;        /* of those, in the file */
    uint64_t missing_bytes;
    bool damaged;      /* incomplete in a way that missing_bytes does not count */
    const char *left_out; /* static; NULL: nothing that anybody knows of */
    bool is_blank;     /* zeros stand where data must be ... */
    uint64_t blank_at; /* ... at this offset of the file */
    CF_ARRAY(struct cf_segment) segments;
    CF_ARRAY(struct note_range) notes;
    CF_ARRAY(struct cf_core_thread) threads;
    CF_ARRAY(struct cf_core_file) files;
    CF_ARRAY(struct cf_core_flaw) flaws;

    struct note_evidence evidence;
    bool has_files;
    bool files_seen;
    const unsigned char *auxv;
    size_t auxv_bytes;
    uint32_t pid;
    int32_t siginfo_signal;
    int32_t siginfo_code;  /* si_code: above 0 the kernel says why */
    uint64_t siginfo_addr; /* si_addr, where the signal is of a fault */
    char command[17];
    char arguments[81];
};

/* Adds a flaw; beyond CF_CORE_MAX_FLAWS it is only counted in the last one's text. Running out of
 * memory here loses the flaw and nothing else, since it is talk about a core that opens anyway. */
void cf_core_add_flaw(struct cf_core *core, const char *code, uint64_t offset, const char *format,
                      ...) __attribute__((format(printf, 4, 5)));

/* Adds to missing_bytes, which sticks at its maximum. */
void cf_core_add_missing(struct cf_core *core, uint64_t bytes);

/* How many of [offset, offset + bytes) the file has. */
uint64_t cf_core_present(const struct cf_core *core, uint64_t offset, uint64_t bytes);

/* Maps the file, guards the mapping, and covers the file's holes with zeros of our own. */
int cf_core_map(struct cf_core *core, struct cf_err *err);
void cf_core_unmap(struct cf_core *core);
/* Behind the last byte of the file that is data and no hole. */
uint64_t cf_core_end_of_data(const struct cf_core *core);

int cf_core_read_headers(struct cf_core *core, struct cf_err *err);
int cf_core_read_notes(struct cf_core *core, struct cf_err *err);
void cf_core_look_for_blanks(struct cf_core *core);
enum cf_producer cf_core_judge_producer(const struct cf_core *core);
/* What the producer left out though its headers promise nothing of it. */
void cf_core_judge_content(struct cf_core *core);
/* The segment that maps `addr`, or NULL; looks at one after the other. */
const struct cf_segment *cf_core_segment_at(const struct cf_core *core, uint64_t addr);

/* Bodies of notes; `whole` is false when the note is cut, and `body` then has what is left. */
int cf_core_note_prstatus(struct cf_core *core, struct cf_cursor body, struct cf_err *err);
void cf_core_note_thread_area(struct cf_core *core, uint32_t type, struct cf_cursor body);
void cf_core_note_fp_registers(struct cf_core *core, struct cf_cursor body);
int cf_core_note_files(struct cf_core *core, struct cf_cursor body, bool whole, struct cf_err *err);

#endif
