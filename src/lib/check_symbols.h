/* What check says about files of symbols: which were found, which were refused, what to pass. */
#ifndef CF_LIB_CHECK_SYMBOLS_H
#define CF_LIB_CHECK_SYMBOLS_H

#include "lib/reading.h"
#include "report/doc.h"

/* Appends facts to the table of the check. Looks for the files of all modules. */
void cf_check_symbols(const struct cf_reading *reading, struct cf_table *table);

#endif
