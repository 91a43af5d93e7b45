/* Who holds what piles up: the way from a root, and what the root alone keeps alive. */
#include "claims.h"

#define HELD_BY(type, root)                                                                       \
    "SELECT holder LIKE '" root "%' FROM v_type WHERE type = '" type "'"
#define KEEPS(label, chunks)                                                                      \
    "SELECT count(*) FROM v_owner WHERE name = '" label "' AND chunks = " #chunks

static const struct claims_program programs[] = {
    {"tables", NULL, NULL, {
        {"connections are held by their table", HELD_BY("tcp_ops", "global connections (tables)")},
        {"jobs are held by their ring", HELD_BY("mail_job_ops", "global jobs (tables)")},
        {"what has no name has a holder, by its size",
         "SELECT count(*) > 0 FROM v_holder a JOIN v_holder b USING (chunk_address) "
         "WHERE a.hop = 0 AND a.label LIKE 'plains%(tables)' AND b.hop = 1 "
         "AND b.label LIKE '720%'"},
        {"each root keeps its own alive", KEEPS("sessions (tables)", 5001)},
    }},
    {"objects", NULL, NULL, {
        {"the inventory holds them", HELD_BY("shop::Book", "global inventory (objects)")},
    }},
    {"objects-stripped", NULL, NULL, {
        {"a place holds them", HELD_BY("shop::Book", "global objects-stripped+0x")},
    }},
    {"contexts-later", "", NULL, {
        {"their registry holds them", HELD_BY("file_log_ops", "global log_registry (truth)")},
        {"with their names, it alone does", KEEPS("log_registry (truth)", 240001)},
        {"the sessions beside them are another's", KEEPS("sessions (truth)", 2000)},
        {"the verdict names the holder and the type, each once",
         "SELECT title LIKE '%(file_log_ops)%' AND detail NOT LIKE '%file_log_ops%' "
         "AND detail LIKE '%Held by global log_registry (truth)%' FROM v_finding "
         "WHERE code = 'retention-suspected'"},
    }},
};

int main(void) {
    return claims_run(programs, sizeof programs / sizeof programs[0]) != 0;
}
