#!/bin/bash
# SPDX-License-Identifier: MIT
# profile_phase.sh PID SECONDS [DIRECTORY] -- what a live process allocates in a time, and what
# its heap gained: a profile before and one after, what differs between them, and a profile of the
# time in between.
#
# The process needs to run with libmallow.so, and nothing else: no restart, no signal, no port.
set -euo pipefail

usage() {
    echo "usage: $0 PID SECONDS [DIRECTORY]" >&2
    exit 2
}
if [ $# -lt 2 ] || [ $# -gt 3 ]; then usage; fi
pid=$1 seconds=$2 directory=${3:-.}
mallow=${MALLOW:-mallow}
mkdir -p "$directory"

# Sampling may be off: then it is on for this time only.
was_on=$("$mallow" status --json "$pid" | grep -c '"active": true' || true)
"$mallow" start --strict --wait 5 "$pid" ||
    echo "some threads are idle; they follow when they allocate" >&2
"$mallow" dump -o "$directory/before.pb.gz" "$pid"
"$mallow" start --for "${seconds}s" -o "$directory/between.pb.gz" "$pid"
"$mallow" dump -o "$directory/after.pb.gz" "$pid"
[ "$was_on" -gt 0 ] || "$mallow" stop "$pid"

echo
echo "== what grew and what shrank in these $seconds s"
"$mallow" diff "$directory/before.pb.gz" "$directory/after.pb.gz"
echo
echo "== allocated meanwhile"
"$mallow" report --top 15 --sample-type alloc_space "$directory/between.pb.gz"
echo
echo "== of this, live at the end"
"$mallow" report --top 15 "$directory/between.pb.gz"
