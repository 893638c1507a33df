#!/bin/bash
# SPDX-License-Identifier: MIT
# layers.sh SOURCE_DIR -- a folder includes only the layers scripts/layers.txt allows it.
set -euo pipefail
cd "$1"

mapfile -t sources < <(find src tools/mallow -name '*.[ch]' -o -name '*.def' | sort)
awk '
FNR == 1 && FILENAME == "scripts/layers.txt" { reading = 1 }
FNR == 1 && FILENAME != "scripts/layers.txt" {
    reading = 0
    folder = FILENAME
    sub(/\/[^\/]*$/, "", folder)
    own = folder
    sub(/^(src|tools\/mallow)\/?/, "", own)
    files++
    if (!(folder in known)) {
        printf "%s: its folder is no layer of scripts/layers.txt\n", FILENAME
        bad++
    }
}
reading {
    if ($0 ~ /^#/ || NF == 0)
        next
    layer = $1
    sub(/:$/, "", layer)
    known[layer] = 1
    for (i = 2; i <= NF; i++)
        allowed[layer, $i] = 1
    next
}
/^[ \t]*#[ \t]*include[ \t]*"/ {
    path = $0
    sub(/^[^"]*"/, "", path)
    sub(/".*$/, "", path)
    # Without a folder: a neighbour, or generated at build time.
    if (path !~ /\//)
        next
    target = path
    sub(/\/[^\/]*$/, "", target)
    if (path ~ /\.\.\//) {
        printf "%s:%d: \"%s\": no relative paths upwards\n", FILENAME, FNR, path
        bad++
    } else if (target != own && !((folder, target) in allowed) && !((folder, path) in allowed)) {
        printf "%s:%d: %s may not include \"%s\"\n", FILENAME, FNR, folder, path
        bad++
    }
}
END {
    printf "%d files looked at, %d inclusions against the order\n", files, bad
    exit bad > 0 || files == 0
}' scripts/layers.txt "${sources[@]}"
