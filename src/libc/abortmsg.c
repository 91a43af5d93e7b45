/*
 * __abort_msg without symbols. Since 2.4 __libc_message() copies what it prints into a page that
 * it maps, behind the length of the mapping, and stores the address in its own data, so that a
 * core has it. A page-aligned word near main_arena whose page begins with its own length and with
 * one of malloc's texts is that; no other memory looks so.
 */
#include "libc/abortmsg.h"

#include <elf.h>
#include <string.h>

#include "base/cursor.h"

enum {
    REACH_BYTES = 16 << 20, /* on either side of main_arena: a static program's own data is there */
    MESSAGE_BYTES = 512,    /* malloc's own are short; the program's name may stand before them */
    PAGES_MAX = 16,         /* of one message */
};

/*
 * malloc's own texts: malloc_printerr() and the macros around it, 2.17 to 2.44, and mcheck's. A
 * text of one glibc is part of a longer one of another, so the longest that fits is taken.
 */
static const char *const texts[] = {
    "break adjusted to free malloc space",
    "corrupted double-linked list",
    "corrupted double-linked list (not small)",
    "corrupted size vs. prev_size",
    "corrupted size vs. prev_size in fastbins",
    "corrupted size vs. prev_size while consolidating",
    "double free or corruption (!prev)",
    "double free or corruption (fasttop)",
    "double free or corruption (out)",
    "double free or corruption (top)",
    "free(): corrupted unsorted chunks",
    "free(): double free detected in tcache 2",
    "free(): invalid next size (fast)",
    "free(): invalid next size (normal)",
    "free(): invalid pointer",
    "free(): invalid size",
    "free(): too many chunks detected in tcache",
    "free(): unaligned chunk detected in tcache 2",
    "invalid fastbin entry (free)",
    "malloc(): corrupted top size",
    "malloc(): corrupted unsorted chunks",
    "malloc(): corrupted unsorted chunks 2",
    "malloc(): corrupted unsorted chunks 3",
    "malloc(): invalid next size (unsorted)",
    "malloc(): invalid next->prev_inuse (unsorted)",
    "malloc(): invalid size (unsorted)",
    "malloc(): largebin double linked list corrupted (bk)",
    "malloc(): largebin double linked list corrupted (nextsize)",
    "malloc(): memory corruption",
    "malloc(): memory corruption (fast)",
    "malloc(): mismatching next->prev_size (unsorted)",
    "malloc(): smallbin double linked list corrupted",
    "malloc(): too many chunks detected in tcache",
    "malloc(): unaligned fastbin chunk detected",
    "malloc(): unaligned fastbin chunk detected 2",
    "malloc(): unaligned fastbin chunk detected 3",
    "malloc(): unaligned tcache chunk detected",
    "malloc(): unsorted double linked list corrupted",
    "malloc: top chunk is corrupt",
    "malloc_check_get_size: memory corruption",
    "malloc_consolidate(): invalid chunk size",
    "malloc_consolidate(): unaligned fastbin chunk detected",
    "mremap_chunk(): invalid pointer",
    "munmap_chunk(): invalid pointer",
    "realloc(): invalid next size",
    "realloc(): invalid old size",
    "realloc(): invalid pointer",
    "tcache_thread_shutdown(): unaligned tcache chunk detected",
    "block freed twice",
    "memory clobbered before allocated block",
    "memory clobbered past end of allocated block",
};

/* Failed assertions of malloc.c, whose rest names a line and an expression (2.36 and later). */
static const char *const assertions[] = {
    "Fatal glibc error: malloc.c:",
    "Fatal glibc error: malloc assertion failure in ",
};

/* Up to 2.25 a message is "*** Error in `PROGRAM': TEXT: 0xADDRESS ***", since then "TEXT". */
static bool ends_a_text(const char *end) {
    return *end == '\0' || *end == '\n' || strncmp(end, ": 0x", 4) == 0;
}

static bool stands_in(const char *message, const char *text) {
    size_t length = strlen(text);
    if (strncmp(message, text, length) == 0 && ends_a_text(message + length))
        return true;
    const char *quoted = strstr(message, "': ");
    return strncmp(message, "*** ", 4) == 0 && quoted != NULL &&
           strncmp(quoted + 3, text, length) == 0 && ends_a_text(quoted + 3 + length);
}

static const char *malloc_text(const char *message) {
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (stands_in(message, texts[i]))
            return texts[i];
    for (size_t i = 0; i < sizeof assertions / sizeof assertions[0]; i++)
        if (strncmp(message, assertions[i], strlen(assertions[i])) == 0)
            return "an assertion of malloc failed";
    return NULL;
}

/* struct abort_msg_s { unsigned int size; char msg[]; } at the start of a page; size is that of
 * its mapping, in whole pages. */
static const char *text_at(const struct cf_mem *mem, uint64_t page) {
    uint64_t page_bytes = cf_mem_page_bytes(mem), avail;
    uint32_t mapped;
    char message[MESSAGE_BYTES];
    if (!cf_mem_u32(mem, page, &mapped) || mapped == 0 || mapped % page_bytes != 0 ||
        mapped / page_bytes > PAGES_MAX)
        return NULL;
    const unsigned char *bytes = cf_mem_span(mem, page + sizeof mapped, &avail);
    if (bytes == NULL)
        return NULL;
    size_t room = avail < sizeof message - 1 ? (size_t)avail : sizeof message - 1;
    size_t length = strnlen((const char *)bytes, room);
    memcpy(message, bytes, length);
    message[length] = '\0';
    return malloc_text(message);
}

/* Looks at every word of [start, end) that leads to the start of a page. */
static const char *search(const struct cf_mem *mem, uint64_t start, uint64_t end) {
    uint64_t page_mask = cf_mem_page_bytes(mem) - 1, avail, word;
    for (uint64_t at = start; at < end; at += avail) {
        const unsigned char *bytes = cf_mem_span(mem, at, &avail);
        if (bytes == NULL)
            return NULL;
        avail = avail < end - at ? avail : end - at;
        struct cf_cursor words = cf_cursor_make(bytes, avail, cf_mem_word_bytes(mem));
        while (cf_cursor_word(&words, &word)) {
            const char *text = word == 0 || (word & page_mask) != 0 ? NULL : text_at(mem, word);
            if (text != NULL)
                return text;
        }
    }
    return NULL;
}

static bool is_data(const struct cf_region *region) {
    return (region->flags & PF_W) != 0 && region->data_bytes > 0;
}

/* The writable regions side by side around `addr`, no further than REACH_BYTES. */
static bool data_around(const struct cf_mem *mem, uint64_t addr, uint64_t *start, uint64_t *end) {
    const struct cf_region *region = cf_mem_find(mem, addr);
    if (region == NULL || !is_data(region))
        return false;
    size_t first = cf_mem_lower_bound(mem, addr), last = first;
    while (first > 0 && cf_mem_region(mem, first - 1)->end == cf_mem_region(mem, first)->start &&
           is_data(cf_mem_region(mem, first - 1)))
        first--;
    while (last + 1 < cf_mem_nr_regions(mem) &&
           cf_mem_region(mem, last + 1)->start == cf_mem_region(mem, last)->end &&
           is_data(cf_mem_region(mem, last + 1)))
        last++;
    *start = cf_mem_region(mem, first)->start;
    *end = cf_mem_region(mem, last)->end;
    if (addr - *start > REACH_BYTES)
        *start = (addr - REACH_BYTES) & ~(cf_mem_page_bytes(mem) - 1);
    if (*end - addr > REACH_BYTES)
        *end = addr + REACH_BYTES;
    return true;
}

struct cf_abort cf_abort_find(const struct cf_malloc *m) {
    const struct cf_mem *mem = cf_malloc_mem(m);
    uint64_t start, end;
    if (cf_malloc_nr_namespaces(m) == 0 ||
        !data_around(mem, cf_malloc_namespace(m, 0)->main_arena, &start, &end))
        return (struct cf_abort){CF_ABORT_UNKNOWN, NULL};
    const char *text = search(mem, start, end);
    cf_mem_drop(mem, start, end);
    return (struct cf_abort){text != NULL ? CF_ABORT_MALLOC : CF_ABORT_NONE, text};
}
