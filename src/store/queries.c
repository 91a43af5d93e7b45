#include "store/queries.h"

#include "queries_sql.h"
