#!/bin/bash
# SPDX-License-Identifier: MIT
# attach_modules.sh BUILD_DIR -- `mallow attach` and modules whose slots do not lead to the
# program's allocator, or that take the place of modules which were unloaded.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
[ -s "$build/lib/mallow/attach.bin" ] || {
    echo "skipped: no code for this processor"
    exit 77
}
options=(-O1 -g -fno-builtin -fPIC "$here/attach_modules.c")
cc -o modules "${options[@]}" -ldl || fail "cc"
cc -shared -o libprivate.so -DALLOCATOR "${options[@]}" || fail "cc"
cc -shared -o private.so -DMODULE=use -Wl,-z,lazy "${options[@]}" ./libprivate.so || fail "cc"
for name in first second; do
    cc -shared -o $name.so -DMODULE=use_$name -Wl,-z,lazy "${options[@]}" || fail "cc"
done

asleep ./modules private
try 0 "$mallow" attach --exact "$pid"
says err 'note: .* slots lead to other functions than the allocator'
ends "a module with an allocator of its own frees its block while attached"

asleep ./modules replaced
try 0 "$mallow" attach --rate 16K "$pid"
echo >&"$input"
await 60 grep -qE '^(same|moved)' ready
grep -q '^same' ready || echo "the module is at another address"
try 0 "$mallow" report --sample-type alloc_space "$pid"
says out 'use_second'
try 0 "$mallow" detach "$pid"
ends "a module in the place of another"
