/*
 * SQL that is embedded at build, static text. The schema: all files of schema/ in the order of
 * their names, with tables, views, their documentation (`doc`) and the example queries; running it
 * makes an empty database. And the named queries of schema/queries: what is too long for a line of
 * C and is no view, since it changes the database while it is made, or stands on two of them;
 * test_schema runs each.
 */
#ifndef CF_STORE_QUERIES_H
#define CF_STORE_QUERIES_H

const char *cf_schema_sql(void);

/* Fills table `fact`; several statements, to be run once all other tables are full. */
extern const char cf_sql_facts[];

/* Adds to the verdict's headline what the kernel counted; once the findings stand. */
extern const char cf_sql_headline[];

/* One row: how the facts of database `old` and of `main` differ, and what grew the most. */
extern const char cf_sql_growth[];

/* One row: whether both are of one program (exe, build id, machine, pid; the newer one's first). */
extern const char cf_sql_same_program[];
/* Of `old`, whether its resident figures are exact. */
extern const char cf_sql_old_residency[];

/* The tables of a comparison, one a query, and the waterfalls of both sides with their sums. */
extern const char cf_sql_diff_figures[], cf_sql_diff_served[], cf_sql_diff_types[],
    cf_sql_diff_sizes[], cf_sql_diff_leaks[], cf_sql_diff_waste[], cf_sql_diff_holes[],
    cf_sql_diff_arenas[], cf_sql_diff_budget[];
extern const char cf_sql_waterfall_before[], cf_sql_waterfall_after[],
    cf_sql_waterfall_sum_before[], cf_sql_waterfall_sum_after[];

#endif
