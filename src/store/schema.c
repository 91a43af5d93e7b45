#include "store/schema.h"

#include "schema_sql.h"

const char *cf_schema_sql(void) {
    return schema_sql;
}
