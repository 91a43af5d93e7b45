#include "truth.h"
const struct truth_scenario truth_incidents[] = {{0}};
