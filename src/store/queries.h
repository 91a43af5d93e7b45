/*
 * The named queries of schema/queries: what is too long for a line of C and is no view, since it
 * changes the database while it is made, or stands on two of them. Static text, embedded at build;
 * test_schema runs each.
 */
#ifndef CF_STORE_QUERIES_H
#define CF_STORE_QUERIES_H

/* Fills table `fact`; several statements, to be run once all other tables are full. */
extern const char cf_sql_facts[];

/* One row: how the facts of database `old` and of `main` differ, and what grew the most. */
extern const char cf_sql_growth[];

#endif
