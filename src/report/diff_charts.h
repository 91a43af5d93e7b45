/*
 * What the comparison of two cores draws where there is a page for it: both waterfalls, on one
 * scale.
 */
#ifndef CF_REPORT_DIFF_CHARTS_H
#define CF_REPORT_DIFF_CHARTS_H

#include "report/section.h"

/* Adds the waterfalls of `old` and `main` to `section`, unless nothing says what was resident. */
int cf_diff_waterfalls(struct cf_report *report, struct cf_section *section, struct cf_err *err);

#endif
