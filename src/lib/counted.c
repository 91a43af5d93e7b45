/* Whether a side file that nobody named is this process's: the first that is wins. */
#include "lib/counted.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/context.h"
#include "base/err.h"
#include "base/texts.h"
#include "core/core.h"
#include "input/sides.h"
#include "space/kernel.h"

enum { MIB = 1 << 20 };

static const char *const kind_names[CF_NR_SIDE_KINDS] = {"smaps", "smaps_rollup", "cgroup"};

static int add_note(struct cf_counted *counted, const char *kind, const char *name,
                    const char *refused, struct cf_err *err) {
    char *copy = strdup(name);
    char *why = refused == NULL ? NULL : strdup(refused);
    struct cf_side_note *note = NULL;
    if (copy != NULL && (refused == NULL || why != NULL))
        note = cf_array_push(&counted->notes);
    if (note == NULL) {
        free(copy);
        free(why);
        return cf_err_nomem(err, strlen(name) + 1, "a side file's name");
    }
    *note = (struct cf_side_note){.kind = kind, .name = copy, .refused = why};
    return CF_OK;
}

int cf_counted_open(struct cf_counted *counted, const struct cf_options *options,
                    struct cf_err *err) {
    int status = CF_OK;
    if (options->smaps_path != NULL)
        status = cf_smaps_read(&counted->smaps, options->smaps_path, err);
    if (status == CF_OK && options->smaps_path != NULL)
        status = add_note(counted, kind_names[counted->smaps.is_rollup], options->smaps_path, NULL,
                          err);
    if (status == CF_OK && options->cgroup_path != NULL)
        status = cf_cgroup_read(&counted->cgroup, options->cgroup_path, err);
    if (status == CF_OK && options->cgroup_path != NULL)
        status = add_note(counted, "cgroup", options->cgroup_path, NULL, err);
    return status;
}

/* ---- found ---- */

struct finding {
    const struct cf_context *ctx;
    struct cf_counted *counted;
    const struct cf_sides *sides;
    const struct cf_mem *mem;
    bool in_archive;
};

/* `why` NULL: it is used. */
static int note_found(const struct finding *finding, const struct cf_side *side, const char *why,
                      struct cf_err *err) {
    const char *file = cf_cgroup_file_name(cf_base_name(side->name));
    CF_CLEANUP_FREE char *name = NULL;
    int bytes = file == NULL || side->kind != CF_SIDE_CGROUP
                    ? asprintf(&name, "%s", side->name)
                    : asprintf(&name, "%.*smemory.*", (int)(file - side->name), side->name);
    if (bytes < 0) {
        name = NULL;
        return cf_err_nomem(err, strlen(side->name), "a side file's name");
    }
    int status = add_note(finding->counted, kind_names[side->kind], name, why, err);
    if (status != CF_OK)
        return status;
    struct cf_side_note *note =
        &finding->counted->notes.items[finding->counted->notes.len - 1];
    note->found = true;
    note->in_archive = finding->in_archive;
    if (why != NULL)
        cf_log(finding->ctx, "%s %s is not used: %s", name,
               finding->in_archive ? "in the archive" : "beside the core", why);
    return CF_OK;
}

static int try_smaps(const struct finding *finding, const struct cf_side *side,
                     struct cf_err *err) {
    struct cf_smaps smaps = {.is_rollup = false};
    struct cf_err why = {.text = ""};
    int status = cf_smaps_read_fd(&smaps, side->fd, side->name, &why);
    if (status == CF_OK && smaps.is_rollup != (side->kind == CF_SIDE_ROLLUP))
        status = cf_err_set(&why, CF_EINPUT, "%s", smaps.is_rollup
                                                       ? "it is a smaps_rollup by its content"
                                                       : "it is a whole smaps by its content");
    if (status == CF_OK && !cf_kernel_covers(&smaps, finding->mem))
        status = cf_err_set(&why, CF_EINPUT, "%s",
                            "its mappings are not those of the core: it is of another process, or "
                            "of another run");
    if (status == CF_OK)
        finding->counted->smaps = smaps;
    else
        cf_smaps_fini(&smaps);
    if (status == CF_ENOMEM) {
        if (err != NULL)
            *err = why;
        return status;
    }
    return note_found(finding, side, status == CF_OK ? NULL : why.text, err);
}

static int find_smaps(const struct finding *finding, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < finding->sides->items.len && status == CF_OK; i++) {
        const struct cf_side *side = &finding->sides->items.items[i];
        if (side->kind != CF_SIDE_CGROUP && finding->counted->smaps.rows.len == 0)
            status = try_smaps(finding, side, err);
    }
    return status;
}

static size_t depth_of(const char *name) {
    size_t depth = 0;
    for (; *name != '\0'; name++)
        depth += *name == '/';
    return depth;
}

static bool is_same_folder(const char *a, const char *b) {
    size_t length = (size_t)(cf_base_name(a) - a);
    return length == (size_t)(cf_base_name(b) - b) && memcmp(a, b, length) == 0;
}

/* A copy of a cgroup's folder has those of the groups below it: the uppermost is meant. */
static const struct cf_side *uppermost(const struct cf_sides *sides, bool *is_clear) {
    const struct cf_side *best = NULL;
    for (size_t i = 0; i < sides->items.len; i++) {
        const struct cf_side *side = &sides->items.items[i];
        if (side->kind != CF_SIDE_CGROUP || (best != NULL && side->rank > best->rank))
            continue;
        size_t depth = depth_of(side->name), least = best == NULL ? SIZE_MAX : depth_of(best->name);
        if (depth == least && !is_same_folder(side->name, best->name))
            *is_clear = false;
        if (depth < least) {
            best = side;
            *is_clear = true;
        }
    }
    return best;
}

static int read_group(const struct finding *finding, const struct cf_side *first,
                      struct cf_err *why) {
    int status = CF_OK;
    for (size_t i = 0; i < finding->sides->items.len && status == CF_OK; i++) {
        const struct cf_side *side = &finding->sides->items.items[i];
        if (side->kind == CF_SIDE_CGROUP && side->rank == first->rank &&
            is_same_folder(side->name, first->name))
            status = cf_cgroup_read_fd(&finding->counted->cgroup, side->fd, side->name, why);
    }
    return status;
}

static int find_cgroup(const struct finding *finding, struct cf_err *err) {
    bool is_clear = true;
    const struct cf_side *first = uppermost(finding->sides, &is_clear);
    struct cf_err why = {.text = ""};
    if (first == NULL)
        return CF_OK;
    int status = !is_clear ? cf_err_set(&why, CF_EINPUT, "%s",
                                        "there are files of several cgroups: name one (--cgroup)")
                           : read_group(finding, first, &why);
    if (status != CF_OK)
        cf_cgroup_fini(&finding->counted->cgroup);
    if (status == CF_ENOMEM) {
        if (err != NULL)
            *err = why;
        return status;
    }
    return note_found(finding, first, status == CF_OK ? NULL : why.text, err);
}

static int protect(const struct cf_sides *sides, const char *db_path, struct cf_err *err) {
    int status = CF_OK;
    for (size_t i = 0; i < sides->items.len && status == CF_OK; i++) {
        const char *name = sides->items.items[i].name;
        status = cf_output_check(db_path, false, &name, 1, err);
    }
    return status;
}

int cf_counted_find(const struct cf_context *ctx, struct cf_counted *counted,
                    struct cf_input *input, const struct cf_mem *mem, const char *db_path,
                    struct cf_err *err) {
    struct finding finding = {.ctx = ctx, .counted = counted, .mem = mem,
                              .in_archive = cf_input_is_archive(input)};
    bool has_smaps = counted->smaps.rows.len > 0, has_cgroup = counted->cgroup.figures.len > 0;
    if (has_smaps && has_cgroup)
        return CF_OK;
    int status = cf_input_find_sides(input, cf_core_pid(cf_mem_core(mem)), &finding.sides, err);
    if (status == CF_OK && !finding.in_archive)
        status = protect(finding.sides, db_path, err);
    if (status == CF_OK && !has_smaps)
        status = find_smaps(&finding, err);
    if (status == CF_OK && !has_cgroup)
        status = find_cgroup(&finding, err);
    return status;
}

static uint64_t figure(const struct cf_cgroup *cgroup, const char *name) {
    const struct cf_cgroup_figure *found = cf_cgroup_find(cgroup, name);
    return found == NULL ? 0 : found->bytes;
}

int cf_counted_judge_cgroup(struct cf_counted *counted, const struct cf_budget *budget,
                            struct cf_err *err) {
    const struct cf_cgroup_figure *peak = cf_cgroup_find(&counted->cgroup, "memory.peak");
    uint64_t swapped = figure(&counted->cgroup, "memory.swap.current");
    if (swapped == 0)
        swapped = figure(&counted->cgroup, "swap");
    struct cf_side_note *note =
        counted->notes.len == 0 ? NULL : &counted->notes.items[counted->notes.len - 1];
    if (peak == NULL || note == NULL || !note->found || note->refused != NULL ||
        strcmp(note->kind, "cgroup") != 0 ||
        (budget->anonymous_resident_bytes <= peak->bytes + swapped))
        return CF_OK;
    if (asprintf(&note->refused,
                 "its processes never had more than %.1f MiB, and this one alone has %.1f MiB: it "
                 "is another group's, or of another time",
                 (double)peak->bytes / MIB, (double)budget->anonymous_resident_bytes / MIB) < 0) {
        note->refused = NULL;
        return cf_err_nomem(err, 128, "why a cgroup is not used");
    }
    cf_cgroup_fini(&counted->cgroup);
    return CF_OK;
}

void cf_counted_fini(struct cf_counted *counted) {
    for (size_t i = 0; i < counted->notes.len; i++) {
        free(counted->notes.items[i].name);
        free(counted->notes.items[i].refused);
    }
    cf_array_free(&counted->notes);
    cf_cgroup_fini(&counted->cgroup);
    cf_smaps_fini(&counted->smaps);
}
