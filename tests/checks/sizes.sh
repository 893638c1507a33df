#!/bin/bash
# SPDX-License-Identifier: MIT
# sizes.sh SOURCE_DIR -- files up to 600 lines, functions up to 100, an SPDX line on top.
# In C and C++ a function begins at a line that ends in ") {" and ends at a "}" in column 0: what
# clang-format makes of every function here. In JavaScript it begins in column 0, too, as prettier
# writes it; a function within another one counts as its part.
set -euo pipefail
cd "$1"

mapfile -t sources < <({
    find src compat tools tests bench include \( -name '*.[ch]' -o -name '*.cc' \)
    find web/src web/test web/build.mjs -name '*.js' -o -name '*.jsx' -o -name '*.mjs' \
        -o -name '*.ts' -o -name '*.tsx'
} | sort)
awk '
function finish_file() {
    if (name != "" && lines > 600) {
        printf "%s: %d lines, more than 600\n", name, lines
        bad++
    }
}
FNR == 1 {
    finish_file()
    name = FILENAME
    files++
    start = 0
    is_script = name ~ /\.(m?js|jsx|tsx?)$/
    if ($0 !~ /SPDX-License-Identifier: MIT/) {
        printf "%s:1: no SPDX line\n", FILENAME
        bad++
    }
}
{ lines = FNR }
!is_script && (/^[A-Za-z_].*\) ?\{$/ || /^[ \t].*\) ?\{$/) {
    if (!start)
        start = FNR
}
is_script && !/;$/ && (/^(export )?(default )?(async )?function / || /^(export )?const .*=>/) {
    start = FNR
}
/^}/ || (is_script && /^\)/) {
    if (start && FNR - start + 1 > 100) {
        printf "%s:%d: a function of %d lines, more than 100\n", FILENAME, start, FNR - start + 1
        bad++
    }
    if (start)
        functions++
    start = 0
}
END {
    finish_file()
    printf "%d files, %d functions, %d findings\n", files, functions, bad
    exit bad > 0 || files == 0
}' "${sources[@]}"
