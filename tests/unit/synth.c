#include "synth.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

struct buffer {
    unsigned char *bytes;
    size_t len;
    size_t cap;
};

/* Bytes that the test put into a segment; they stand in the pool. */
struct put {
    size_t segment;
    uint64_t at;
    size_t pool_at;
    size_t bytes;
};

struct segment {
    struct synth_segment spec; /* the first member: what the test sees */
    uint64_t offset;
};

struct synth {
    enum cf_machine machine;
    unsigned word_bytes;
    struct synth_options options;
    struct segment **segments;
    size_t nr_segments;
    size_t cap_segments;
    struct buffer puts;
    struct buffer pool;
    struct buffer threads; /* notes of the threads but the first one's PRSTATUS, as they stand */
    struct buffer first;   /* PRSTATUS of the first */
    struct buffer psinfo;
    struct buffer auxv;
    struct buffer file_rows;
    struct buffer file_names;
    size_t nr_files;
    int first_signal;
    int32_t first_code;
    uint64_t first_addr;
    struct buffer extra;
    uint64_t file_bytes;
    int fd;
};

static void append(struct buffer *buffer, const void *data, size_t bytes) {
    if (buffer->len + bytes > buffer->cap) {
        size_t cap = (buffer->len + bytes) * 2;
        buffer->bytes = realloc(buffer->bytes, cap);
        assert_non_null(buffer->bytes);
        buffer->cap = cap;
    }
    if (bytes > 0)
        memcpy(buffer->bytes + buffer->len, data, bytes);
    buffer->len += bytes;
}

static void append_zeros(struct buffer *buffer, size_t bytes) {
    static const unsigned char zeros[1024];
    for (; bytes > 0; bytes -= bytes < sizeof zeros ? bytes : sizeof zeros)
        append(buffer, zeros, bytes < sizeof zeros ? bytes : sizeof zeros);
}

static void append_uint(struct buffer *buffer, uint64_t value, unsigned width) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    append(buffer, bytes, width);
}

/* Replaces bytes that are there already. */
static void set_uint(struct buffer *buffer, size_t at, uint64_t value, unsigned width) {
    assert_true(at + width <= buffer->len);
    for (unsigned i = 0; i < width; i++)
        buffer->bytes[at + i] = (unsigned char)(value >> (8 * i));
}

static void append_note(const struct synth *synth, struct buffer *out, const char *owner,
                        uint32_t type, const void *body, size_t bytes) {
    enum { ALIGN = 4 };
    size_t name_bytes = strlen(owner) + 1;
    const char *tag = "";
    if (synth->options.layout == SYNTH_CREATEDUMP && strcmp(owner, "CORE") == 0)
        tag = type == NT_PRPSINFO ? "PRP"
              : type == NT_AUXV   ? "AUX"
              : type == NT_FILE   ? "FIL"
                                  : "THR";
    append_uint(out, name_bytes, 4);
    append_uint(out, bytes, 4);
    append_uint(out, type, 4);
    append(out, owner, name_bytes);
    append(out, tag, strlen(tag));
    append_zeros(out, (ALIGN - out->len % ALIGN) % ALIGN);
    append(out, body, bytes);
    append_zeros(out, (ALIGN - out->len % ALIGN) % ALIGN);
}

struct synth *synth_new(enum cf_machine machine) {
    struct synth *synth = calloc(1, sizeof *synth);
    assert_non_null(synth);
    synth->machine = machine;
    synth->word_bytes = machine == CF_MACHINE_I386 ? 4 : 8;
    synth->options.truncate_bytes = UINT64_MAX;
    synth->options.page_bytes = 4096;
    synth->fd = -1;
    return synth;
}

void synth_free(struct synth *synth) {
    if (synth == NULL)
        return;
    for (size_t i = 0; i < synth->nr_segments; i++)
        free(synth->segments[i]);
    free(synth->segments);
    struct buffer *buffers[] = {&synth->puts,      &synth->pool,       &synth->threads,
                                &synth->first,     &synth->psinfo,     &synth->auxv,
                                &synth->file_rows, &synth->file_names, &synth->extra};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++)
        free(buffers[i]->bytes);
    if (synth->fd >= 0)
        (void)close(synth->fd);
    free(synth);
}

struct synth_options *synth_options(struct synth *synth) {
    return &synth->options;
}

struct synth_segment *synth_segment(struct synth *synth, uint64_t vaddr, uint64_t mem_bytes,
                                    uint32_t flags) {
    if (synth->nr_segments == synth->cap_segments) {
        synth->cap_segments = synth->cap_segments * 2 + 16;
        synth->segments = realloc(synth->segments, synth->cap_segments * sizeof(struct segment *));
        assert_non_null(synth->segments);
    }
    struct segment *segment = calloc(1, sizeof *segment);
    assert_non_null(segment);
    segment->spec = (struct synth_segment){
        .vaddr = vaddr,
        .mem_bytes = mem_bytes,
        .file_bytes = mem_bytes,
        .declared_offset = UINT64_MAX,
        .declared_bytes = UINT64_MAX,
        .flags = flags,
    };
    synth->segments[synth->nr_segments++] = segment;
    return &segment->spec;
}

static size_t find_segment(const struct synth *synth, uint64_t addr, uint64_t bytes) {
    for (size_t i = synth->nr_segments; i > 0; i--) {
        const struct synth_segment *spec = &synth->segments[i - 1]->spec;
        if (addr >= spec->vaddr && addr - spec->vaddr < spec->mem_bytes) {
            assert_true(bytes <= spec->mem_bytes - (addr - spec->vaddr));
            return i - 1;
        }
    }
    fail_msg("no segment at %#llx", (unsigned long long)addr);
    return 0;
}

void synth_put(struct synth *synth, uint64_t addr, const void *data, size_t bytes) {
    struct put put = {.segment = find_segment(synth, addr, bytes), .bytes = bytes};
    put.at = addr - synth->segments[put.segment]->spec.vaddr;
    put.pool_at = synth->pool.len;
    append(&synth->pool, data, bytes);
    append(&synth->puts, &put, sizeof put);
}

static void put_uint(struct synth *synth, uint64_t addr, uint64_t value, unsigned width) {
    unsigned char bytes[8];
    for (unsigned i = 0; i < width; i++)
        bytes[i] = (unsigned char)(value >> (8 * i));
    synth_put(synth, addr, bytes, width);
}

void synth_put_word(struct synth *synth, uint64_t addr, uint64_t value) {
    put_uint(synth, addr, value, synth->word_bytes);
}

void synth_put_u32(struct synth *synth, uint64_t addr, uint32_t value) {
    put_uint(synth, addr, value, 4);
}

void synth_put_u16(struct synth *synth, uint64_t addr, uint16_t value) {
    put_uint(synth, addr, value, 2);
}

void synth_fill(struct synth *synth, uint64_t addr, unsigned char byte, size_t bytes) {
    unsigned char *block = malloc(bytes);
    assert_non_null(block);
    memset(block, byte, bytes);
    synth_put(synth, addr, block, bytes);
    free(block);
}

static const struct {
    unsigned pid, regs, sp, tp, bytes;
} status_layouts[] = {
    [CF_MACHINE_X86_64] = {32, 112, 19, 21, 336},
    [CF_MACHINE_I386] = {24, 72, 15, 10, 144},
    [CF_MACHINE_AARCH64] = {32, 112, 31, 0, 392},
};

static size_t register_at(const struct synth *synth, unsigned index) {
    return status_layouts[synth->machine].regs + index * synth->word_bytes;
}

/* elf_prstatus: cursig at 12, pid, the registers, fpvalid. */
static void make_status(const struct synth *synth, struct buffer *out, uint32_t tid, int signal,
                        uint64_t tp, uint64_t sp) {
    enum { I386_TLS_SELECTOR = 0x63 };
    unsigned word = synth->word_bytes;
    struct buffer body = {0};
    append_zeros(&body, status_layouts[synth->machine].bytes);
    set_uint(&body, 12, (uint64_t)signal, 2);
    set_uint(&body, status_layouts[synth->machine].pid, tid, 4);
    set_uint(&body, register_at(synth, status_layouts[synth->machine].sp), sp, word);
    if (synth->machine == CF_MACHINE_X86_64)
        set_uint(&body, register_at(synth, status_layouts[synth->machine].tp), tp, word);
    if (synth->machine == CF_MACHINE_I386 && tp != 0)
        set_uint(&body, register_at(synth, status_layouts[synth->machine].tp), I386_TLS_SELECTOR,
                 word);
    append_note(synth, out, "CORE", NT_PRSTATUS, body.bytes, body.len);
    free(body.bytes);
}

static void make_thread_area(const struct synth *synth, struct buffer *out, uint64_t tp) {
    struct buffer body = {0};
    if (synth->machine == CF_MACHINE_AARCH64) {
        append_uint(&body, tp, 8);
        append_note(synth, out, "LINUX", NT_ARM_TLS, body.bytes, body.len);
    } else if (synth->machine == CF_MACHINE_I386) {
        for (unsigned entry = 12; entry <= 14; entry++) {
            append_uint(&body, entry, 4);
            append_uint(&body, entry == 12 ? tp : 0, 4);
            append_uint(&body, 0, 8);
        }
        append_note(synth, out, "LINUX", NT_386_TLS, body.bytes, body.len);
    }
    free(body.bytes);
}

void synth_thread(struct synth *synth, uint32_t tid, int signal, uint64_t tp, uint64_t sp) {
    static const unsigned char registers[512];
    bool is_first = synth->first.len == 0;
    if (is_first)
        synth->first_signal = signal;
    make_status(synth, is_first ? &synth->first : &synth->threads, tid, signal, tp, sp);
    if (synth->options.layout == SYNTH_QEMU)
        return;
    append_note(synth, &synth->threads, "CORE", NT_FPREGSET, registers, sizeof registers);
    if (tp != 0)
        make_thread_area(synth, &synth->threads, tp);
}

enum { STATUS_NOTE_BYTES = 20 }; /* "CORE" and its padding included */

void synth_register(struct synth *synth, unsigned index, uint64_t value) {
    set_uint(&synth->first, STATUS_NOTE_BYTES + register_at(synth, index), value,
             synth->word_bytes);
}

void synth_signal(struct synth *synth, int signal, int32_t code, uint64_t addr) {
    set_uint(&synth->first, STATUS_NOTE_BYTES + 12, (uint64_t)signal, 2);
    synth->first_signal = signal;
    synth->first_code = code;
    synth->first_addr = addr;
}

void synth_psinfo(struct synth *synth, uint32_t pid, const char *name, const char *arguments) {
    bool wide = synth->word_bytes == 8;
    struct buffer body = {0};
    append_zeros(&body, wide ? 136 : 124);
    set_uint(&body, wide ? 24 : 12, pid, 4);
    /* As the kernel does: no NUL where the text fills its field. */
    size_t name_at = wide ? 40 : 28;
    memcpy(body.bytes + name_at, name, strnlen(name, 16));
    memcpy(body.bytes + name_at + 16, arguments, strnlen(arguments, 80));
    append_note(synth, &synth->psinfo, "CORE", NT_PRPSINFO, body.bytes, body.len);
    free(body.bytes);
}

void synth_auxv(struct synth *synth, uint64_t type, uint64_t value) {
    append_uint(&synth->auxv, type, synth->word_bytes);
    append_uint(&synth->auxv, value, synth->word_bytes);
}

void synth_file(struct synth *synth, uint64_t start, uint64_t end, uint64_t offset_bytes,
                const char *path) {
    bool bytes = synth->options.file_offsets_in_bytes || synth->options.layout == SYNTH_GCORE;
    append_uint(&synth->file_rows, start, synth->word_bytes);
    append_uint(&synth->file_rows, end, synth->word_bytes);
    append_uint(&synth->file_rows, bytes ? offset_bytes : offset_bytes / synth->options.page_bytes,
                synth->word_bytes);
    append(&synth->file_names, path, strlen(path) + 1);
    synth->nr_files++;
}

void synth_note(struct synth *synth, const char *owner, uint32_t type, const void *body,
                size_t bytes) {
    append_note(synth, &synth->extra, owner, type, body, bytes);
}

static void make_auxv(const struct synth *synth, struct buffer *out) {
    struct buffer body = {0};
    append(&body, synth->auxv.bytes, synth->auxv.len);
    append_zeros(&body, 2 * synth->word_bytes);
    append_note(synth, out, "CORE", NT_AUXV, body.bytes, body.len);
    free(body.bytes);
}

static void make_file_note(const struct synth *synth, struct buffer *out) {
    struct buffer body = {0};
    append_uint(&body, synth->nr_files, synth->word_bytes);
    append_uint(&body, synth->options.layout == SYNTH_GCORE ? 1 : synth->options.page_bytes,
                synth->word_bytes);
    append(&body, synth->file_rows.bytes, synth->file_rows.len);
    append(&body, synth->file_names.bytes, synth->file_names.len);
    append_note(synth, out, "CORE", NT_FILE, body.bytes, body.len);
    free(body.bytes);
}

static void make_notes(const struct synth *synth, struct buffer *out) {
    enum { SIGINFO_BYTES = 128 };
    enum synth_layout layout = synth->options.layout;
    if (layout == SYNTH_GCORE)
        append(out, synth->psinfo.bytes, synth->psinfo.len);
    append(out, synth->first.bytes, synth->first.len);
    if (layout != SYNTH_GCORE)
        append(out, synth->psinfo.bytes, synth->psinfo.len);
    if (layout == SYNTH_KERNEL && synth->first.len > 0) {
        struct buffer body = {0};
        append_zeros(&body, SIGINFO_BYTES);
        set_uint(&body, 0, (uint64_t)synth->first_signal, 4);
        set_uint(&body, 8, (uint32_t)synth->first_code, 4);
        set_uint(&body, synth->word_bytes == 8 ? 16 : 12, synth->first_addr, synth->word_bytes);
        append_note(synth, out, "CORE", NT_SIGINFO, body.bytes, body.len);
        free(body.bytes);
    }
    if (!synth->options.no_auxv_note)
        make_auxv(synth, out);
    if (layout != SYNTH_QEMU && !synth->options.no_file_note)
        make_file_note(synth, out);
    append(out, synth->threads.bytes, synth->threads.len);
    append(out, synth->extra.bytes, synth->extra.len);
}

/* Where everything stands in the file. */
struct plan {
    uint64_t header_bytes, entry_bytes, section_bytes;
    uint64_t nr_entries;
    uint64_t table_at;
    uint64_t notes_at;
    uint64_t section_at;
    bool extended;
};

static uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) / align * align;
}

static struct plan make_plan(struct synth *synth, uint64_t notes_bytes) {
    bool wide = synth->word_bytes == 8;
    enum synth_layout layout = synth->options.layout;
    struct plan plan = {
        .header_bytes = wide ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr),
        .entry_bytes = wide ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr),
        .section_bytes = wide ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr),
        .nr_entries = synth->nr_segments + 1,
    };
    plan.extended = synth->options.extended_count || plan.nr_entries >= PN_XNUM;
    plan.table_at = plan.header_bytes + (layout == SYNTH_CREATEDUMP ? plan.section_bytes : 0);
    plan.section_at = layout == SYNTH_CREATEDUMP ? plan.header_bytes : 0;
    uint64_t at = plan.table_at + plan.nr_entries * plan.entry_bytes;
    plan.notes_at = at;
    if (layout != SYNTH_GCORE)
        at = align_up(at + notes_bytes, synth->options.page_bytes);
    for (size_t i = 0; i < synth->nr_segments; i++) {
        synth->segments[i]->offset = at;
        at += synth->segments[i]->spec.file_bytes;
    }
    if (layout == SYNTH_GCORE) {
        plan.notes_at = at;
        at += notes_bytes;
        plan.section_at = at;
    }
    if (plan.extended)
        plan.section_at = at;
    synth->file_bytes = at + (plan.section_at >= at ? 2 * plan.section_bytes : 0);
    return plan;
}

static void make_header(const struct synth *synth, const struct plan *plan, struct buffer *out) {
    static const uint16_t machines[] = {
        [CF_MACHINE_X86_64] = EM_X86_64,
        [CF_MACHINE_I386] = EM_386,
        [CF_MACHINE_AARCH64] = EM_AARCH64,
    };
    unsigned word = synth->word_bytes;
    bool is_createdump = synth->options.layout == SYNTH_CREATEDUMP;
    append(out, ELFMAG, SELFMAG);
    append_uint(out, word == 8 ? ELFCLASS64 : ELFCLASS32, 1);
    append_uint(out, ELFDATA2LSB, 1);
    append_uint(out, EV_CURRENT, 1);
    append_uint(out, is_createdump ? ELFOSABI_LINUX : ELFOSABI_NONE, 1);
    append_zeros(out, EI_NIDENT - out->len);
    append_uint(out, ET_CORE, 2);
    append_uint(out, machines[synth->machine], 2);
    append_uint(out, EV_CURRENT, 4);
    append_uint(out, 0, word);
    append_uint(out, plan->table_at, word);
    append_uint(out, plan->section_at, word);
    append_uint(out, 0, 4);
    append_uint(out, plan->header_bytes, 2);
    append_uint(out, synth->options.entry_bytes ? synth->options.entry_bytes : plan->entry_bytes,
                2);
    append_uint(out, plan->extended ? PN_XNUM : plan->nr_entries, 2);
    append_uint(out, plan->section_at != 0 ? plan->section_bytes : 0, 2);
    append_uint(out, synth->options.layout == SYNTH_GCORE ? 2 : plan->section_at != 0, 2);
    append_uint(out, 0, 2);
    append_zeros(out, plan->table_at - out->len);
}

static void make_entry(const struct synth *synth, struct buffer *out, uint32_t type, uint32_t flags,
                       uint64_t offset, uint64_t vaddr, uint64_t file_bytes, uint64_t mem_bytes) {
    unsigned word = synth->word_bytes;
    append_uint(out, type, 4);
    if (word == 8)
        append_uint(out, flags, 4);
    append_uint(out, offset, word);
    append_uint(out, vaddr, word);
    append_uint(out, 0, word);
    append_uint(out, file_bytes, word);
    append_uint(out, mem_bytes, word);
    if (word == 4)
        append_uint(out, flags, 4);
    append_uint(out, type == PT_LOAD ? synth->options.page_bytes : 4, word);
}

static void make_table(const struct synth *synth, const struct plan *plan, uint64_t notes_bytes,
                       struct buffer *out) {
    make_entry(synth, out, PT_NOTE, 0, plan->notes_at, 0, notes_bytes, 0);
    for (size_t i = 0; i < synth->nr_segments; i++) {
        const struct synth_segment *spec = &synth->segments[i]->spec;
        uint64_t offset = spec->declared_offset;
        uint64_t bytes = spec->declared_bytes;
        make_entry(synth, out, PT_LOAD, spec->flags,
                   offset == UINT64_MAX ? synth->segments[i]->offset : offset, spec->vaddr,
                   bytes == UINT64_MAX ? spec->file_bytes : bytes, spec->mem_bytes);
    }
}

static void write_at(const struct synth *synth, uint64_t offset, const void *data, size_t bytes) {
    if (bytes > 0)
        assert_int_equal(pwrite(synth->fd, data, bytes, (off_t)offset), (ssize_t)bytes);
}

static void write_puts(const struct synth *synth) {
    for (size_t at = 0; at < synth->puts.len; at += sizeof(struct put)) {
        struct put put;
        memcpy(&put, synth->puts.bytes + at, sizeof put);
        const struct segment *segment = synth->segments[put.segment];
        if (put.at >= segment->spec.file_bytes)
            continue;
        uint64_t left = segment->spec.file_bytes - put.at;
        write_at(synth, segment->offset + put.at, synth->pool.bytes + put.pool_at,
                 put.bytes < left ? put.bytes : (size_t)left);
    }
}

static void write_section(const struct synth *synth, const struct plan *plan) {
    if (!plan->extended || synth->options.lose_extended_count)
        return;
    struct buffer section = {0};
    append_zeros(&section, plan->section_bytes);
    set_uint(&section, synth->word_bytes == 8 ? 44 : 28, plan->nr_entries, 4);
    write_at(synth, plan->section_at, section.bytes, section.len);
    free(section.bytes);
}

int synth_fd(struct synth *synth) {
    if (synth->fd >= 0)
        return synth->fd;
    struct buffer notes = {0};
    struct buffer headers = {0};
    make_notes(synth, &notes);
    struct plan plan = make_plan(synth, notes.len);
    make_header(synth, &plan, &headers);
    make_table(synth, &plan, notes.len, &headers);
    synth->fd = memfd_create("synthetic core", MFD_CLOEXEC);
    assert_true(synth->fd >= 0);
    assert_int_equal(ftruncate(synth->fd, (off_t)synth->file_bytes), 0);
    write_at(synth, 0, headers.bytes, headers.len);
    write_at(synth, plan.notes_at, notes.bytes, notes.len);
    write_puts(synth);
    write_section(synth, &plan);
    if (synth->options.truncate_bytes < synth->file_bytes)
        assert_int_equal(ftruncate(synth->fd, (off_t)synth->options.truncate_bytes), 0);
    free(notes.bytes);
    free(headers.bytes);
    return synth->fd;
}

uint64_t synth_file_bytes(const struct synth *synth) {
    return synth->file_bytes;
}

uint64_t synth_offset(const struct synth *synth, size_t segment) {
    return synth->segments[segment]->offset;
}
