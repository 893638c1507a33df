#!/bin/bash
# SPDX-License-Identifier: MIT
# attach_loading.sh BUILD_DIR -- `mallow attach` while the dynamic linker is relocating a module.
# The linker closes the module's pages after that, and a store to them would end the program.
source "$(dirname "$0")/lib.bash"
source "$here/without_mallow.bash"
needs python3
[ -s "$build/lib/mallow/attach.bin" ] || {
    echo "skipped: no code for this processor"
    exit 77
}
options=(-O1 -g "-Wl,-z,now,-z,relro" "$here/attach_loading.c")
cc -fPIC -shared -DMODULE -o slow.so "${options[@]}" || fail "cc"
cc -o loading "${options[@]}" || fail "cc"
relocations=$(readelf -rW slow.so)
grep -q 'JUMP_SLOT.* malloc' <<<"$relocations" ||
    fail "the module has no slot of malloc in pages that are closed"

has_samples() {
    local text
    text=$("$mallow" report --sample-type alloc_space "$pid" 2>/dev/null)
    grep -q allocate_in_module <<<"$text"
}

for _ in 1 2 3; do
    with_input ./loading
    await 60 grep -qs relocating ready
    try 0 "$mallow" attach --rate 16K "$pid"
    grep -q ready ready || fail "it was attached to before the module was relocated"
    await 60 has_samples
    try 0 "$mallow" detach "$pid"
    exec {input}>&-
    wait "$pid" || fail "the program ended with status $?: $(tail -n 3 ready)"
done
ok "a module that is being relocated"

# From the first instruction on: whatever the command says, the program goes on.
python=$(python3 -c 'import sys; print(sys.executable)')
attached=0
for i in $(seq 40); do
    with_input "$python" -S -c 'import _ctypes, _decimal, _hashlib, _json, _sqlite3, _ssl; input()'
    await 60 [ "$python" -ef "/proc/$pid/exe" ]
    [ $((i % 4)) = 0 ] || sleep "0.0$((i % 7))"
    if "$mallow" attach "$pid" >out 2>err; then
        attached=$((attached + 1))
        try 0 "$mallow" detach "$pid"
    else
        one_line_error
    fi
    echo >&"$input"
    wait "$pid" || fail "the program ended with status $? after: $(cat out err ready)"
    exec {input}>&-
done
[ "$attached" -ge 30 ] || fail "only $attached of 40 programs were attached to"
ok "programs that start"
