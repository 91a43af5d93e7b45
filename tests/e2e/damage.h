/*
 * Damages a core in the way that full disks, limits, filters and dumpers do: a 64-bit ELF core that
 * lies unpacked in a file, changed in place. Each function returns false, with a message, where the
 * core does not have what is to be damaged.
 */
#ifndef DAMAGE_H
#define DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

/* Cuts the file to `percent` of its length. */
bool damage_cut(const char *core, unsigned percent);
/* Cuts it in the middle of the notes, or of the program headers. */
bool damage_cut_notes(const char *core);
bool damage_cut_headers(const char *core);
/* From `percent` on all bytes are zeros, and the length stays. */
bool damage_zero_tail(const char *core, unsigned percent);
/* The segment that holds `addr` is not in the file: its size there is 0. */
bool damage_leave_out(const char *core, uint64_t addr);
/* [start, end) of the process's memory is zeros. */
bool damage_zero_memory(const char *core, uint64_t start, uint64_t end);
/* There is no NT_FILE: the note has another type. */
bool damage_hide_files(const char *core);
/* The count of segments stands behind the end of the file (PN_XNUM, cut off). */
bool damage_lose_count(const char *core);
/* The segment that holds `addr` claims a page of the next one. */
bool damage_overlap(const char *core, uint64_t addr);

#endif
