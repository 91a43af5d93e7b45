/*
 * Ways to fill and thin out a row of pointers, common to the scenarios. Private to tests/gen.
 *
 * A row is a static array of the scenario, so whatever still stands in it is held by a global; the
 * pointers are marked TRUTH_HELD. All randomness is a fixed sequence.
 */
#ifndef SHAPE_H
#define SHAPE_H

#include <stddef.h>
#include <stdint.h>

#include "truth.h"

/* The next number of a fixed pseudo-random sequence; each thread has its own, from seed 1. */
uint32_t shape_random(void);

/* Starts the calling thread's sequence again. */
void shape_seed(uint32_t seed);

/* A random size in [low, high], small ones likelier: the logarithm is uniform. */
size_t shape_size(size_t low, size_t high);

/* Puts a new chunk of `size` bytes into *slot and writes to all of it. */
void *shape_put(void **slot, size_t size);

/* Frees what stands in *slot, if anything, and clears the slot. */
void shape_clear(void **slot);

/* shape_put() with random sizes into row[0 .. nr). */
void shape_fill(void **row, size_t nr, size_t low, size_t high);

/* shape_clear() on every slot of row[0 .. nr) but the multiples of `keep` (0: on all of them). */
void shape_thin(void **row, size_t nr, size_t keep);

#endif
