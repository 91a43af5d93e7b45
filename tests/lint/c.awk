# Lint rules for C files that one line at a time can judge. Plain POSIX awk, so that mawk, gawk and
# busybox agree. Prints FILE:LINE: RULE: MESSAGE for each fault and exits 1 if there was one.
#
#   awk -f c.awk -v order="base input core ..." FILE...
#
# `order` is the list of folders below src/, lowest first; a folder may include only folders that
# stand before it, base and itself. The names of the files are relative to the root of the tree, and
# all files have to be given at once: tags, names and circles are the whole tree's.

function fault(rule, message) {
    printf "%s:%d: %s: %s\n", FILENAME, FNR, rule, message
    failed = 1
}

function warn(rule, message) {
    printf "%s:%d: warning: %s: %s\n", FILENAME, FNR, rule, message
}

# The line without comments, strings and character constants; strings leave "" behind.
function strip(line,    out, i, n, c, two) {
    out = ""
    n = length(line)
    for (i = 1; i <= n; i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            if (two == "*/") {
                in_comment = 0
                i++
            }
        } else if (two == "/*") {
            in_comment = 1
            i++
        } else if (two == "//") {
            break
        } else if (c == "\"" || c == "'") {
            for (i++; i <= n && substr(line, i, 1) != c; i++)
                if (substr(line, i, 1) == "\\")
                    i++
            out = out c c
        } else {
            out = out c
        }
    }
    return out
}

# Does `text` call the function that the pattern `names` matches?
function calls(text, names) {
    return text ~ ("(^|[^A-Za-z0-9_.>])(" names ")[ ]*\\(")
}

# src/FOLDER/...: FOLDER; include/...: "include"; else the first folder of the name.
function folder_of(path,    parts) {
    split(path, parts, "/")
    return parts[1] == "src" ? parts[2] : parts[1]
}

function check_ours(header,    other) {
    if (!is_src)
        return
    if (folder == "cli") {
        if (header != "corefrag.h" && header !~ /^cli\//)
            fault("layers", "cli stands on corefrag.h alone, not on " header)
        return
    }
    if (header == "corefrag.h" || index(header, "/") == 0)
        return
    other = substr(header, 1, index(header, "/") - 1)
    if (!(other in rank))
        fault("layers", "no folder " other " in the order of src/README.md")
    else if (rank[other] > rank[folder])
        fault("layers", folder " must not include " header ", which stands above it")
    else if ((folder == "rules" || folder == "report") && other != folder && other != "base" &&
             header != "store/db.h" && header != "store/queries.h" &&
             !(folder == "report" && other == "rules"))
        fault("layers", folder " sees the database only (store/db.h), not " header)
}

function check_system(header) {
    if (!is_src)
        return
    if (header == "sqlite3.h" && folder != "store")
        fault("sqlite", "sqlite3.h belongs to src/store")
    if (header ~ /^(elfutils\/|dwarf\.h)/ && folder != "sym")
        fault("libdw", header " belongs to src/sym")
    if (header ~ /^(libelf|gelf)\.h$/ && folder != "sym")
        fault("libelf", header " belongs to src/sym")
    if (header ~ /^archive(_entry)?\.h$/ && folder != "input")
        fault("libarchive", header " belongs to src/input")
    if (header == "assert.h" && folder != "cli")
        fault("library", "the library does not assert; return a status")
}

function check_include(line,    name) {
    if (match(line, /"[^"]*"/)) {
        name = substr(line, RSTART + 1, RLENGTH - 2)
        check_ours(name)
        if (is_src)
            remember_include(substr(FILENAME, 5), name)
    } else if (match(line, /<[^>]*>/)) {
        name = substr(line, RSTART + 1, RLENGTH - 2)
        check_system(name)
    }
}

function check_text(line,    shown) {
    shown = line
    gsub(/[\200-\277]/, "", shown) # what is left of UTF-8 is one byte a character
    if (length(shown) > 100)
        fault("columns", length(shown) " columns, 100 at most")
    if (index(line, "\t"))
        fault("tabs", "a tab; indent with four spaces")
    if (line ~ /[ \r]$/)
        fault("spaces", "space at the end of the line")
}

# What the library never does: print, exit, abort, assert.
function check_library(code) {
    if (!is_src || folder == "cli")
        return
    if (calls(code, "assert|abort|exit|_exit|quick_exit|_Exit"))
        fault("library", "the library does not exit or assert; return a status")
    if (calls(code, "printf|vprintf|puts|putchar|perror|psignal|err|errx|warn|warnx|error"))
        fault("library", "the library does not print; use cf_log or the caller's sink")
    if (code ~ /(^|[^A-Za-z0-9_])(stdout|stderr)([^A-Za-z0-9_]|$)/)
        fault("library", "stdout and stderr belong to the command line")
    if (calls(code, "strcpy|strcat|sprintf|vsprintf|gets|strtok|alloca"))
        fault("library", "an unbounded call")
}

function begin_function(line_number) {
    in_function = 1
    function_line = line_number
    function_depth = depth
    nested = 0
    too_deep = 0
}

function end_function(    length_now) {
    in_function = 0
    length_now = FNR - function_line + 1
    if (length_now > 80) {
        printf "%s:%d: length: a function of %d lines, 80 at most\n", FILENAME, function_line, length_now
        failed = 1
    }
}

# Blocks are counted, initializers are not: `= {`, `, {`, `({` and the compound literal `){`.
function opens_block(before,    last) {
    last = before
    sub(/[ ]+$/, "", last)
    if (last == "")
        return !in_initializer
    if (last ~ /[=,(]$/ || (last ~ /\)$/ && last == before))
        return 0
    return !in_initializer
}

function open_brace(before, i) {
    if (depth == 0 && !in_function && before ~ /\)[ ]*$/)
        begin_function(signature_line)
    depth++
    block[depth] = (depth == 1) || opens_block(before)
    if (!block[depth] && !in_initializer)
        in_initializer = depth
    if (in_function && block[depth] && depth > function_depth + 1)
        nested++
    check_depth(nested)
}

function close_brace() {
    if (in_function && block[depth] && depth > function_depth + 1)
        nested--
    if (in_initializer == depth)
        in_initializer = 0
    if (depth > 0)
        depth--
    if (in_function && depth == function_depth)
        end_function()
}

function check_depth(level) {
    if (in_function && level > 4 && !too_deep) {
        fault("nesting", "more than four levels")
        too_deep = 1
    }
}

# A statement without braces nests too; its indentation tells.
function check_indent(code) {
    if (in_function && code ~ /^ +(if|for|while|switch|do)([ ({]|$)/) {
        match(code, /^ +/)
        check_depth(int(RLENGTH / 4))
    }
}

function check_shape(code,    i, c) {
    if (depth == 0 && code ~ /^[A-Za-z_]/ && code !~ /^(#|extern "")/)
        signature_line = FNR
    check_indent(code)
    for (i = 1; i <= length(code); i++) {
        c = substr(code, i, 1)
        if (c == "{")
            open_brace(substr(code, 1, i - 1), i)
        else if (c == "}")
            close_brace()
    }
}

# ---- of the whole tree ----

# A tag is defined once in src and include, whether a header or one file knows it.
function check_tags(code,    tag) {
    while (match(code, /(^|[^A-Za-z0-9_])(struct|union|enum) +[A-Za-z0-9_]+ *\{/)) {
        tag = substr(code, RSTART, RLENGTH)
        code = substr(code, RSTART + RLENGTH)
        sub(/^.*(struct|union|enum) +/, "", tag)
        sub(/ *\{$/, "", tag)
        if (tag in tag_file)
            fault("tags", tag " is defined in " tag_file[tag] " already")
        else
            tag_file[tag] = FILENAME
    }
}

function check_name(    name) {
    name = FILENAME
    sub(/.*\//, "", name)
    if (name in name_file)
        fault("names", "there is " name_file[name] " already")
    else
        name_file[name] = FILENAME
}

function remember_include(file, header) {
    nr_includes[file]++
    includes[file, nr_includes[file]] = header
    include_line[file, header] = FNR
}

# The module of a file: its name without the ending.
function module_of(file) {
    sub(/\.[ch]$/, "", file)
    return file
}

# Where `file` leads to: headers, or modules where `by_module`; a header that has no .c file is seen
# through then, since it belongs to those who share it. Joined by spaces.
function leads_to(file, by_module, seen,    i, header, found) {
    for (i = 1; i <= nr_includes[file]; i++) {
        header = includes[file, i]
        if (header in seen || !(header in is_header))
            continue
        seen[header] = 1
        if (!by_module)
            found = found " " header
        else if (module_of(header) in has_c)
            found = found " " module_of(header)
        else
            found = found leads_to(header, 1, seen)
    }
    return found
}

# Depth first; a way that comes back to where it stands is a circle, which is told once.
function walk(node, path,    i, n, next_ones) {
    state[node] = 1
    n = split(edges[node], next_ones, " ")
    for (i = 1; i <= n; i++) {
        if (next_ones[i] == node)
            continue
        if (state[next_ones[i]] == 1) {
            printf "src/%s:1: circles: %s -> %s\n", last_file[node], path, next_ones[i]
            failed = 1
        } else if (state[next_ones[i]] == "") {
            walk(next_ones[i], path " -> " next_ones[i])
        }
    }
    state[node] = 2
}

function check_circles(    file, node, empty) {
    for (file in is_header) {
        split("", empty)
        edges[file] = leads_to(file, 0, empty)
        last_file[file] = file
    }
    for (node in edges)
        if (state[node] == "")
            walk(node, node)
    split("", edges)
    split("", state)
    for (file in is_file) {
        if (!(module_of(file) in has_c))
            continue
        split("", empty)
        edges[module_of(file)] = edges[module_of(file)] leads_to(file, 1, empty)
        last_file[module_of(file)] = module_of(file) ".c"
    }
    for (node in edges)
        if (state[node] == "")
            walk(node, node)
}

# A folder with more than 15 % of the code wants a wall inside; a small tree has nothing to say.
function check_shares(    name, all) {
    for (name in folder_lines)
        all += folder_lines[name]
    for (name in folder_lines)
        if (all > 4000 && folder_lines[name] * 100 > all * 15) {
            printf "src/%s:1: share: %d of %d lines, 15 %% at most\n", name, folder_lines[name], all
            failed = 1
        }
}

function begin_file() {
    if (previous_file != "" && previous_lines > 500 && previous_file ~ /^src\//)
        printf "%s:%d: warning: file: %d lines, 500 are usual\n", previous_file, previous_lines, previous_lines
    previous_file = FILENAME
    in_comment = in_function = in_initializer = depth = in_macro = signature_line = 0
    is_src = FILENAME ~ /^src\//
    folder = folder_of(FILENAME)
    if (is_src) {
        is_file[substr(FILENAME, 5)] = 1
        if (FILENAME ~ /\.h$/)
            is_header[substr(FILENAME, 5)] = 1
        else
            has_c[module_of(substr(FILENAME, 5))] = 1
        check_name()
        if (FILENAME ~ /\.c$/ && $0 !~ /^\/\*/)
            fault("opening", "a file opens with what a reader needs to know")
    }
    if (is_src && !(folder in rank))
        fault("layers", "src/README.md has no folder " folder " in its order")
}

BEGIN {
    n = split(order, names, " ")
    for (i = 1; i <= n; i++)
        rank[names[i]] = i
}

FNR == 1 { begin_file() }
{ previous_lines = FNR }
{ check_text($0) }
FILENAME ~ /^src\// { folder_lines[folder]++ }

{
    continues = $0 ~ /\\$/
    if (!in_comment && !in_macro && $0 ~ /^[ ]*#[ ]*include/)
        check_include($0)
    was_macro = in_macro
    code = strip($0)
    in_macro = (was_macro || code ~ /^[ ]*#/) && continues
    check_library(code)
    if (code ~ /(^|[^A-Za-z0-9_])typedef[ ]+(struct|union|enum)/ && FILENAME !~ /^tests\//)
        fault("typedef", "a struct is named by its tag")
    if (FILENAME ~ /^(src|include)\//)
        check_tags(code)
    if (!was_macro && code !~ /^[ ]*#/)
        check_shape(code)
}

END {
    check_circles()
    check_shares()
    if (previous_lines > 500 && previous_file ~ /^src\//)
        printf "%s:%d: warning: file: %d lines, 500 are usual\n", previous_file, previous_lines, previous_lines
    exit failed
}
