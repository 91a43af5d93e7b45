/*
 * Numbers for people, as every text of ours writes them: bytes to one decimal of KiB and MiB and
 * two of GiB and above, counts with thousands separators. Every function writes a terminated
 * string of at most CF_NUMBER_MAX bytes and returns its buffer.
 */
#ifndef CF_BASE_NUMBER_H
#define CF_BASE_NUMBER_H

#include <stdint.h>

enum { CF_NUMBER_MAX = 48 };

/* "512 B", "4.0 KiB", "112.4 MiB", "3.31 GiB" */
const char *cf_number_bytes(char out[CF_NUMBER_MAX], uint64_t bytes);
/* "3,554,213,888 B" */
const char *cf_number_exact_bytes(char out[CF_NUMBER_MAX], uint64_t bytes);
/* "61,204" */
const char *cf_number_count(char out[CF_NUMBER_MAX], int64_t count);
/* "11.5 %"; a share that rounds to 0.0 or 100.0 without being it is "< 0.1 %", "> 99.9 %". */
const char *cf_number_percent(char out[CF_NUMBER_MAX], double percent);

#endif
