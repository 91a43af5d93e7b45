/*
 * The walk over the notes, and the notes that are about the whole process.
 *
 *     namesz u32 | descsz u32 | type u32 | name, padded to 4 | desc, padded to 4
 *
 * The padding is that of cores: 4 bytes on 64-bit machines too.
 */
#include <elf.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "core/core_private.h"

enum { NOTE_ALIGN = 4, NOTE_HEADER = 12 };

struct note {
    uint64_t at; /* of its header, in the file */
    uint32_t type;
    const unsigned char *name;
    uint64_t name_bytes;
    struct cf_cursor body;
    bool whole; /* false: the body is cut */
};

static bool is_owner(const struct note *note, const char *owner) {
    size_t bytes = strlen(owner);
    return note->name_bytes >= bytes && memcmp(note->name, owner, bytes) == 0 &&
           (note->name_bytes == bytes || note->name[bytes] == '\0');
}

/* An unterminated name is normal: 16 characters of pr_fname, 80 of pr_psargs. */
static void copy_text(char *out, size_t out_bytes, const unsigned char *text, size_t text_bytes) {
    size_t len = strnlen((const char *)text, text_bytes);
    if (len > out_bytes - 1)
        len = out_bytes - 1;
    memcpy(out, text, len);
    out[len] = '\0';
    while (len > 0 && out[len - 1] == ' ')
        out[--len] = '\0';
}

/* elf_prpsinfo: pid, pr_fname and pr_psargs; uid and gid are 16 bits wide on i386. */
static void read_psinfo(struct cf_core *core, struct cf_cursor body) {
    enum { NAME_BYTES = 16, ARGUMENTS_BYTES = 80 };
    bool wide = core->word_bytes == 8;
    uint32_t pid;
    if (cf_cursor_seek(&body, wide ? 24 : 12) && cf_cursor_u32(&body, &pid))
        core->pid = pid;
    if (!cf_cursor_seek(&body, wide ? 40 : 28))
        return;
    const unsigned char *name = cf_cursor_take(&body, NAME_BYTES);
    const unsigned char *arguments = cf_cursor_take(&body, ARGUMENTS_BYTES);
    if (name != NULL)
        copy_text(core->command, sizeof core->command, name, NAME_BYTES);
    if (arguments != NULL)
        copy_text(core->arguments, sizeof core->arguments, arguments, ARGUMENTS_BYTES);
}

static void read_siginfo(struct cf_core *core, struct cf_cursor body) {
    uint32_t signal, error, code;
    if (!cf_cursor_u32(&body, &signal))
        return;
    core->siginfo_signal = (int32_t)signal;
    if (!cf_cursor_u32(&body, &error) || !cf_cursor_u32(&body, &code))
        return;
    core->siginfo_code = (int32_t)code;
    /* The union behind has pointers, and is aligned for them. */
    if (cf_cursor_seek(&body, core->word_bytes == 8 ? 16 : 12))
        (void)cf_cursor_word(&body, &core->siginfo_addr);
}

static int read_core_note(struct cf_core *core, const struct note *note, struct cf_err *err) {
    switch (note->type) {
    case NT_PRSTATUS:
        return cf_core_note_prstatus(core, note->body, err);
    case NT_FPREGSET:
        cf_core_note_fp_registers(core, note->body);
        return CF_OK;
    case NT_PRPSINFO:
        read_psinfo(core, note->body);
        return CF_OK;
    case NT_SIGINFO:
        if (core->siginfo_signal == 0)
            read_siginfo(core, note->body);
        return CF_OK;
    case NT_AUXV:
        if (core->auxv == NULL) {
            core->auxv = note->body.data;
            core->auxv_bytes = (size_t)note->body.bytes;
        }
        return CF_OK;
    case NT_FILE:
        if (core->files_seen)
            return CF_OK;
        core->files_seen = true;
        return cf_core_note_files(core, note->body, note->whole, err);
    default:
        return CF_OK;
    }
}

/* createdump writes the owner from an array {'C','O','R','E',0,'P','R','P'} of 8 with namesz 5, so
 * that the padding tells the note's kind. */
static bool has_createdump_tag(const struct cf_core *core, const struct note *note) {
    static const char *const tags[] = {"PRP", "AUX", "FIL", "THR"};
    const unsigned char *padding = cf_core_bytes(core, note->at + NOTE_HEADER + 5, 3);
    if (note->name_bytes != 5 || padding == NULL)
        return false;
    for (size_t i = 0; i < sizeof tags / sizeof *tags; i++) {
        if (memcmp(padding, tags[i], 3) == 0)
            return true;
    }
    return false;
}

static void collect_evidence(struct cf_core *core, const struct note *note) {
    struct note_evidence *evidence = &core->evidence;
    bool is_core = is_owner(note, "CORE");
    if (evidence->nr_notes == 0)
        evidence->first_is_psinfo = is_core && note->type == NT_PRPSINFO;
    evidence->nr_notes++;
    if (is_core && has_createdump_tag(core, note))
        evidence->createdump_tag = true;
    if (is_core && note->type == NT_SIGINFO && evidence->last_type == NT_PRPSINFO)
        evidence->siginfo_after_psinfo = true;
    if (is_core && note->type == NT_PRPSINFO)
        evidence->nr_psinfo++;
    else if (is_core && note->type == NT_AUXV)
        evidence->nr_auxv++;
    else if (!is_core || note->type != NT_PRSTATUS)
        evidence->nr_others++;
    evidence->last_type = note->type;
}

/* The note at the cursor, which moves behind it; the last one may be cut. False: no header or no
 * name is left. */
static bool next_note(const struct cf_core *core, uint64_t base, struct cf_cursor *cursor,
                      struct note *out) {
    uint32_t name_bytes;
    uint32_t body_bytes;
    uint64_t padded_name;
    uint64_t padded_body;
    out->at = base + cursor->pos;
    if (!cf_cursor_u32(cursor, &name_bytes) || !cf_cursor_u32(cursor, &body_bytes) ||
        !cf_cursor_u32(cursor, &out->type))
        return false;
    (void)cf_align_up(name_bytes, NOTE_ALIGN, &padded_name);
    (void)cf_align_up(body_bytes, NOTE_ALIGN, &padded_body);
    out->name = cf_cursor_take(cursor, padded_name);
    if (out->name == NULL)
        return false;
    out->name_bytes = name_bytes;
    uint64_t left = cf_cursor_left(cursor);
    out->whole = body_bytes <= left;
    uint64_t present = out->whole ? body_bytes : left;
    out->body = cf_cursor_make(cursor->data + cursor->pos, present, core->word_bytes);
    (void)cf_cursor_take(cursor, padded_body < left ? padded_body : left);
    return true;
}

/* Zeros where notes should be: the file has its size, but was not filled. */
static bool is_blank(const struct note *note) {
    return note->type == 0 && note->name_bytes == 0 && note->body.bytes == 0;
}

/* Systems whose cores have no mark in the ELF header, and dumps of a whole kernel. */
static int refuse_owner(const struct cf_core *core, const struct note *note, struct cf_err *err) {
    static const struct {
        const char *owner, *what;
    } others[] = {
        {"NetBSD-CORE", "a core of NetBSD; those of Linux are read"},
        {"FreeBSD", "a core of FreeBSD; those of Linux are read"},
        {"OpenBSD", "a core of OpenBSD; those of Linux are read"},
        {"VMCOREINFO", "a dump of the kernel (vmcore); the crash tool reads it"},
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t len = strlen(others[i].owner);
        if (note->name_bytes >= len && memcmp(note->name, others[i].owner, len) == 0)
            return cf_err_set(err, CF_EINPUT, "%s: is %s", core->name, others[i].what);
    }
    return CF_OK;
}

static int read_note(struct cf_core *core, const struct note *note, struct cf_err *err) {
    int status = refuse_owner(core, note, err);
    if (status != CF_OK)
        return status;
    collect_evidence(core, note);
    if (is_owner(note, "CORE"))
        return read_core_note(core, note, err);
    if (is_owner(note, "LINUX"))
        cf_core_note_thread_area(core, note->type, note->body);
    return CF_OK;
}

static int read_range(struct cf_core *core, const struct note_range *range, struct cf_err *err) {
    const unsigned char *data = cf_core_bytes(core, range->offset, range->present_bytes);
    struct cf_cursor cursor = cf_cursor_make(data, range->present_bytes, core->word_bytes);
    bool whole = range->present_bytes == range->file_bytes;
    while (cf_cursor_left(&cursor) >= NOTE_HEADER) {
        struct note note;
        if (!next_note(core, range->offset, &cursor, &note) || is_blank(&note)) {
            whole = false;
            break;
        }
        whole = whole && note.whole;
        int status = read_note(core, &note, err);
        if (status != CF_OK)
            return status;
        /* Each thread has some 12 KB of notes, and they are needed once. */
        cf_core_drop(core, note.at, range->offset + cursor.pos - note.at);
    }
    if (!whole) {
        core->damaged = true;
        cf_core_add_flaw(core, "notes-cut", range->offset + cursor.pos,
                         "the notes end early; %zu threads and %zu files known so far",
                         core->threads.len, core->files.len);
    }
    return CF_OK;
}

int cf_core_read_notes(struct cf_core *core, struct cf_err *err) {
    for (size_t i = 0; i < core->notes.len; i++) {
        int status = read_range(core, &core->notes.items[i], err);
        if (status != CF_OK)
            return status;
    }
    if (core->threads.len == 0)
        cf_core_add_flaw(core, "no-threads", 0, "no thread's registers in the notes");
    return CF_OK;
}
