#!/bin/bash
# SPDX-License-Identifier: MIT
# early_requests.sh BUILD_DIR -- commands that have a thread of a process answer, while its dynamic
# linker has mapped libmallow and not relocated it yet: a call inside of the library would lead
# nowhere. The process goes on, and answers when it has started.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
[ "$(uname -m)" = x86_64 ] || skip "the module makes system calls of x86-64"
options=(-O1 -g "-Wl,-z,now" "$here/attach_loading.c")
cc -fPIC -shared -DMODULE -o slow.so "${options[@]}" || fail "cc"
cc -DLINKED -Wl,-rpath,. -o early "${options[@]}" ./slow.so || fail "cc"

for command in status report 'set --wait 60 rate=1M' 'mark --label here' 'dump -o p.pb.gz' \
    'leaks --wait 60' 'cpu --for 0.1s' threads advise; do
    with_input env LD_PRELOAD="$build/lib/libmallow.so" ./early
    await 60 grep -qs relocating ready
    read -r -a words <<<"$command"
    "$mallow" "${words[0]}" "${words[@]:1:2}" "$pid" "${words[@]:3}" >out 2>err
    status=$?
    [ "$status" = 0 ] || fail "$command: status $status: $(cat err)"
    exec {input}>&-
    wait "$pid" || fail "$command: the program ended with status $?"
    ok "$command"
done
