/*
 * Numbers for people. Rounded unless exact is asked for: bytes to one decimal of KiB and MiB and
 * two of GiB and above (a tenth of a GiB is too coarse to add up in a review), counts with
 * thousands separators in either case. Every function writes a terminated string of at most
 * CF_FORMAT_MAX bytes and returns its buffer.
 */
#ifndef CF_REPORT_FORMAT_H
#define CF_REPORT_FORMAT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/texts.h"
#include "report/doc.h"

enum { CF_FORMAT_MAX = CF_NUMBER_MAX };

/* "512 B", "4.0 KiB", "112.4 MiB", "3.31 GiB"; exact: "3,554,213,888 B". */
const char *cf_format_bytes(char out[CF_FORMAT_MAX], uint64_t bytes, bool exact);
/* "61,204" */
const char *cf_format_count(char out[CF_FORMAT_MAX], int64_t count);
/* "11.5 %"; a share that rounds to 0.0 or 100.0 without being it is "< 0.1 %", "> 99.9 %". */
const char *cf_format_percent(char out[CF_FORMAT_MAX], double percent);
/* "0x7f3c5bffe010" */
const char *cf_format_address(char out[CF_FORMAT_MAX], uint64_t address);
/* "s", or "" where the count is 1; static. */
const char *cf_format_plural(int64_t count);
/* "≥ " for at least, "≤ " for bound, "≈ " for about, "" for exact; static. */
const char *cf_format_mark(enum cf_figure_mark mark);

/*
 * A cell as its column shows it, with its mark; borrowed from the cell (a text, not escaped) or
 * from `out`. A bar is the emitter's own and comes out empty.
 */
const char *cf_format_cell(char out[CF_FORMAT_MAX], const struct cf_column *column,
                           const struct cf_datum *cell, bool exact);

#endif
