#!/bin/bash
# SPDX-License-Identifier: MIT
# run.sh LIBRARY EXPECTED PROGRAM [--write] -- every case of guarded.c: its exit status and every
# line it says, as in EXPECTED.  Addresses, threads' numbers and frames of libc are taken out.
# --write prints what it said, for a look and a new EXPECTED.
set -euo pipefail
library=$1 expected=$2 program=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
ulimit -c 0

# Threads are numbered in the order in which they appear.
readable() {
    awk '{ gsub(/0x[0-9a-f]+/, "ADDRESS") }
        /^mallow:     #/ { if ($2 == "#0") n = 0
            if ($3 ~ /^\// || $3 ~ /^(_start|__libc_start_main|clone|__clone|start_thread)\+/ ||
                $3 ~ /^(main|__fork|fork|raise|gsignal)\+/) next
            sub(/\+.*/, "", $3); print "mallow:     #" n++ " " $3; next }
        match($0, /by thread [0-9]+/) { id = substr($0, RSTART + 10, RLENGTH - 10)
            if (!(id in seen)) seen[id] = ++threads
            sub(/thread [0-9]+/, "thread " seen[id]) }
        { print }'
}

mapfile -t names < <(sed -n 's/^== \([a-z_]*\) .*/\1/p' "$expected")
for name in "${names[@]}"; do
    status=0
    { env -u MALLOC_CONF MALLOW_CONF=prof_sample:1,prof_guard:1,prof_guard_gap:0 \
        LD_PRELOAD="$library" \
        timeout 20 "$program" "$name" 2>"$work/err"; } 2>/dev/null || status=$?
    echo "== $name $status" >>"$work/said"
    readable <"$work/err" >>"$work/said"
done
if [ "${4:-}" = --write ]; then
    cat "$work/said"
    exit 0
fi
diff -u "$expected" "$work/said"
echo "ok: $(grep -c '^==' "$expected") cases"
