/* What is embedded: make turns schema/ and schema/queries/ into these two headers of C strings. */
#include "store/queries.h"

#include "queries_sql.h"
#include "schema_sql.h"

const char *cf_schema_sql(void) {
    return schema_sql;
}
