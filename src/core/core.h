/*
 * An ELF core: its header, PT_LOAD segments, notes and file, as the producer wrote them.
 *
 * The file is mapped, never read whole. Everything here is parsed by our own bounded reader,
 * since libelf clamps or refuses damaged headers, and needs no libelf at all. Nothing in it is
 * trusted: a segment that lies beyond the end of the file keeps its declared size and gets
 * a smaller `present_bytes`. The object is immutable once open and owns all that it hands out.
 *
 * Facts relied on: kernel cores hold every VMA as a PT_LOAD and their notes at the front; gcore
 * writes notes at the end and unaligned offsets; with 65,535 segments and more e_phnum is 0xffff
 * and the count stands in sh_info of section header 0, at the end of the file.
 */
#ifndef CF_CORE_CORE_H
#define CF_CORE_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "corefrag.h"

struct cf_core;

enum cf_machine { CF_MACHINE_X86_64, CF_MACHINE_I386, CF_MACHINE_AARCH64 };

enum cf_producer {
    CF_PRODUCER_UNKNOWN,
    CF_PRODUCER_KERNEL,
    CF_PRODUCER_GCORE,
    CF_PRODUCER_CREATEDUMP,
    CF_PRODUCER_QEMU,
    CF_PRODUCER_VALGRIND,
};

/* One PT_LOAD, in the order of the program headers. */
struct cf_segment {
    uint64_t vaddr;
    uint64_t mem_bytes;     /* p_memsz, clipped so that vaddr + mem_bytes does not wrap */
    uint64_t file_bytes;    /* p_filesz, as declared, at most mem_bytes */
    uint64_t present_bytes; /* of file_bytes, what the file really has */
    uint64_t offset;        /* of its first byte in the file */
    uint32_t flags;         /* PF_R, PF_W, PF_X */
};

/* One NT_PRSTATUS with the notes that belong to it. The first is the thread that dumped. */
struct cf_core_thread {
    uint32_t tid;
    int32_t signal; /* pr_cursig */
    bool has_tp;    /* known by fs_base, NT_386_TLS or NT_ARM_TLS */
    uint64_t tp;
    uint64_t sp;
    uint64_t pc;
    const unsigned char *regs; /* general registers, borrowed from the core */
    size_t regs_bytes;
    const unsigned char *fp_regs; /* floating point and vector registers, as the note has them */
    size_t fp_regs_bytes;
};

/* One row of NT_FILE. */
struct cf_core_file {
    uint64_t start;
    uint64_t end;
    uint64_t offset_bytes; /* in the mapped file */
    const char *path;      /* as in the container; bytes are hostile, NUL-terminated */
};

/* A part of the core's file that is data; what lies between is holes. */
struct cf_core_extent {
    uint64_t start;
    uint64_t end;
};

/* What does not add up in the container; becomes a v_anomaly row. `code` is static. */
struct cf_core_flaw {
    const char *code;
    uint64_t offset; /* in the core file */
    char detail[160];
};

/* Of the archive that a core came out of. */
enum cf_checksum {
    CF_CHECKSUM_NOT_PACKED, /* it came as it is */
    CF_CHECKSUM_VERIFIED,
    CF_CHECKSUM_NONE, /* the format has none, or the archive ended before it */
};

/* Where the file came from, when that is not simply the file that the user named. */
struct cf_core_origin {
    bool holes_are_ours; /* the unpacking punched zeros: its holes say nothing about residency */
    bool truncated;      /* the archive ended too early: what lacks cannot be counted */
    enum cf_checksum checksum;
};

/*
 * Opens the core in `fd` (borrowed until cf_core_free; `name` is for messages and is copied;
 * `origin` may be NULL). CF_EINPUT when it is not an ELF core of a supported machine; a damaged one
 * is opened as far as it goes, and cf_core_missing_bytes() and the flaws say what is missing.
 */
int cf_core_open(const struct cf_context *ctx, int fd, const char *name,
                 const struct cf_core_origin *origin, struct cf_core **out, struct cf_err *err);
void cf_core_free(struct cf_core *core);

const char *cf_core_name(const struct cf_core *core);
uint64_t cf_core_file_bytes(const struct cf_core *core);
enum cf_machine cf_core_machine(const struct cf_core *core);
const char *cf_core_machine_name(const struct cf_core *core); /* "x86_64", "i386", "aarch64" */
unsigned cf_core_word_bytes(const struct cf_core *core);      /* 8 or 4 */
enum cf_producer cf_core_producer(const struct cf_core *core);
const char *cf_core_producer_name(const struct cf_core *core);

/* All declared bytes are in the file, all headers and notes could be read, no zeros stand where
 * data must be, and the producer did not leave the heaps out by design. */
bool cf_core_complete(const struct cf_core *core);
/* What the producer wrote instead of the whole: "a mini or triage dump: ..."; static. NULL: as far
 * as anybody knows, it meant to write all. */
const char *cf_core_left_out(const struct cf_core *core);
/* Bytes that the headers promise and the file does not have. May be 0 in an incomplete core, when
 * the headers themselves are cut so that nobody knows what they promised. */
uint64_t cf_core_missing_bytes(const struct cf_core *core);
enum cf_checksum cf_core_checksum(const struct cf_core *core);
/* False for an archive that ends early: its bytes were compared with no checksum, and what
 * contradicts itself in them may do so because of that. */
bool cf_core_vouches(const struct cf_core *core);
/* The holes of the file are those that the producer left, as far as anybody knows. */
bool cf_core_holes_are_evidence(const struct cf_core *core);

size_t cf_core_nr_segments(const struct cf_core *core);
const struct cf_segment *cf_core_segment(const struct cf_core *core, size_t index);

size_t cf_core_nr_threads(const struct cf_core *core);
const struct cf_core_thread *cf_core_thread(const struct cf_core *core, size_t index);

size_t cf_core_nr_files(const struct cf_core *core);
const struct cf_core_file *cf_core_file(const struct cf_core *core, size_t index);
/* NT_FILE was there and whole. False with rows when it was cut: what they say holds, what they do
 * not name could still be a file's. */
bool cf_core_has_files(const struct cf_core *core);

/* NT_AUXV's value of `type` (AT_...); false when absent. */
bool cf_core_auxv(const struct cf_core *core, uint64_t type, uint64_t *out);
/* NT_AUXV's bytes as they stand, to be found on the main thread's stack; NULL when absent. */
const unsigned char *cf_core_auxv_bytes(const struct cf_core *core, size_t *bytes);
/* AT_PAGESZ where it is a power of two from 4 KiB to 2 MiB, else 4096. */
uint64_t cf_core_page_bytes(const struct cf_core *core);

uint32_t cf_core_pid(const struct cf_core *core);          /* 0: not known */
int32_t cf_core_signal(const struct cf_core *core);        /* 0: not known */
/* The processor refused an access of the thread that dumped, at `*addr` (0: it does not say where,
 * as for an address that no machine can have). False: a signal that was sent, or another one. */
bool cf_core_fault(const struct cf_core *core, uint64_t *addr);
/* No signal ended the process: there is none, or gdb wrote the core and the signal is one by which
 * it stops what it looks at. gdb writes cores of crashed processes as well. */
bool cf_core_is_snapshot(const struct cf_core *core);
const char *cf_core_command(const struct cf_core *core);   /* pr_fname, "" when not known */
const char *cf_core_arguments(const struct cf_core *core); /* pr_psargs, "" when not known */

size_t cf_core_nr_flaws(const struct cf_core *core);
const struct cf_core_flaw *cf_core_flaw(const struct cf_core *core, size_t index);

/*
 * CF_EINPUT where some of the file could not be read since it was opened, or where it was changed
 * meanwhile: names the file and the offset. Then zeros were read instead, and nothing that was
 * found may be told. Asked after each pass, and before anything is said.
 */
int cf_core_read_status(const struct cf_core *core, struct cf_err *err);

/* The file's data when it was opened, sorted by offset; all of the file where the file system
 * cannot tell. Holes are never read through the file. */
size_t cf_core_nr_extents(const struct cf_core *core);
const struct cf_core_extent *cf_core_extent(const struct cf_core *core, size_t index);

/* The file's bytes [offset, offset + bytes), all or nothing: NULL beyond the end. Borrowed. */
const unsigned char *cf_core_bytes(const struct cf_core *core, uint64_t offset, uint64_t bytes);
/* Says that these bytes are not needed any more, so that their pages do not stay resident: all but
 * the last few MiB of what was dropped are given back. They can still be read. */
void cf_core_drop(const struct cf_core *core, uint64_t offset, uint64_t bytes);

#endif
