/*
 * A caller that was built with another version passes structs of another size. Its size stands in
 * the first member: shorter than 0.2's is an uninitialised struct, longer than ours must be zero
 * behind what we know, since a member that this version ignores would be a silent no.
 */
#include "lib/door.h"

#include <errno.h>
#include <string.h>

#include "base/err.h"
#include "base/texts.h"

/* Larger than any option struct will be: a size beyond is a wild one. */
enum { SIZE_MOST = 4096, WIDTH_LEAST = 20, WIDTH_MOST = 10000 };

/*
 * The sizes that the structs had in 0.2, the first version that has sizes. A later member stands
 * behind these, and not in what was padding: old callers may have left anything there.
 */
enum {
    CONTEXT_LEAST = sizeof(struct cf_context),
    OPTIONS_LEAST = sizeof(struct cf_options),
    REPORT_OPTIONS_LEAST = sizeof(struct cf_report_options),
};

struct option_shape {
    size_t known; /* bytes that this library has */
    size_t least; /* and 0.2 had */
    const char *name;
};

/* Copies what the caller knows of a struct whose first member is its size. What a newer caller has
 * beyond our own must be zero, its default. */
static int take(const void *given, const struct option_shape *shape, void *out,
                struct cf_err *err) {
    memset(out, 0, shape->known);
    if (given == NULL)
        return CF_OK;
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size == 0)
        size = shape->least;
    if (size < shape->least || size > SIZE_MOST)
        return cf_err_set(err, CF_EUSAGE, "struct %s has no size: begin it with its _INIT",
                          shape->name);
    for (size_t i = shape->known; i < size; i++)
        if (((const unsigned char *)given)[i] != 0)
            return cf_err_set(err, CF_EUSAGE,
                              "struct %s has members set that corefrag %s does not know",
                              shape->name, cf_version());
    memcpy(out, given, size < shape->known ? size : shape->known);
    return CF_OK;
}

static int check_range(uint64_t value, uint64_t most, const char *what, struct cf_err *err) {
    if (value <= most)
        return CF_OK;
    return cf_err_set(err, CF_EUSAGE, "%s is %llu, and may be 0 to %llu", what,
                      (unsigned long long)value, (unsigned long long)most);
}

int cf_door_options(const struct cf_options *given, struct cf_options *out, struct cf_err *err) {
    static const struct option_shape shape = {sizeof *out, OPTIONS_LEAST, "cf_options"};
    int status = take(given, &shape, out, err);
    if (status == CF_OK)
        status = check_range((unsigned)out->chunks, CF_CHUNKS_NONE, "cf_options.chunks", err);
    if (status == CF_OK)
        status = check_range((unsigned)out->depth, CF_DEPTH_MALLOC, "cf_options.depth", err);
    return status;
}

int cf_door_report_options(const struct cf_report_options *given, struct cf_report_options *out,
                           struct cf_err *err) {
    static const struct option_shape shape = {sizeof *out, REPORT_OPTIONS_LEAST,
                                              "cf_report_options"};
    int status = take(given, &shape, out, err);
    if (status == CF_OK)
        status = check_range((unsigned)out->format, CF_FORMAT_JSON, "cf_report_options.format",
                             err);
    if (status == CF_OK && out->width != 0 &&
        (out->width < WIDTH_LEAST || out->width > WIDTH_MOST))
        status = cf_err_set(err, CF_EUSAGE,
                            "cf_report_options.width is %u, and may be 0 or %d to %d", out->width,
                            WIDTH_LEAST, WIDTH_MOST);
    return status;
}

int cf_door_context(const struct cf_context *given, struct cf_guard *guard, struct cf_err *err) {
    static const struct option_shape shape = {sizeof *given, CONTEXT_LEAST, "cf_context"};
    struct cf_context context;
    int status = take(given, &shape, &context, err);
    if (status == CF_OK)
        cf_guard_init(guard, &context);
    return status;
}

int cf_door_path(const char *path, const char *what, struct cf_err *err) {
    if (path != NULL && *path != '\0')
        return CF_OK;
    return cf_err_set(err, CF_EUSAGE, "%s has no name", what);
}

int cf_door_pointer(const void *pointer, const char *what, struct cf_err *err) {
    return pointer != NULL ? CF_OK : cf_err_set(err, CF_EUSAGE, "%s is NULL", what);
}

int cf_door_close_sink(FILE *sink, const char *what, struct cf_err *err) {
    if (fflush(sink) == 0 && !ferror(sink))
        return CF_OK;
    return cf_err_errno(err, CF_EOUTPUT, errno, "%s cannot be written", what);
}

size_t cf_escape(const char *raw, char *out, size_t bytes) {
    return cf_harmless(raw != NULL ? raw : "", out, out != NULL ? bytes : 0);
}
