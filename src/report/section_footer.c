/* Where to go on from here. */
#include <stdlib.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "report/escape.h"
#include "report/section.h"

int cf_report_footer(struct cf_report *report, struct cf_err *err) {
    (void)err;
    struct cf_section *section = cf_doc_section(report->doc, "database", NULL);
    struct stat there;
    char bytes[CF_FORMAT_MAX];
    if (stat(report->db_path, &there) == 0)
        cf_section_text(section, CF_TONE_PLAIN, "Database: %s (%s)", report->db_path,
                        cf_report_bytes(report, bytes, there.st_size));
    else
        cf_section_text(section, CF_TONE_PLAIN, "Database: %s", report->db_path);
    CF_CLEANUP_FREE char *word = cf_escape_shell(report->db_path);
    if (word == NULL) {
        report->doc->failed = true;
        return CF_OK;
    }
    cf_section_code(section, "sqlite3 %s", word);
    cf_section_code(section, "corefrag schema   # views, columns, example queries");
    return CF_OK;
}
