/*
 * The schema: all files of schema/ in the order of their names, embedded at build. Tables, views,
 * their documentation (`doc`) and the example queries; running it makes an empty database.
 */
#ifndef CF_STORE_SCHEMA_H
#define CF_STORE_SCHEMA_H

/* Static. */
const char *cf_schema_sql(void);

#endif
