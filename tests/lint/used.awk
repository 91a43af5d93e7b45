# The rule `used` of lint.sh: what a header of src declares is called in src, and by somebody else
# than the file that has it, if only a test. Reads all .c and .h files of src,
# then those of tests, samples and include.

FNR == 1 { in_comment = 0 }

# Comments go; none of ours has two on one line with code between them.
{
    if (in_comment) {
        if (!sub(/^.*\*\//, ""))
            next
        in_comment = 0
    }
    gsub(/\/\*([^*]|\*[^\/])*\*\//, "")
    if (sub(/\/\*.*$/, ""))
        in_comment = 1
}

FILENAME ~ /^src\/.*\.h$/ && /^[a-z]/ && !/^(static|typedef|extern)/ &&
match($0, /cf_[a-z0-9_]+\(/) {
    name = substr($0, RSTART, RLENGTH - 1)
    if (!(name in declared)) {
        declared[name] = FILENAME ":" FNR
        header[name] = FILENAME
    }
}

FILENAME ~ /^src\/.*\.c$/ && /^[a-z]/ && match($0, /cf_[a-z0-9_]+\(/) {
    name = substr($0, RSTART, RLENGTH - 1)
    if ($0 !~ /;$/ && !(name in home))
        home[name] = FILENAME
}

{
    for (rest = $0; match(rest, /cf_[a-z0-9_]+/); rest = substr(rest, RSTART + RLENGTH)) {
        name = substr(rest, RSTART, RLENGTH)
        if (FILENAME ~ /^src\//)
            in_src[name]++
        mentions[name, FILENAME]++
        if (!((name, FILENAME) in told)) {
            told[name, FILENAME] = 1
            files[name] = files[name] FILENAME " "
        }
    }
}

END {
    for (name in declared) {
        if (!(name in home))
            continue
        if (in_src[name] < 3) {
            print declared[name] ": used: nothing in src calls " name "()"
            failed = 1
            continue
        }
        n = split(files[name], file, " ")
        others = 0
        for (i = 1; i <= n; i++)
            others += file[i] != home[name] && file[i] != header[name]
        if (others == 0 && !in_header_code(name)) {
            print declared[name] ": used: no other file calls " name "(): it can be static"
            failed = 1
        }
    }
    exit failed
}

# An inline function or a macro of the header calls it.
function in_header_code(name) {
    return mentions[name, header[name]] > 1
}
