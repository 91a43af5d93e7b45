/* Where to go on from here. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "report/escape.h"
#include "report/section.h"

int cf_report_footer(struct cf_report *report, struct cf_err *err) {
    (void)err;
    struct cf_section *section = cf_doc_section(report->doc, "database", NULL);
    CF_CLEANUP_FREE char *word = cf_escape_shell(report->db_path);
    if (word == NULL) {
        report->doc->failed = true;
        return CF_OK;
    }
    struct stat there;
    char bytes[CF_FORMAT_MAX] = "";
    if (stat(report->db_path, &there) == 0)
        (void)cf_report_bytes(report, bytes, there.st_size);
    cf_section_code(section, "sqlite3 %s   # all of it in SQL%s%s; corefrag schema describes it",
                    word, *bytes == '\0' ? "" : ", ", bytes);
    return CF_OK;
}
