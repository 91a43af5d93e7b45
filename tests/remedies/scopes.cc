/*
 * A log whose scopes are closed in the wrong order: each job opens two, and closes the outer one
 * first, which brings it back to life, so that the log's chain of scopes only grows. Runs BEFORE
 * jobs, says "ready" and waits for a line; then runs AFTER more, and says it again.
 *
 *     scopes BEFORE AFTER
 */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <unistd.h>

struct Field {
    std::string name, value;
};

struct Scope {
    virtual ~Scope() = default;
    std::shared_ptr<Scope> outer;
    std::unique_ptr<Field> field;
};

struct Log {
    virtual ~Log() = default;
    std::shared_ptr<Scope> innermost;
} g_log;

static std::shared_ptr<Scope> open_scope(const char *name, std::string value) {
    std::shared_ptr<Scope> before = g_log.innermost;
    auto scope = std::make_shared<Scope>();
    scope->outer = before;
    scope->field.reset(new Field{name, std::move(value)});
    g_log.innermost = scope;
    return before;
}

static void run_job(long id) {
    auto outer = open_scope("request", "b61f0c7e-0000-4000-8236-" + std::to_string(id) + "-request");
    auto inner = open_scope("job", std::to_string(id));
    char *work = static_cast<char *>(malloc(static_cast<size_t>(20000 + id % 3000)));
    memset(work, 1, static_cast<size_t>(20000 + id % 3000));
    g_log.innermost = outer;
    g_log.innermost = inner; /* the wrong way round */
    free(work);
}

/* What the advice names: all that g_log holds, without a recursion as deep as the chain. */
extern "C" void remedy_free_group() {
    std::shared_ptr<Scope> scope = std::move(g_log.innermost);
    while (scope)
        scope = std::shared_ptr<Scope>(std::move(scope->outer));
}

int main(int argc, char **argv) {
    if (argc != 3)
        return 2;
    long before = atol(argv[1]), after = atol(argv[2]), id = 0;
    for (; id < before; id++)
        run_job(id);
    puts("ready");
    fflush(stdout);
    if (getchar() == EOF)
        return 1;
    for (; id < before + after; id++)
        run_job(id);
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
