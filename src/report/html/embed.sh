#!/bin/sh
# The style and the script of the page as C strings, without comments and indents, and the SHA-256
# of each as a content security policy names it.
#
#   sh src/report/html/embed.sh > html_assets.h
set -eu
here=$(dirname "$0")

embed() { # NAME FILE
    text=$(sed -e 's/^ *//' -e '/^\/\/ /d' -e '/^\/\*.*\*\/$/d' -e '/^$/d' "$2")
    hash=$(printf '\n%s\n' "$text" | sha256sum | cut -c 1-64 | tr a-f A-F |
        basenc --base16 -d | basenc --base64 -w 0)
    printf '#define CF_HTML_%s_SHA256 "%s"\n' "$(echo "$1" | tr a-z A-Z)" "$hash"
    printf 'static const char html_%s[] = "\\n"\n' "$1"
    printf '%s\n' "$text" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' -e 's/.*/"&\\n"/'
    echo ';'
}

embed css "$here/report.css"
embed js "$here/report.js"
