/*
 * Loads what a truth program wrote down into temporary tables of a connection, so that a check is
 * one query over its word and ours. The tables live in the connection's temp schema; the database
 * itself stays as it is.
 *
 *   truth_figure(kind, value)                             records of one field, the value as text
 *   truth_mallinfo(kind, arena, ordblks, ... keepcost)    mallinfo2, mallinfo2_again, ..._trimmed
 *   truth_live(address, requested, usable, mark)
 *   truth_freed(address, requested)
 *   truth_page(address)                                   resident pages
 *   truth_call(name, arg0, arg1, arg2, result)            what malloc_trim(0) asked of the kernel
 *   truth_xml(nr, system_bytes, max_bytes, aspace_bytes, fast_chunks, fast_bytes, rest_chunks,
 *             rest_bytes)                                 one row an arena, of malloc_info()
 *   truth_map(start, end, flags, rss_bytes, anonymous_bytes, name)      one row a mapping, of smaps
 */
#ifndef TRUTH_TABLES_H
#define TRUTH_TABLES_H

#include <sqlite3.h>
#include <stdbool.h>

/* Loads `folder`/truth, .xml and, if there is one, .smaps. False, with a message on stderr, if not
 * whole. */
int truth_tables_load(sqlite3 *db, const char *folder, bool has_smaps);

#endif
