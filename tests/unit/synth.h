/*
 * Synthetic cores for the tests: described by calls, built as an ELF core in a memfd. Nothing in
 * it is aligned, sorted or sane unless the test makes it so; by default it is laid out as the
 * kernel does: notes behind the headers, then the segments page by page in the order in which they
 * were added. Bytes of a segment that nobody put are holes of the file, pages that somebody put are
 * data, also when they are zeros. The options are set before anything is added. Failing calls of
 * the system end the test (cmocka's asserts).
 *
 *     struct synth *synth = synth_new(CF_MACHINE_X86_64);
 *     synth_segment(synth, 0x10000, 0x4000, SYNTH_RW);
 *     synth_put_word(synth, 0x10008, 42);
 *     synth_thread(synth, 1234, 6, 0x7000);
 *     cf_core_open(NULL, synth_fd(synth), "synth", NULL, &core, &err);
 *     ...
 *     synth_free(synth);    closes the memfd too
 */
#ifndef CF_TESTS_UNIT_SYNTH_H
#define CF_TESTS_UNIT_SYNTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/core.h"

enum { SYNTH_R = 4, SYNTH_RW = 6, SYNTH_RX = 5, SYNTH_NONE = 0 };

struct synth;

/* One PT_LOAD, set to what is sane. A test may change any member until synth_fd(); the pointer
 * lives as long as the synth. */
struct synth_segment {
    uint64_t vaddr;
    uint64_t mem_bytes;
    uint64_t file_bytes;      /* mem_bytes; 0: not dumped */
    uint64_t declared_offset; /* UINT64_MAX: where the data is */
    uint64_t declared_bytes;  /* UINT64_MAX: file_bytes */
    uint32_t flags;
};

/* What the producer's manner decides. */
enum synth_layout {
    SYNTH_KERNEL, /* SIGINFO, FPREGSET and NT_FILE (in pages) among the notes, which come first */
    SYNTH_GCORE,  /* notes at the end, data unaligned, a table of sections, NT_FILE in bytes */
    SYNTH_QEMU,   /* PRSTATUS, PRPSINFO and AUXV only */
    SYNTH_CREATEDUMP, /* EI_OSABI 3, a section header before the program headers */
};

/* The knobs of the whole file; a test turns them before it adds anything. */
struct synth_options {
    enum synth_layout layout;
    uint64_t truncate_bytes;  /* the file is cut to this length; UINT64_MAX: it is not */
    uint16_t entry_bytes;     /* e_phentsize; 0: the true one */
    bool extended_count;      /* e_phnum is PN_XNUM also for few segments; it always is for many */
    bool lose_extended_count; /* section header 0, which then has the count, is all zeros */
    bool no_file_note;        /* NT_FILE is left out though there are rows */
    bool no_auxv_note; /* else there is one, with its terminator at least */
    bool file_offsets_in_bytes; /* NT_FILE's offsets in bytes though its page size is 4096 */
    uint64_t page_bytes;        /* 4096: NT_FILE's page size and the alignment of the data */
};

struct synth *synth_new(enum cf_machine machine);
void synth_free(struct synth *synth);
struct synth_options *synth_options(struct synth *synth);

struct synth_segment *synth_segment(struct synth *synth, uint64_t vaddr, uint64_t mem_bytes,
                                    uint32_t flags);
/* Bytes of the process's memory; [addr, addr + bytes) lies in one segment. */
void synth_put(struct synth *synth, uint64_t addr, const void *data, size_t bytes);
/* One target word, 8 or 4 bytes. */
void synth_put_word(struct synth *synth, uint64_t addr, uint64_t value);
void synth_put_u32(struct synth *synth, uint64_t addr, uint32_t value);
void synth_put_u16(struct synth *synth, uint64_t addr, uint16_t value);
/* The same byte `bytes` times; 0 makes data of zeros. */
void synth_fill(struct synth *synth, uint64_t addr, unsigned char byte, size_t bytes);

/* A thread with its registers 0 but for the stack and thread pointers; the thread pointer goes
 * where the machine has it (fs_base, NT_386_TLS with gs, NT_ARM_TLS). The first one dumped. */
void synth_thread(struct synth *synth, uint32_t tid, int signal, uint64_t tp, uint64_t sp);
/* Of the first thread, once it is there: a general register, as PRSTATUS counts them; its signal,
 * with what SIGINFO says of it (the kernel's layout has that note). */
void synth_register(struct synth *synth, unsigned index, uint64_t value);
void synth_signal(struct synth *synth, int signal, int32_t code, uint64_t addr);
void synth_psinfo(struct synth *synth, uint32_t pid, const char *name, const char *arguments);
void synth_auxv(struct synth *synth, uint64_t type, uint64_t value);
/* A row of NT_FILE; the offset is in bytes and written in the layout's unit. */
void synth_file(struct synth *synth, uint64_t start, uint64_t end, uint64_t offset_bytes,
                const char *path);
/* A note as it stands, behind all others. */
void synth_note(struct synth *synth, const char *owner, uint32_t type, const void *body,
                size_t bytes);

/* Builds the file at the first call; the memfd belongs to the synth. */
int synth_fd(struct synth *synth);
/* Size of the file before truncation, and offset of a segment's data in it; valid after
 * synth_fd(). */
uint64_t synth_file_bytes(const struct synth *synth);
uint64_t synth_offset(const struct synth *synth, size_t segment);

#endif
