/*
 * The input of an analysis: a file that holds an ELF core, plain or packed.
 *
 * A plain core is used where it lies. One inside gzip, zstd, xz, lz4, bzip2, tar or zip, also with
 * other files beside it, and one from a pipe on standard input, is unpacked into a sparse temporary
 * file without a name, which is gone when the process ends, however that happens. An archive of
 * several cores is refused, with their names, and a damaged one too. A sparse tar gives back its
 * holes exactly; otherwise runs of zeros become holes, which then say nothing about the process.
 */
#ifndef CF_INPUT_INPUT_H
#define CF_INPUT_INPUT_H

#include <stdbool.h>

#include "corefrag.h"
#include "input/sides.h"

struct cf_input;

/*
 * Opens the core at `path`, "-" being standard input. CF_EINPUT when there is none that can be
 * read: no such file, a folder, a pipe, no core in the archive, no room to unpack it (the text says
 * where and how to choose another place). Progress is "unpack", in bytes of the packed file.
 */
int cf_input_open(const struct cf_context *ctx, const char *path, struct cf_input **out,
                  struct cf_err *err);
void cf_input_free(struct cf_input *input);

/*
 * Side files that go with the core, whose process id is `pid` (0: not known): out of the archive of
 * files that it came in, else from its folder. Once; `*out` is borrowed. CF_ENOMEM.
 */
int cf_input_find_sides(struct cf_input *input, uint32_t pid, const struct cf_sides **out,
                        struct cf_err *err);
/* The core came with a name of its own out of an archive of files. */
bool cf_input_is_archive(const struct cf_input *input);

/* The core's file, seekable, owned by the input. */
int cf_input_fd(const struct cf_input *input);
/* For messages: the path, with the name inside the archive where there is one. */
const char *cf_input_name(const struct cf_input *input);
/* False: the holes of the file are our own, made of zeros. */
bool cf_input_holes_are_evidence(const struct cf_input *input);
/* The archive ended early; the core has what came out before. */
bool cf_input_truncated(const struct cf_input *input);
/* The core came out of an archive or a compressed file ... */
bool cf_input_is_packed(const struct cf_input *input);
/* ... whose checksum over all of its bytes was verified. False: it has none, or was cut before. */
bool cf_input_is_checked(const struct cf_input *input);

#endif
