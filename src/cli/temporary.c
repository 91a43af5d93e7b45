#include "cli/temporary.h"

#include <limits.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

enum { NR_SLOTS = 8 };

/* A slot is in use while its first byte is not zero; that byte is written last and cleared first,
 * so that the handler never sees half a path. */
static char slots[NR_SLOTS][PATH_MAX];

static const int fatal_signals[] = {SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGQUIT};
enum { NR_SIGNALS = sizeof fatal_signals / sizeof fatal_signals[0] };

static void remove_and_die(int signal_number) {
    for (size_t i = 0; i < NR_SLOTS; i++)
        if (*(volatile char *)slots[i] != '\0')
            (void)unlink(slots[i]);
    /* SA_RESETHAND has put the default back; it acts when this handler returns. */
    (void)raise(signal_number);
}

void cli_temporary_catch_signals(void) {
    struct sigaction action = {.sa_handler = remove_and_die, .sa_flags = (int)SA_RESETHAND};
    for (size_t i = 0; i < NR_SIGNALS; i++) {
        struct sigaction before;
        /* A signal that was ignored when we were started (nohup) stays so. */
        if (sigaction(fatal_signals[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            (void)sigaction(fatal_signals[i], &action, NULL);
    }
    /* Over the limit of file sizes a write shall fail, not end us with a file left behind. */
    (void)signal(SIGXFSZ, SIG_IGN);
}

void cli_temporary_add(const char *path) {
    size_t len = strlen(path);
    if (len == 0 || len >= PATH_MAX)
        return;
    for (size_t i = 0; i < NR_SLOTS; i++) {
        if (slots[i][0] != '\0')
            continue;
        memcpy(slots[i] + 1, path + 1, len);
        *(volatile char *)slots[i] = path[0];
        return;
    }
}

void cli_temporary_remove(const char *path) {
    for (size_t i = 0; i < NR_SLOTS; i++)
        if (strcmp(slots[i], path) == 0)
            *(volatile char *)slots[i] = '\0';
}
