/*
 * leaky: a graph of 64 blocks, each of a size of its own and made by a function of its own, so that
 * a block is known by its size in a core and by the function's name in another tool's records.
 * Block n has 64 + 32 * n bytes. With the argument "wait" it prints "ready" and waits to be killed;
 * else it ends as it is.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCKS = 64, WORDS = 8 };

#define NOINLINE __attribute__((noinline))

/* Blocks while they are made, each as its complement: no pointer. */
static uintptr_t hidden[BLOCKS];
void *volatile global_first, *volatile global_inside, *volatile global_past;

static void *take(unsigned n) {
    void *p = malloc(64 + 32 * n);
    if (p == NULL)
        exit(99);
    return memset(p, 0, 64 + 32 * n);
}

#define MAKE(n)                                                                                   \
    NOINLINE static void block_##n(void) {                                                        \
        hidden[n] = ~(uintptr_t)take(n);                                                          \
    }
MAKE(0) MAKE(1) MAKE(2) MAKE(3)
MAKE(4) MAKE(5) MAKE(6) MAKE(7)
MAKE(8) MAKE(9) MAKE(10) MAKE(11)
MAKE(12) MAKE(13) MAKE(14) MAKE(15)
MAKE(16) MAKE(17) MAKE(18) MAKE(19)
MAKE(20) MAKE(21) MAKE(22) MAKE(23)
MAKE(24) MAKE(25) MAKE(26) MAKE(27)
MAKE(28) MAKE(29) MAKE(30) MAKE(31)
MAKE(32) MAKE(33) MAKE(34) MAKE(35)
MAKE(36) MAKE(37) MAKE(38) MAKE(39)
MAKE(40) MAKE(41) MAKE(42) MAKE(43)
MAKE(44) MAKE(45) MAKE(46) MAKE(47)
MAKE(48) MAKE(49) MAKE(50) MAKE(51)
MAKE(52) MAKE(53) MAKE(54) MAKE(55)
MAKE(56) MAKE(57) MAKE(58) MAKE(59)
MAKE(60) MAKE(61) MAKE(62) MAKE(63)

static void (*const makers[BLOCKS])(void) = {
    block_0, block_1, block_2, block_3, block_4, block_5,
    block_6, block_7, block_8, block_9, block_10, block_11,
    block_12, block_13, block_14, block_15, block_16, block_17,
    block_18, block_19, block_20, block_21, block_22, block_23,
    block_24, block_25, block_26, block_27, block_28, block_29,
    block_30, block_31, block_32, block_33, block_34, block_35,
    block_36, block_37, block_38, block_39, block_40, block_41,
    block_42, block_43, block_44, block_45, block_46, block_47,
    block_48, block_49, block_50, block_51, block_52, block_53,
    block_54, block_55, block_56, block_57, block_58, block_59,
    block_60, block_61, block_62, block_63,
};

/* The word `index` of block `from` leads `offset` bytes into block `to`. */
NOINLINE static void point(unsigned from, unsigned index, unsigned to, unsigned offset) {
    ((char **)~hidden[from])[index] = (char *)~hidden[to] + offset;
}

/* Chains, rings and trees; those of even beginnings are held, the others are lost. */
NOINLINE static void tie(void) {
    for (unsigned n = 0; n < 12; n++) /* held: 0 -> 2 -> ... -> 24; lost: 1 -> 3 -> ... -> 25 */
        for (unsigned odd = 0; odd < 2; odd++)
            point(2 * n + odd, n % WORDS, 2 * n + 2 + odd, 0);
    for (unsigned n = 26; n < 32; n++) /* a ring that nobody holds */
        point(n, 0, n == 31 ? 26 : n + 1, 0);
    for (unsigned n = 32; n < 40; n++) { /* a tree below 32, by its middles */
        point(32 + (n - 32) / 2, 2 + (n & 1), n, n == 32 ? 0 : 24);
    }
    for (unsigned n = 41; n < 48; n++) /* a star that is lost, around 40 */
        point(40, n - 41, n, 0);
    point(50, 1, 51, 16); /* lost, by their middles */
    point(51, 1, 52, 16);
    point(53, 0, 24, 0); /* lost, and leads to what is held */
    point(24, 3, 54, 0); /* the end of the chain leads on to a ring */
    point(54, 0, 55, 0);
    point(55, 0, 54, 0);
    global_first = (void *)~hidden[0];
    global_inside = (char *)~hidden[32] + 40;
    global_past = (char *)~hidden[56] + 8;
}

NOINLINE static void wipe_stack(void) {
    volatile char room[1 << 14];
    for (size_t i = 0; i < sizeof room; i++)
        room[i] = 0;
}

int main(int argc, char **argv) {
    setvbuf(stdout, NULL, _IONBF, 0);
    for (unsigned n = 0; n < BLOCKS; n++)
        makers[n]();
    tie();
    wipe_stack();
    puts("ready");
    while (argc > 1 && strcmp(argv[1], "wait") == 0)
        pause();
    _exit(0);
}
