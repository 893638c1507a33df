#!/bin/bash
# SPDX-License-Identifier: MIT
# namespaces.sh BUILD_DIR -- processes of several pid namespaces that share /dev/shm: who lives is
# known by the lock on the state file, and a request reaches the process it names or nobody.  Root.
source "$(dirname "$0")/lib.bash"
needs pgrep
if [ "$(id -u)" != 0 ] || ! unshare -m -p -f true 2>/dev/null; then
    skip "it takes root, and namespaces"
fi
cc -g -O1 -o holder "$here/holder.c" || fail "cc"
state=/dev/shm/mallow-0
conf=prof_sample:1,prof_state_min:0

# hold NAME [ARGUMENT]...: starts the program, in a pid namespace of its own if $apart says how.
hold() {
    local name=$1
    shift
    # shellcheck disable=SC2086 # several words
    MALLOW_CONF=$conf LD_PRELOAD=$build/lib/libmallow.so ${apart:-} ./holder "$@" >"$name" &
    started+=($!)
    await 60 grep -qs ready "$name"
}

hold plain
plain=${started[-1]}
# shellcheck disable=SC2016 # for the inner shell
MALLOW_CONF=$conf LD_PRELOAD=$build/lib/libmallow.so unshare -p -f --mount-proc bash -c \
    'for _ in {1..150}; do "$BASH" -c "kill -9 \$\$"; done' 2>/dev/null
ls "$state/$plain".* >/dev/null || fail "the file of a live process is gone"
try 0 "$mallow" ls
says out "^ +$plain running .*holder"
ok "150 killed processes of another namespace cost a live one nothing"

# A live one of the other namespace, seen from a third: neither a start nor a clean takes its file.
apart='unshare --kill-child -p -f --mount-proc' hold inner
inner=$(find "$state" -maxdepth 1 -type f -printf '%T@ %f\n' | sort -rn | sed -n '1s/^[^ ]* //p')
[[ $inner == 1.* ]] || fail "not process 1 of a namespace: $inner"
try 0 unshare -p -f --mount-proc "$mallow" clean
[ -e "$state/$inner" ] || fail "clean removed the file of a live process of another namespace"
try 0 unshare -p -f --mount-proc "$mallow" ls --json
says out '"state": "elsewhere"'
ok "clean leaves what lives elsewhere"

# Without a /proc of its own: its pid is 1 there, and another number in /proc.
apart='unshare --kill-child -p -f' hold stale
outer=$(pgrep -P "${started[-1]}" -x holder)
[ -n "$outer" ] || fail "no holder"
try 0 "$mallow" ls
says out "^ +$outer running .*holder"
try 2 "$mallow" status 1
try 2 "$mallow" set 1 rate=64k
try 0 "$mallow" set --wait 60 "$outer" rate=64k
says out "pid $outer: T = 64 KiB"
try 0 "$mallow" status "$plain"
says_not out '64 KiB'
kill -9 "$outer"
await 60 has_ended "$outer"
try 0 "$mallow" ls --all
says_not out "^ +$outer running"
says out "^ +1 killed .*holder"
ok "a namespace without a /proc of its own"

# From within: /proc has other numbers than the namespace.
# shellcheck disable=SC2016 # for the inner shell
try 2 unshare -p -f bash -c '"$0" status $$ || exit 2' "$mallow"
says err 'another pid namespace'
ok "no /proc of the reader's namespace"

# A daemon that closes all descriptors; the child of a fork outlives its parent.
hold daemon close
daemon=${started[-1]}
try 0 "$mallow" ls
says out "^ +$daemon running .*holder"
hold parent fork
parent=${started[-1]}
child=$(sed -n 's/ready //p' parent)
started+=("$child")
kill -9 "$parent"
await 60 has_ended "$parent"
try 0 "$mallow" ls
says out "^ +$parent killed .*holder"
ok "closed descriptors and forked children"
