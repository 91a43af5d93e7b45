#include "truth.h"
const struct truth_scenario truth_trims[] = {{0}};
