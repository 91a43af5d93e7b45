/* Arguments that several commands read alike. */
#include <errno.h>
#include <stdlib.h>

#include "cli/cli.h"

void cli_take_argument(struct argp_state *state, const char **slot, const char *arg) {
    if (*slot != NULL)
        argp_error(state, "one argument too many: '%s'", arg);
    else if (*arg == '\0')
        argp_error(state, "an empty name");
    else
        *slot = arg;
}

unsigned cli_parse_number(struct argp_state *state, const char *option, const char *arg,
                          unsigned max) {
    char *end;
    errno = 0;
    unsigned long value = strtoul(arg, &end, 10);
    if (*arg < '0' || *arg > '9' || *end != '\0' || errno != 0 || value == 0 || value > max)
        argp_error(state, "%s takes a number from 1 to %u, not '%s'", option, max, arg);
    return (unsigned)value;
}
