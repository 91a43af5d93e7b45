/*
 * Demanglers of libiberty that write through a callback: they need no memory for the result, and
 * can be left by longjmp() as soon as there is enough. Rust's old names look like C++'s (_ZN...E
 * with a hash at the end), so that Rust is asked first.
 */
#include "sym/demangle.h"

#include <libiberty/demangle.h>
#include <setjmp.h>
#include <stdbool.h>
#include <string.h>

enum { MANGLED_MAX = 4096 };

struct sink {
    char *out;
    size_t bytes, used;
    bool is_full;
    jmp_buf enough;
};

/* libiberty's printers cannot be told to stop; they keep everything on the stack, so that they can
 * be left. */
static void write_part(const char *part, size_t bytes, void *opaque) {
    struct sink *sink = opaque;
    size_t room = sink->bytes - 1 - sink->used;
    size_t taken = bytes < room ? bytes : room;
    memcpy(sink->out + sink->used, part, taken);
    sink->used += taken;
    if (taken < bytes) {
        sink->is_full = true;
        longjmp(sink->enough, 1);
    }
}

static bool demangle(const char *name, struct sink *sink) {
    if (setjmp(sink->enough) != 0)
        return true;
    if (strncmp(name, "_R", 2) == 0 || strncmp(name, "_ZN", 3) == 0) {
        if (rust_demangle_callback(name, 0, write_part, sink) != 0)
            return true;
        sink->used = 0;
    }
    return strncmp(name, "_Z", 2) == 0 &&
           cplus_demangle_v3_callback(name, DMGL_PARAMS | DMGL_ANSI, write_part, sink) != 0;
}

static const char *finish(struct sink *sink) {
    sink->out[sink->used] = '\0';
    if (sink->is_full)
        memcpy(sink->out + sink->bytes - 4, "...", 4);
    return sink->out;
}

const char *cf_demangle(const char *name, char *out, size_t bytes) {
    struct sink sink = {.out = out, .bytes = bytes};
    char plain[MANGLED_MAX];
    size_t length = strcspn(name, "@");
    if (length < sizeof plain) {
        memcpy(plain, name, length);
        plain[length] = '\0';
        if (demangle(plain, &sink) && sink.used > 0)
            return finish(&sink);
    }
    sink.used = length < bytes ? length : bytes - 1;
    sink.is_full = length >= bytes;
    memcpy(out, name, sink.used);
    return finish(&sink);
}
