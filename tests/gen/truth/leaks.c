#include "truth.h"
const struct truth_scenario truth_leaks[] = {{0}};
