#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh LIBRARY EXPECTED PROGRAM -- the program must end by SIGABRT and leave exactly the message
# of its line in expected.txt on stderr.
set -euo pipefail
library=$1
expected=$2
program=$3
name=$(basename "$program")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0

line=$(grep "^$name: " "$expected") || {
    echo "$name: has no line in $expected"
    exit 1
}
options=${line#*: }
options=${options%%: mallow: *}
options=${options%: }
# A block that happens to be sampled has another message: only where the line asks for it.
[[ $options == *prof_sample* ]] || options=prof_active:false${options:+,$options}
status=0
# The subshell keeps the shell's own remark about the signal out of what is compared.
(env -u MALLOC_CONF MALLOW_CONF="$options" LD_PRELOAD="$library" "$program" \
    >"$work/out" 2>"$work/err") 2>/dev/null || status=$?
read -r address <"$work/out"
sed -e 's/^[^:]*: .*: mallow: /mallow: /' -e "s/ADDRESS/$address/" <<<"$line" >"$work/want"
# Of a live sample, who allocated it comes first.
if [[ $options == *prof_sample* && $line != *"double free"* ]]; then
    origin=$(head -n 2 "$work/err" | tr '\n' ' ')
    allocated='^mallow: a block of 64 bytes was allocated by thread [0-9]+:   #0 main\+0x[0-9a-f]+ '
    [[ $origin =~ $allocated\([^\ ]*/$name\+0x[0-9a-f]+\)\ $ ]] || {
        cat "$work/err"
        echo "$name: it does not say who allocated the block"
        exit 1
    }
    sed -i -e 1d -e '/^  #[0-9]/d' "$work/err"
fi
diff -u "$work/want" "$work/err" || {
    echo "$name: the message differs"
    exit 1
}
# 128 + SIGABRT
[ "$status" -eq 134 ] || {
    echo "$name: ended with status $status, not by abort"
    exit 1
}
cat "$work/err"
