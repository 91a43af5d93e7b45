/*
 * Names are only ever cut, in place: nothing that is put in is longer than what it replaces.
 */
#include "types/typename.h"

#include <stdbool.h>
#include <string.h>

/* Arguments that a template has by itself. */
static const char *const defaults[] = {
    ", std::allocator<", ", std::char_traits<",    ", std::less<",
    ", std::hash<",      ", std::equal_to<",       ", std::default_delete<",
};

static const struct {
    const char *from;
    const char *to; /* not longer */
} others[] = {
    {"std::__cxx11::", "std::"},
    {"std::__1::", "std::"},
    {"std::basic_string<char>", "std::string"},
    {"(anonymous namespace)::", ""},
    {"> >", ">>"},
};

/* Behind the bracket that closes the one before `at`; NULL: none does. */
static char *closing(char *at) {
    for (int depth = 1; *at != '\0'; at++) {
        depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
        if (depth == 0)
            return at + 1;
    }
    return NULL;
}

static void cut_out(char *from, const char *to) {
    memmove(from, to, strlen(to) + 1);
}

static void drop_defaults(char *name) {
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++) {
        char *at = name;
        while ((at = strstr(at, defaults[i])) != NULL) {
            char *end = closing(at + strlen(defaults[i]));
            if (end == NULL)
                break;
            while (*end == ' ')
                end++;
            cut_out(at, end);
        }
    }
}

static void replace_others(char *name) {
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        size_t to_length = strlen(others[i].to);
        char *at = name;
        while ((at = strstr(at, others[i].from)) != NULL) {
            memcpy(at, others[i].to, to_length);
            cut_out(at + to_length, at + strlen(others[i].from));
            if (strcmp(others[i].from, "> >") == 0)
                at++; /* "> > >" has two of them */
            else
                at += to_length;
        }
    }
}

static int deepest(const char *name) {
    int depth = 0, most = 0;
    for (; *name != '\0'; name++) {
        depth += *name == '<' ? 1 : *name == '>' ? -1 : 0;
        most = depth > most ? depth : most;
    }
    return most;
}

/* The contents of all brackets at `level` become "...", if they are longer. */
static void empty_level(char *name, int level) {
    int depth = 0;
    for (char *at = name; *at != '\0'; at++) {
        depth += *at == '<' ? 1 : *at == '>' ? -1 : 0;
        if (*at != '<' || depth != level)
            continue;
        char *end = closing(at + 1);
        if (end == NULL)
            return;
        depth--;
        if (end - 1 - (at + 1) > 3) {
            memcpy(at + 1, "...", 3);
            cut_out(at + 4, end - 1);
            end = at + 5;
        }
        at = end - 1;
    }
}

void cf_typename_shorten(char *name, size_t max) {
    drop_defaults(name);
    replace_others(name);
    for (int level = deepest(name); level > 0 && strlen(name) > max; level--)
        empty_level(name, level);
    if (strlen(name) > max)
        memcpy(name + max - 3, "...", 4);
}
