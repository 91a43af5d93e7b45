/* The truth file's writer, and the readers of /proc. Nothing here allocates. */
#include "table.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

void put_flush(void) {
    for (size_t done = 0; done < table->out_used;) {
        ssize_t n = write(table->out_fd, table->out + done, table->out_used - done);
        if (n <= 0)
            table_die("cannot write the truth file");
        done += n;
    }
    table->out_used = 0;
}

void put_bytes(const char *bytes, size_t length) {
    if (table->out_used + length > TABLE_OUT)
        put_flush();
    memcpy(table->out + table->out_used, bytes, length);
    table->out_used += length;
}

void put_text(const char *text) {
    put_bytes(text, strlen(text));
}

static void put_in_base(uint64_t value, unsigned base) {
    char digits[24];
    size_t at = sizeof digits;
    do {
        digits[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    put_bytes(digits + at, sizeof digits - at);
}

void put_number(uint64_t value) {
    put_in_base(value, 10);
}

void put_hex(uint64_t value) {
    put_text("0x");
    put_in_base(value, 16);
}

size_t proc_read(const char *path) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        table_die("cannot read a file of /proc");
    size_t used = 0;
    for (ssize_t n; (n = read(fd, table->scratch + used, TABLE_SCRATCH - 1 - used)) > 0;)
        used += n;
    close(fd);
    table->scratch[used] = 0;
    return used;
}

static uint64_t number_at(const char *text, unsigned base) {
    uint64_t value = 0;
    for (;; text++) {
        unsigned digit = *text >= 'a' ? *text - 'a' + 10u : *text - '0' + 0u;
        if (digit >= base)
            return value;
        value = value * base + digit;
    }
}

uint64_t proc_field(const char *field) {
    const char *at = strstr(table->scratch, field);
    if (!at)
        return 0;
    at += strlen(field);
    return number_at(at + strspn(at, " "), 10) * 1024;
}

/*
 * Bit 63 of a pagemap entry says that a page is mapped, bit 56 that this process alone maps it. The
 * zero page is mapped but never exclusively: it costs nothing and is a hole in a core. By the time
 * this runs the children are gone, so every private page is exclusive again.
 */
static bool is_resident(uint64_t entry) {
    return (entry >> 63 & 1) && (entry >> 56 & 1);
}

static void put_pages_between(int fd, uint64_t start, uint64_t end) {
    uint64_t page = sysconf(_SC_PAGESIZE);
    static uint64_t entries[64];
    for (uint64_t at = start; at < end; at += sizeof entries / 8 * page) {
        size_t want = (end - at) / page < 64 ? (end - at) / page : 64;
        ssize_t got = pread(fd, entries, want * 8, (off_t)(at / page * 8));
        for (ssize_t i = 0; i < got / 8; i++) {
            if (!is_resident(entries[i]))
                continue;
            put_text("page\t");
            put_hex(at + i * page);
            put_text("\n");
        }
    }
}

/* Whether a line of /proc/self/maps is private, writable and of no file ([heap] is of none). */
static bool is_anonymous(const char *line, const char *end) {
    const char *flags = memchr(line, ' ', end - line);
    if (!flags || flags[2] != 'w' || flags[4] != 'p')
        return false;
    const char *name = end;
    while (name > line && name[-1] != ' ')
        name--;
    return name == end || *name == '[';
}

void put_resident_pages(void) {
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        table_die("cannot read pagemap");
    proc_read("/proc/self/maps");
    for (const char *line = table->scratch, *end; (end = strchr(line, '\n')); line = end + 1) {
        if (!is_anonymous(line, end))
            continue;
        uint64_t start = number_at(line, 16);
        put_pages_between(fd, start, number_at(strchr(line, '-') + 1, 16));
    }
    close(fd);
}
