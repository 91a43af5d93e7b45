/*
 * A server whose sessions outlive its load: THREADS workers serve requests of mixed sizes, and open
 * SESSIONS sessions each, whose parts stand among what the requests allocate. Then the load goes,
 * and all sessions end but every KEEPth. Says "ready" and waits.
 *
 *     sessions THREADS SESSIONS KEEP
 */
#include <barrier>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

struct Account {
    virtual ~Account() = default;
    explicit Account(long id) : id(id) { memset(limits, 3, sizeof limits); }
    long id;
    char limits[200];
};

struct Counters {
    virtual ~Counters() = default;
    explicit Counters(std::string address) : peer(std::move(address)) {
        memset(values, 5, sizeof values);
    }
    std::string peer;
    long values[16];
};

struct Session {
    Session(long id, size_t bytes)
        : account(new Account(id)),
          counters(new Counters("192.0.2.17:50001/session-" + std::to_string(id))),
          frame(bytes, 'f') {}
    ~Session() {
        delete account;
        delete counters;
    }
    Account *account;
    Counters *counters;
    std::vector<char> frame;
};

static std::mutex lock;
static std::map<long, Session *> g_sessions;

static void serve(std::mt19937 &random, std::vector<char *> &busy) {
    for (int request = 0; request < 120; request++) {
        size_t bytes = random() % 10 < 8 ? 64 + random() % 6000 : 8000 + random() % 90000;
        char *buffer = static_cast<char *>(malloc(bytes));
        memset(buffer, 'r', bytes);
        if (busy.size() < 600) {
            busy.push_back(buffer);
            continue;
        }
        char *&oldest = busy[random() % busy.size()];
        free(oldest);
        oldest = buffer;
    }
}

static void work(int worker, int sessions, std::barrier<> *loaded, std::barrier<> *idle) {
    std::mt19937 random(static_cast<unsigned>(worker * 131 + 7));
    std::vector<char *> busy;
    for (int i = 0; i < sessions; i++) {
        serve(random, busy);
        long id = long{worker} * sessions + i;
        auto *session = new Session(id, 300 + random() % 3000);
        std::lock_guard<std::mutex> guard(lock);
        g_sessions[id] = session;
    }
    loaded->arrive_and_wait();
    for (char *buffer : busy)
        free(buffer);
    busy.clear();
    busy.shrink_to_fit();
    idle->arrive_and_wait();
    for (;;)
        pause();
}

/* What the advice names: all that g_sessions holds. */
extern "C" void remedy_free_group() {
    for (auto &entry : g_sessions)
        delete entry.second;
    g_sessions.clear();
}

int main(int argc, char **argv) {
    if (argc != 4)
        return 2;
    int threads = atoi(argv[1]), sessions = atoi(argv[2]), keep = atoi(argv[3]);
    std::barrier<> loaded(threads + 1), idle(threads + 1);
    for (int i = 0; i < threads; i++)
        std::thread(work, i, sessions, &loaded, &idle).detach();
    loaded.arrive_and_wait();
    idle.arrive_and_wait();
    for (auto at = g_sessions.begin(); at != g_sessions.end();) {
        if (at->first % keep == 0) {
            ++at;
            continue;
        }
        delete at->second;
        at = g_sessions.erase(at);
    }
    puts("ready");
    fflush(stdout);
    for (;;)
        pause();
}
