#!/bin/bash
# SPDX-License-Identifier: MIT
# instructions.sh BUILD_DIR SOURCE_DIR -- mi_heap_malloc() of a small size takes at most 9
# instructions more than mi_malloc() from the main heap, and 13 from one of the program's own, as
# long as the heap's list has blocks.
. "$(dirname "$0")/lib.sh"
need valgrind
program=$build/tests/mimalloc_pair

# total KIND PAIRS: instructions of the whole run, without samples, whose times differ
total() {
    LD_LIBRARY_PATH=$compat MALLOW_CONF=prof:false valgrind --tool=callgrind \
        --callgrind-out-file=/dev/null "$program" "$1" "$2" 2>&1 | sed -n 's/.*Collected : //p'
}
# per_turn KIND FEW MANY: tenths of an instruction that a turn takes
per_turn() {
    echo $((($(total "$1" "$3") - $(total "$1" "$2")) * 10 / ($3 - $2)))
}
# The 20 turns are of one list, behind the first block, which fills it.
calls=$(per_turn calls 10 30)
heap_calls=$(per_turn heapcalls 10 30)
main_calls=$(per_turn maincalls 10 30)
echo "tenths of an instruction: mi_malloc $calls, main heap $main_calls, own heap $heap_calls"
[ "$calls" -gt 50 ] || fail "the count is wrong"
[ "$heap_calls" -le $((calls + 130)) ] || fail "mi_heap_malloc of an own heap takes too many"
[ "$main_calls" -le $((calls + 90)) ] || fail "mi_heap_malloc of the main heap takes too many"
# With frees and all refills, for the page of the interface.
echo "pairs: mi_malloc $(per_turn malloc 1000 11000), main heap $(per_turn main 1000 11000)," \
    "own heap $(per_turn heap 1000 11000)"
