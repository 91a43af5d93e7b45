# Turns the named queries of this folder into C: each stands below a line "-- query: NAME" and
# becomes the text cf_sql_NAME (store/queries.h), on one line, as a reader of a report would copy
# it. Other comments and indentation are left out.
function finish() { if (name != "") print ";" }
/^-- query: / { finish(); name = $3; gap = ""; printf "const char cf_sql_%s[] =", name; next }
/^ *(--.*)?$/ { next }
name == "" { print FILENAME ": a query without a name" > "/dev/stderr"; exit 1 }
{
    sub(/^ +/, "")
    gsub(/\\/, "\\\\")
    gsub(/"/, "\\\"")
    printf "\n\"%s%s\"", gap, $0
    gap = /\($/ ? "" : " "
}
END { finish() }
