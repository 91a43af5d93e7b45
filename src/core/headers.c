/*
 * The ELF header and the table of program headers. The table's length is believed only as far as
 * the file reaches; a table that is cut, or whose count is cut off with the file's end, gives the
 * entries that are there.
 */
#include <elf.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "base/err.h"
#include "core/core_private.h"
#include "input/signature.h"

static struct cf_cursor file_cursor(const struct cf_core *core) {
    return cf_cursor_make(core->map, core->map_bytes, core->word_bytes);
}

static const char *type_name(uint16_t type) {
    switch (type) {
    case ET_REL:
        return "an ELF object file";
    case ET_EXEC:
    case ET_DYN:
        return "an ELF program or library";
    default:
        return "an ELF file of an unknown type";
    }
}

static int refuse_machine(const struct cf_core *core, unsigned char class, uint16_t machine,
                          struct cf_err *err) {
    const char *name = cf_elf_machine_name(machine);
    const char *system = cf_elf_system_name(core->os_abi);
    bool is_big = core->map[EI_DATA] == ELFDATA2MSB;
    char number[32];
    (void)snprintf(number, sizeof number, "ELF machine %u", machine);
    if (machine == EM_X86_64 && class == ELFCLASS32)
        name = "x32 (x86_64 with pointers of 32 bits)";
    if (machine == EM_S390 && class == ELFCLASS32)
        name = "s390 (IBM Z, 31 bits)";
    return cf_err_set(err, CF_EINPUT,
                      "%s: is a core of %s%s%s%s; those of Linux on x86_64, i386 and aarch64 are "
                      "read",
                      core->name, system == NULL ? "" : system, system == NULL ? "" : " on ",
                      name == NULL ? number : name, is_big ? ", big-endian" : "");
}

static int pick_machine(struct cf_core *core, unsigned char class, uint16_t machine,
                        struct cf_err *err) {
    if (machine == EM_X86_64 && class == ELFCLASS64)
        core->machine = CF_MACHINE_X86_64;
    else if (machine == EM_AARCH64 && class == ELFCLASS64)
        core->machine = CF_MACHINE_AARCH64;
    else if (machine == EM_386 && class == ELFCLASS32)
        core->machine = CF_MACHINE_I386;
    else
        return refuse_machine(core, class, machine, err);
    core->word_bytes = class == ELFCLASS64 ? 8 : 4;
    return CF_OK;
}

static int read_ident(struct cf_core *core, struct cf_err *err) {
    if (core->map_bytes < EI_NIDENT + 4 || memcmp(core->map, ELFMAG, SELFMAG) != 0)
        return cf_err_set(err, CF_EINPUT, "%s: is not an ELF core (no ELF header at offset 0)",
                          core->name);
    bool is_big = core->map[EI_DATA] == ELFDATA2MSB;
    struct cf_cursor cursor = file_cursor(core);
    uint16_t type = 0;
    uint16_t machine = 0;
    (void)(cf_cursor_seek(&cursor, EI_NIDENT) && cf_cursor_u16(&cursor, &type) &&
           cf_cursor_u16(&cursor, &machine));
    if (is_big) {
        type = (uint16_t)(type << 8 | type >> 8);
        machine = (uint16_t)(machine << 8 | machine >> 8);
    }
    if (type != ET_CORE)
        return cf_err_set(err, CF_EINPUT, "%s: is %s, not a core", core->name, type_name(type));
    core->os_abi = core->map[EI_OSABI];
    if (is_big || cf_elf_system_name(core->os_abi) != NULL)
        return refuse_machine(core, core->map[EI_CLASS], machine, err);
    return pick_machine(core, core->map[EI_CLASS], machine, err);
}

/* The counts of the ELF header, from e_version on. */
static int read_header(struct cf_core *core, uint16_t *nr_entries, struct cf_err *err) {
    struct cf_cursor cursor = file_cursor(core);
    uint32_t version;
    uint32_t flags;
    uint64_t entry;
    uint16_t header_bytes;
    uint16_t entry_bytes;
    uint16_t section_bytes;
    uint16_t nr_sections;
    uint16_t names_index;
    if (!cf_cursor_seek(&cursor, EI_NIDENT + 4) || !cf_cursor_u32(&cursor, &version) ||
        !cf_cursor_word(&cursor, &entry) || !cf_cursor_word(&cursor, &core->table_offset) ||
        !cf_cursor_word(&cursor, &core->section_offset) || !cf_cursor_u32(&cursor, &flags) ||
        !cf_cursor_u16(&cursor, &header_bytes) || !cf_cursor_u16(&cursor, &entry_bytes) ||
        !cf_cursor_u16(&cursor, nr_entries) || !cf_cursor_u16(&cursor, &section_bytes) ||
        !cf_cursor_u16(&cursor, &nr_sections) || !cf_cursor_u16(&cursor, &names_index))
        return cf_err_set(err, CF_EINPUT, "%s: is cut off in its ELF header, after %llu bytes",
                          core->name, (unsigned long long)core->map_bytes);
    core->header_bytes = core->word_bytes == 8 ? sizeof(Elf64_Ehdr) : sizeof(Elf32_Ehdr);
    core->entry_bytes = core->word_bytes == 8 ? sizeof(Elf64_Phdr) : sizeof(Elf32_Phdr);
    core->nr_sections = nr_sections;
    if (entry_bytes != core->entry_bytes)
        cf_core_add_flaw(core, "header-entry-size", EI_NIDENT,
                         "e_phentsize is %u where %llu is meant", entry_bytes,
                         (unsigned long long)core->entry_bytes);
    return CF_OK;
}

struct entry {
    uint32_t type;
    uint32_t flags;
    uint64_t offset;
    uint64_t vaddr;
    uint64_t file_bytes;
    uint64_t mem_bytes;
};

/* Program header `index`; false where the file ends before it. */
static bool read_entry(const struct cf_core *core, uint64_t index, struct entry *out) {
    struct cf_cursor cursor = file_cursor(core);
    uint64_t offset;
    uint64_t physical;
    struct entry entry;
    if (!cf_mul_u64(index, core->entry_bytes, &offset) ||
        !cf_add_u64(core->table_offset, offset, &offset) ||
        core->entry_bytes > cf_core_present(core, offset, core->entry_bytes) ||
        !cf_cursor_seek(&cursor, offset) || !cf_cursor_u32(&cursor, &entry.type))
        return false;
    bool wide = core->word_bytes == 8;
    bool whole = (!wide || cf_cursor_u32(&cursor, &entry.flags)) &&
                 cf_cursor_word(&cursor, &entry.offset) && cf_cursor_word(&cursor, &entry.vaddr) &&
                 cf_cursor_word(&cursor, &physical) && cf_cursor_word(&cursor, &entry.file_bytes) &&
                 cf_cursor_word(&cursor, &entry.mem_bytes) &&
                 (wide || cf_cursor_u32(&cursor, &entry.flags));
    if (whole)
        *out = entry;
    return whole;
}

/* With PN_XNUM the count is sh_info of section header 0. False when that is not in the file, or
 * nothing but zeros. */
static bool extended_count(struct cf_core *core, uint64_t *out) {
    struct cf_cursor cursor = file_cursor(core);
    uint64_t section_bytes = core->word_bytes == 8 ? sizeof(Elf64_Shdr) : sizeof(Elf32_Shdr);
    uint64_t info = core->word_bytes == 8 ? 44 : 28;
    uint32_t count;
    uint64_t present = cf_core_present(core, core->section_offset, section_bytes);
    if (core->section_offset != 0)
        cf_core_add_missing(core, section_bytes - present);
    if (core->section_offset == 0 || present < section_bytes ||
        !cf_cursor_seek(&cursor, core->section_offset + info) || !cf_cursor_u32(&cursor, &count) ||
        count < PN_XNUM)
        return false;
    *out = count;
    return true;
}

/*
 * The count when section header 0 is lost. The kernel puts the notes right behind the table, so
 * the first PT_NOTE's offset tells where the table ends; but only if no data stands before the
 * notes. Else the table goes on as long as its entries make sense.
 */
static uint64_t guessed_count(const struct cf_core *core) {
    struct entry entry;
    uint64_t notes_at = 0;
    uint64_t data_at = UINT64_MAX;
    uint64_t sane = 0;
    for (; sane < CF_CORE_MAX_SEGMENTS && read_entry(core, sane, &entry); sane++) {
        if (entry.type != PT_LOAD && entry.type != PT_NOTE)
            break;
        if (entry.type == PT_NOTE && notes_at == 0)
            notes_at = entry.offset;
        if (entry.type == PT_LOAD && entry.file_bytes > 0 && entry.offset < data_at)
            data_at = entry.offset;
        if (notes_at != 0 && notes_at < data_at && notes_at > core->table_offset &&
            sane + 1 == (notes_at - core->table_offset) / core->entry_bytes)
            return sane + 1;
    }
    if (notes_at <= core->table_offset || notes_at >= data_at)
        return sane;
    uint64_t promised = (notes_at - core->table_offset) / core->entry_bytes;
    return promised > sane ? promised : sane;
}

static void count_entries(struct cf_core *core, uint16_t header_count) {
    core->declared_segments = header_count;
    if (header_count == PN_XNUM && !extended_count(core, &core->declared_segments)) {
        core->declared_segments = guessed_count(core);
        core->damaged = true;
        cf_core_add_flaw(core, "segment-count-lost", core->section_offset,
                         "the count of program headers is cut off; %llu by what stands before",
                         (unsigned long long)core->declared_segments);
    }
    if (core->declared_segments > CF_CORE_MAX_SEGMENTS) {
        cf_core_add_flaw(core, "segment-count", core->section_offset,
                         "%llu program headers declared, %d are read",
                         (unsigned long long)core->declared_segments, CF_CORE_MAX_SEGMENTS);
        core->declared_segments = CF_CORE_MAX_SEGMENTS;
        core->damaged = true;
    }
    uint64_t table_bytes = core->declared_segments * core->entry_bytes;
    uint64_t present = cf_core_present(core, core->table_offset, table_bytes);
    core->nr_entries = present / core->entry_bytes;
    if (core->nr_entries == core->declared_segments)
        return;
    core->damaged = true;
    cf_core_add_missing(core, table_bytes - present);
    cf_core_add_flaw(core, "headers-cut", core->table_offset + present,
                     "%llu program headers declared, %llu in the file",
                     (unsigned long long)core->declared_segments,
                     (unsigned long long)core->nr_entries);
}

/* Clips what cannot be: sizes that wrap, more data than memory. */
static void sanitize_load(struct cf_core *core, uint64_t at, struct entry *load) {
    uint64_t limit = core->word_bytes == 8 ? UINT64_MAX : (uint64_t)1 << 32;
    uint64_t end;
    if (load->mem_bytes > limit - load->vaddr) {
        cf_core_add_flaw(core, "segment-wraps", at,
                         "%#llx bytes at %#llx run over the last address",
                         (unsigned long long)load->mem_bytes, (unsigned long long)load->vaddr);
        load->mem_bytes = limit - load->vaddr;
    }
    if (load->file_bytes > load->mem_bytes) {
        cf_core_add_flaw(core, "segment-file-size", at,
                         "%#llx bytes in the file for %#llx in memory at %#llx",
                         (unsigned long long)load->file_bytes, (unsigned long long)load->mem_bytes,
                         (unsigned long long)load->vaddr);
        load->file_bytes = load->mem_bytes;
    }
    if (!cf_add_u64(load->offset, load->file_bytes, &end)) {
        cf_core_add_flaw(core, "segment-offset", at, "%#llx bytes at file offset %#llx cannot be",
                         (unsigned long long)load->file_bytes, (unsigned long long)load->offset);
        core->damaged = true;
        load->file_bytes = 0;
    }
}

static int add_load(struct cf_core *core, uint64_t at, struct entry load, struct cf_err *err) {
    sanitize_load(core, at, &load);
    struct cf_segment *segment = cf_array_push(&core->segments);
    if (segment == NULL)
        return cf_err_nomem(err, (core->segments.len + 1) * sizeof *segment, "segments");
    segment->vaddr = load.vaddr;
    segment->mem_bytes = load.mem_bytes;
    segment->file_bytes = load.file_bytes;
    segment->present_bytes = cf_core_present(core, load.offset, load.file_bytes);
    segment->offset = load.offset;
    segment->flags = load.flags & (PF_R | PF_W | PF_X);
    cf_core_add_missing(core, segment->file_bytes - segment->present_bytes);
    return CF_OK;
}

static int add_note_range(struct cf_core *core, const struct entry *note, struct cf_err *err) {
    struct note_range *range = cf_array_push(&core->notes);
    if (range == NULL)
        return cf_err_nomem(err, (core->notes.len + 1) * sizeof *range, "notes");
    range->offset = note->offset;
    range->file_bytes = note->file_bytes;
    range->present_bytes = cf_core_present(core, note->offset, note->file_bytes);
    cf_core_add_missing(core, range->file_bytes - range->present_bytes);
    return CF_OK;
}

static int read_entries(struct cf_core *core, struct cf_err *err) {
    for (uint64_t i = 0; i < core->nr_entries; i++) {
        struct entry entry;
        if (!read_entry(core, i, &entry))
            break;
        int status = CF_OK;
        if (entry.type == PT_LOAD)
            status = add_load(core, core->table_offset + i * core->entry_bytes, entry, err);
        else if (entry.type == PT_NOTE)
            status = add_note_range(core, &entry, err);
        if (status != CF_OK)
            return status;
    }
    return CF_OK;
}

int cf_core_read_headers(struct cf_core *core, struct cf_err *err) {
    uint16_t header_count = 0;
    int status = read_ident(core, err);
    if (status == CF_OK)
        status = read_header(core, &header_count, err);
    if (status != CF_OK)
        return status;
    count_entries(core, header_count);
    if (core->declared_segments == 0) {
        core->damaged = true;
        cf_core_add_flaw(core, "no-segments", core->table_offset, "no program headers at all");
    }
    return read_entries(core, err);
}
