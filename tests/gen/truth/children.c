/*
 * What a truth program lets its forked children do: glibc's own statistics in XML, and a real
 * malloc_trim(0), watched by the kernel's account and by ptrace. The heap of a child is an exact
 * copy, and what it does to it is lost with it.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "table.h"

static void wait_for(pid_t child, const char *what) {
    int status;
    while (waitpid(child, &status, 0) == child) {
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
            return;
        if (WIFEXITED(status) || WIFSIGNALED(status))
            break;
    }
    table_die(what);
}

static pid_t fork_or_die(void) {
    pid_t child = fork();
    if (child < 0)
        table_die("cannot fork");
    return child;
}

/*
 * stdout with a buffer of ours is the one stream that costs no malloc. The buffer stands in the
 * shared mapping, and the XML of a hundred arenas is shorter than it or is simply written in parts.
 */
void child_malloc_info(const char *path) {
    pid_t child = fork_or_die();
    if (child) {
        wait_for(child, "the child that asks malloc_info() failed");
        return;
    }
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (fd < 0 || dup2(fd, STDOUT_FILENO) < 0)
        _exit(1);
    setvbuf(stdout, table->scratch, _IOFBF, TABLE_SCRATCH);
    if (malloc_info(0, stdout) || fflush(stdout))
        _exit(1);
    _exit(0);
}

/* The kernel's count of anonymous bytes; statm is only near, this is exact. */
static uint64_t anonymous_bytes(void) {
    proc_read("/proc/self/smaps_rollup");
    return proc_field("Anonymous:");
}

/* Makes the stack that the calls below need resident, so that it is not mistaken for an effect. */
static void touch_stack(void) {
    volatile char room[1 << 16];
    for (size_t i = 0; i < sizeof room; i += 1024)
        room[i] = 1;
}

static _Noreturn void trim(void) {
    touch_stack();
    (void)anonymous_bytes();
    if (ptrace(PTRACE_TRACEME, 0, 0, 0) == 0) {
        table->traced = 1;
        raise(SIGSTOP);
    }
    table->rollup_before = anonymous_bytes();
    table->trim_result = malloc_trim(0);
    table->rollup_after = anonymous_bytes();
    table->trimmed = mallinfo2();
    _exit(0);
}

const char *call_name(uint64_t nr) {
    static const struct {
        uint64_t nr;
        const char *name;
    } calls[] = {{SYS_madvise, "madvise"}, {SYS_brk, "brk"},   {SYS_munmap, "munmap"},
                 {SYS_mremap, "mremap"},   {SYS_mmap, "mmap"}, {SYS_mprotect, "mprotect"}};
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        if (calls[i].nr == nr)
            return calls[i].name;
    }
    return NULL;
}

static void note_call(const struct __ptrace_syscall_info *info, struct table_call *open_call) {
    if (info->op == PTRACE_SYSCALL_INFO_ENTRY) {
        open_call->nr = info->entry.nr;
        for (int i = 0; i < 3; i++)
            open_call->arg[i] = info->entry.args[i];
        return;
    }
    if (info->op != PTRACE_SYSCALL_INFO_EXIT || !call_name(open_call->nr))
        return;
    open_call->result = (uint64_t)info->exit.rval;
    if (table->nr_calls < TABLE_CALLS) {
        table->calls[table->nr_calls++] = *open_call;
    } else {
        table->lost_calls++;
    }
}

/* Stops at each system call of the child and notes those that move memory. */
static void trace(pid_t child) {
    struct table_call open_call = {0};
    for (int status; waitpid(child, &status, 0) == child;) {
        if (WIFEXITED(status) || WIFSIGNALED(status))
            _exit(WIFEXITED(status) ? 0 : 1);
        int signal = WSTOPSIG(status);
        if (signal == SIGSTOP) {
            ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
            signal = 0;
        } else if (signal == (SIGTRAP | 0x80)) {
            struct __ptrace_syscall_info info;
            if (ptrace(PTRACE_GET_SYSCALL_INFO, child, sizeof info, &info) <= 0)
                _exit(1);
            note_call(&info, &open_call);
            signal = 0;
        }
        ptrace(PTRACE_SYSCALL, child, 0, signal);
    }
    _exit(1);
}

void child_trim(void) {
    pid_t tracer = fork_or_die();
    if (tracer) {
        wait_for(tracer, "the child that calls malloc_trim() failed");
        return;
    }
    pid_t child = fork_or_die();
    if (!child)
        trim();
    trace(child);
    _exit(1);
}
