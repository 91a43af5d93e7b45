/*
 * Asks debuginfod servers, the only thing here that ever uses a network, and only when the user
 * asked for it. The client library is loaded when it is first needed, so that a build needs none;
 * which servers, and how long they may take, is the client's own matter (DEBUGINFOD_URLS,
 * DEBUGINFOD_TIMEOUT).
 */
#ifndef CF_SYM_DEBUGINFOD_H
#define CF_SYM_DEBUGINFOD_H

#include <stdbool.h>
#include <stddef.h>

enum cf_debuginfod_kind { CF_DEBUGINFOD_EXECUTABLE, CF_DEBUGINFOD_DEBUGINFO };

/* Why nobody can be asked, in words (static), or NULL. */
const char *cf_debuginfod_lacks(void);

/* The path of the file in the client's cache; false: no client, no server, or no such file. */
bool cf_debuginfod_find(const unsigned char *build_id, size_t build_id_bytes,
                        enum cf_debuginfod_kind kind, char *path, size_t path_bytes);

#endif
