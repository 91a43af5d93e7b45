/*
 * A set of numbers that only shrinks, and is asked for the next one at or below a number: a bit
 * for each, and above 64 words of bits one bit for each word that has any, and so on up to one
 * word. Number 0 is never taken out, so there is always an answer.
 *
 *     level 1   1       1       ...            a bit for each word below
 *     level 0   0010..  1000..  ...            a bit for each number
 */
#ifndef CF_REACH_STOPS_H
#define CF_REACH_STOPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CF_STOPS_LEVELS = 6 }; /* for 32 bits of numbers */

/* All zero is nothing that may be asked. End with cf_stops_fini(). */
struct cf_stops {
    uint64_t *levels[CF_STOPS_LEVELS];
    uint64_t *words;
};

/* All numbers below `nr`. False: memory is out. */
static inline bool cf_stops_init(struct cf_stops *stops, uint32_t nr) {
    size_t nr_words[CF_STOPS_LEVELS], all = 0, of = nr;
    for (size_t i = 0; i < CF_STOPS_LEVELS; i++) {
        of = of / 64 + 1;
        nr_words[i] = of;
        all += of;
    }
    stops->words = malloc(all * sizeof *stops->words);
    if (stops->words == NULL)
        return false;
    memset(stops->words, 0xff, all * sizeof *stops->words);
    stops->levels[0] = stops->words;
    for (size_t i = 1; i < CF_STOPS_LEVELS; i++)
        stops->levels[i] = stops->levels[i - 1] + nr_words[i - 1];
    return true;
}

static inline void cf_stops_fini(struct cf_stops *stops) {
    free(stops->words);
    *stops = (struct cf_stops){.words = NULL};
}

/* `number` is not 0. */
static inline void cf_stops_take_out(struct cf_stops *stops, uint32_t number) {
    for (size_t i = 0; i < CF_STOPS_LEVELS; i++, number >>= 6) {
        uint64_t *word = &stops->levels[i][number >> 6];
        *word &= ~(1ull << (number & 63));
        if (*word != 0)
            return;
    }
}

static inline uint32_t cf_stops_at_or_below(const struct cf_stops *stops, uint32_t number) {
    uint64_t bits = stops->levels[0][number >> 6] & ~(~1ull << (number & 63));
    size_t level = 0;
    while (bits == 0) {
        number >>= 6;
        bits = stops->levels[++level][number >> 6] & ((1ull << (number & 63)) - 1);
    }
    number = (number & ~63u) | (63 - (uint32_t)__builtin_clzll(bits));
    while (level-- > 0)
        number = number << 6 | (63 - (uint32_t)__builtin_clzll(stops->levels[level][number]));
    return number;
}

#endif
