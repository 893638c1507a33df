#!/bin/bash
# SPDX-License-Identifier: MIT
# leaks.sh BUILD_DIR -- `mallow run --leaks` and valgrind's leak checker on the same programs: what
# mallow reports valgrind knows, too, and a program without leaks has none.  valgrind counts blocks
# to which only pointers into their middle lead as possibly lost; mallow follows these pointers. It
# checks before libc frees its own memory, after which what only the environment led to is lost.
. "$(dirname "$0")/lib.sh"
need valgrind
mallow=$1/bin/mallow
cc -g -O1 -o "$work/leaky" "$(dirname "$0")/../tool/leaks.c" || fail "cc"
cd "$work" || exit 1

# of_mallow PROGRAM...: sets $direct and $indirect, in blocks.
of_mallow() {
    "$mallow" run --leaks -- "$@" </dev/null 2>said >/dev/null || true
    if grep -q ': no leaks' said; then
        direct=0 indirect=0
        return
    fi
    direct=$(sed -n 's/^  direct .* in \([0-9]*\) block.*/\1/p' said | sed -n 1p)
    indirect=$(sed -n 's/^  indirect .* in \([0-9]*\) block.*/\1/p' said | sed -n 1p)
    [ -n "$direct$indirect" ] || fail "$*: $(sed -n 1,5p said)"
}
# of_valgrind PROGRAM...: sets $lost and $below, in blocks.
of_valgrind() {
    valgrind --leak-check=full --run-libc-freeres=no "$@" </dev/null 2>said >/dev/null || true
    lost=$(sed -n 's/.*definitely lost: .* bytes in \([0-9,]*\) blocks/\1/p' said | tr -d ,)
    below=$(sed -n 's/.*indirectly lost: .* bytes in \([0-9,]*\) blocks/\1/p' said | tr -d ,)
    if grep -Eq 'no leaks are possible|ERROR SUMMARY: 0 .*' said && [ -z "$lost" ]; then
        lost=0 below=0
    fi
    [ -n "$lost$below" ] || fail "valgrind $*: $(tail -5 said)"
}
# compare PROGRAM...
compare() {
    of_mallow "$@"
    of_valgrind "$@"
    echo "$1: $direct direct and $indirect indirect, valgrind: $lost and $below"
    [ $((direct + indirect)) -le $((lost + below)) ] || fail "$1: mallow reports more than valgrind"
    # A stale pointer keeps a block now and then, with the blocks that the block leads to.
    if [ "$lost" -gt $((direct + 2)) ] || [ "$below" -gt $((indirect + below / 4 + 2)) ]; then
        fail "$1: mallow misses leaks"
    fi
}

compare ./leaky
[ "$direct $indirect" = "1250 1900" ] || fail "not 1250 direct and 1900 indirect"
postgresql=$(echo /usr/lib/postgresql/*/bin)
for program in "perl -e 1" "gcc -v" "git --version" "sqlite3 :memory: select(1)" "redis-cli -v" \
    "bash -c true" "php -r 1;" "ls -l /" "tar --version" "/usr/bin/python3 -c 1" \
    "$postgresql/psql --version" "$postgresql/postgres --version"; do
    read -ra words <<<"$program"
    type -p "${words[0]}" >/dev/null || continue
    compare "${words[@]}"
done
