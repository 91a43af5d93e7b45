// Objects that die and leave their words in free memory. What stands there at the end is known:
//
//   Session     DEAD are freed from the lowest on, side by side, ALIVE live on beside them: of the
//               dead all but the first show (free() writes over the first words of the lowest)
//   Written     freed just so, and their memory is written over by somebody who gets it: none shows
//   Listed      a block full of their vtables' addresses is freed: none of these is an object
//
// Chunks are too large for caches and fastbins. Prints "ready" and waits.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <unistd.h>

enum { DEAD = 300, ALIVE = 20 };

struct Session {
    virtual ~Session() {}
    char state[2000];
};
struct Written {
    virtual ~Written() {}
    char state[2000];
};
struct Listed {
    virtual ~Listed() {}
    char state[2000];
};

static void *held[3];
static Session *alive[ALIVE];

// Makes DEAD objects side by side, and frees them.
template <class T> static void live_and_die(void **guard) {
    T *all[DEAD];
    for (T *&one : all)
        one = new T;
    *guard = malloc(3000); // what is freed does not join the top
    for (T *one : all) {
        one->~T();
        free(one); // the destructor has left the vtable
    }
}

int main() {
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    static Listed listed;
    uintptr_t table = *(uintptr_t *)(void *)&listed;
    uintptr_t *list = static_cast<uintptr_t *>(malloc(40000));
    held[0] = malloc(3000);
    for (size_t i = 0; i < 40000 / sizeof *list; i++)
        list[i] = table;
    for (Session *&one : alive)
        one = new Session;
    live_and_die<Written>(&held[1]);
    size_t all = (size_t)DEAD * 2016 - 16; // of the one chunk that they are now
    void *written = malloc(all);
    memset(written, 0, all);
    live_and_die<Session>(&held[2]);
    free(list);
    free(written);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
