/*
 * A table of guards that a signal's handler reads without a lock, and the handler, which stands as
 * long as one of them does. The handler calls nothing but mmap(), sigaction() and raise(), which
 * signals may interrupt.
 */
#include "base/bus_guard.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"

enum { GUARDS_MAX = 4096 };
#define NO_HIT UINT64_MAX

/* The handler reads these without a lock. A fault inside a mapping means that its guard stands and
 * does not change; of any other guard it must only see that the address is not in it, so that
 * `version` is odd while start and end change. */
struct cf_bus_guard {
    atomic_uint version;
    atomic_uintptr_t start;
    atomic_uintptr_t end; /* == start: free */
    _Atomic uint64_t hit;
    bool was_blocked;
};

/* Signals are the process's, and so is this: which mappings are guarded, and by whom SIGBUS was
 * handled before. */
static struct cf_bus_guard guards[GUARDS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned nr_guards;
static bool installed;
static struct sigaction previous;

/* All of the mapping becomes zeros: what is said of the rest is thrown away anyhow. */
static bool give_zeros(struct cf_bus_guard *guard, uintptr_t start, uintptr_t end,
                       uintptr_t addr) {
    uint64_t none = NO_HIT;
    (void)atomic_compare_exchange_strong(&guard->hit, &none, addr - start);
    return mmap((void *)start, end - start, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

static bool is_ours(uintptr_t addr) {
    for (size_t i = 0; i < GUARDS_MAX; i++) {
        struct cf_bus_guard *guard = &guards[i];
        unsigned version = atomic_load(&guard->version);
        uintptr_t start = atomic_load(&guard->start);
        uintptr_t end = atomic_load(&guard->end);
        if (version % 2 == 0 && version == atomic_load(&guard->version) && addr >= start &&
            addr < end)
            return give_zeros(guard, start, end, addr);
    }
    return false;
}

/* As if we were not there. The default action is taken by the read that fails once more; of
 * a signal that somebody sent, by sending it again. */
static void pass_on(int number, siginfo_t *info, void *context) {
    bool is_default = (previous.sa_flags & SA_SIGINFO) == 0 &&
                      (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN);
    if (!is_default && (previous.sa_flags & SA_SIGINFO) != 0) {
        previous.sa_sigaction(number, info, context);
    } else if (!is_default) {
        previous.sa_handler(number);
    } else if (info->si_code > 0 || previous.sa_handler == SIG_DFL) {
        const struct sigaction once = {.sa_handler = SIG_DFL};
        (void)sigaction(number, &once, NULL);
        if (info->si_code <= 0)
            (void)raise(number);
    }
}

static void on_bus_error(int number, siginfo_t *info, void *context) {
    int before = errno;
    bool is_read = info->si_code == BUS_ADRERR || info->si_code == BUS_OBJERR ||
                   info->si_code == BUS_MCEERR_AR;
    if (!is_read || !is_ours((uintptr_t)info->si_addr))
        pass_on(number, info, context);
    errno = before;
}

static bool install(void) {
    struct sigaction ours = {.sa_sigaction = on_bus_error,
                             .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART};
    (void)sigemptyset(&ours.sa_mask);
    if (!installed)
        installed = sigaction(SIGBUS, NULL, &previous) == 0 && sigaction(SIGBUS, &ours, NULL) == 0;
    return installed;
}

static void uninstall(void) {
    struct sigaction now;
    if (sigaction(SIGBUS, NULL, &now) != 0 || (now.sa_flags & SA_SIGINFO) == 0 ||
        now.sa_sigaction != on_bus_error)
        return;
    (void)sigaction(SIGBUS, &previous, NULL);
    installed = false;
}

static void set_range(struct cf_bus_guard *guard, uintptr_t start, uintptr_t end) {
    (void)atomic_fetch_add(&guard->version, 1);
    atomic_store(&guard->start, start);
    atomic_store(&guard->end, end);
    (void)atomic_fetch_add(&guard->version, 1);
}

static struct cf_bus_guard *free_guard(void) {
    for (size_t i = 0; i < GUARDS_MAX; i++) {
        if (atomic_load(&guards[i].start) == atomic_load(&guards[i].end))
            return &guards[i];
    }
    return NULL;
}

static bool unblock(void) {
    sigset_t bus, before;
    (void)sigemptyset(&bus);
    (void)sigaddset(&bus, SIGBUS);
    return pthread_sigmask(SIG_UNBLOCK, &bus, &before) == 0 && sigismember(&before, SIGBUS) == 1;
}

static void block(void) {
    sigset_t bus;
    (void)sigemptyset(&bus);
    (void)sigaddset(&bus, SIGBUS);
    (void)pthread_sigmask(SIG_BLOCK, &bus, NULL);
}

int cf_bus_guard_add(unsigned char *map, uint64_t bytes, struct cf_bus_guard **out,
                     struct cf_err *err) {
    (void)pthread_mutex_lock(&lock);
    struct cf_bus_guard *guard = free_guard();
    bool stands = guard != NULL && install();
    if (stands) {
        atomic_store(&guard->hit, NO_HIT);
        set_range(guard, (uintptr_t)map, (uintptr_t)map + (uintptr_t)bytes);
        nr_guards++;
        guard->was_blocked = unblock();
        *out = guard;
    }
    (void)pthread_mutex_unlock(&lock);
    return stands ? CF_OK
                  : cf_err_set(err, CF_EINPUT, "more than %d files are open at once", GUARDS_MAX);
}

void cf_bus_guard_remove(struct cf_bus_guard *guard) {
    if (guard == NULL)
        return;
    (void)pthread_mutex_lock(&lock);
    if (guard->was_blocked)
        block();
    set_range(guard, 0, 0);
    if (--nr_guards == 0)
        uninstall();
    (void)pthread_mutex_unlock(&lock);
}

void cf_bus_guard_hit(struct cf_bus_guard *guard, uint64_t offset) {
    uint64_t none = NO_HIT;
    (void)atomic_compare_exchange_strong(&guard->hit, &none, offset);
}

bool cf_bus_guard_was_hit(const struct cf_bus_guard *guard, uint64_t *offset) {
    uint64_t hit = atomic_load(&guard->hit);
    if (hit != NO_HIT)
        *offset = hit;
    return hit != NO_HIT;
}

int cf_bus_guard_error(int fd, const char *name, uint64_t offset, struct cf_err *err) {
    unsigned char byte;
    ssize_t got = pread(fd, &byte, 1, (off_t)offset);
    unsigned long long at = offset;
    if (got < 0)
        return cf_err_errno(err, CF_EINPUT, errno, "%s: cannot be read at offset %llu", name, at);
    if (got == 0)
        return cf_err_set(err, CF_EINPUT,
                          "%s: became shorter while it was read: there is nothing at offset %llu "
                          "any more; is it still being written or copied?",
                          name, at);
    return cf_err_set(err, CF_EINPUT,
                      "%s: could not be read at offset %llu; the disk or the file system failed "
                      "(see the kernel's log)",
                      name, at);
}
