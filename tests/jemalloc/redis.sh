#!/bin/bash
# SPDX-License-Identifier: MIT
# redis.sh BUILD_DIR -- redis-server, linked with libjemalloc.so.2, runs on mallow's, its figures
# add up, and jeprof reads the dumps that MALLOC_CONF asks for.
. "$(dirname "$0")/lib.sh"
need redis-server redis-cli redis-benchmark

socket=$work/redis.sock
start "$work/out" env LD_PRELOAD= LD_LIBRARY_PATH="$compat" \
    MALLOC_CONF="prof:true,lg_prof_interval:23,prof_prefix:$work/jeprof" \
    redis-server --port 0 --unixsocket "$socket" --dir "$work" --save '' --daemonize no --logfile \
    "$work/log"
server=$started
cli() {
    redis-cli -s "$socket" "$@"
}
wait_for 20 cli ping || fail "redis-server does not answer"
grep -q "$build/lib/mallow/compat/libjemalloc.so.2" "/proc/$server/maps" ||
    fail "it runs on another jemalloc"
redis-benchmark -s "$socket" -q -n 40000 -r 40000 -d 200 -P 8 -t set,lpush >"$work/benchmark" 2>&1 \
    ||
    fail "redis-benchmark: $(tail -n 3 "$work/benchmark")"

# All of one moment.
look() {
    cli info memory | tr -d '\r' >"$work/info"
}
field() {
    sed -n "s/^$1://p" "$work/info"
}
# What the allocator says is as of redis's last look, ten times a second.
free_is_done() {
    look
    used=$(field used_memory)
    allocated=$(field allocator_allocated)
    [ "$allocated" -ge "$used" ]
}
wait_for 10 free_is_done || fail "allocated $allocated, used $used"
active=$(field allocator_active)
resident=$(field allocator_resident)
[ "$allocated" -le $((used + used / 4 + 4194304)) ] || fail "allocated $allocated, used only $used"
if [ "$active" -lt "$allocated" ] || [ "$resident" -lt "$active" ]; then
    fail "allocated $allocated, active $active, resident $resident"
fi
cli memory malloc-stats >"$work/stats"
grep -q '^Allocated: ' "$work/stats" || fail "no statistics"
cli flushall >/dev/null
grep -q OK <<<"$(cli memory purge)" || fail "no purge"
purged() {
    look
    [ "$(field allocator_allocated)" -lt $((allocated / 2)) ] &&
        [ "$(field allocator_resident)" -lt $((resident / 2 + 4194304)) ]
}
wait_for 10 purged || fail "after the purge: $(cli info memory | grep allocator_)"
cli shutdown nosave || true
wait "$server" || fail "redis-server ended with status $?"

dumps=("$work"/jeprof."$server".*.i*.heap)
[ "${#dumps[@]}" -ge 3 ] || fail "${#dumps[@]} dumps"
[ -e "$work/jeprof.$server.0.i0.heap" ] || fail "the first dump has another name: ${dumps[0]}"
grep -q '^heap_v2/' <<<"$(head -n 1 "${dumps[0]}")" || fail "a dump in another format"
if command -v jeprof >/dev/null; then
    jeprof --text "$(command -v redis-server)" "${dumps[-1]}" >"$work/jeprof" 2>/dev/null ||
        fail "jeprof cannot read ${dumps[-1]}"
    grep -q '^Total: ' "$work/jeprof" || fail "jeprof: $(head -n 3 "$work/jeprof")"
fi

# On both libraries: what it asks its allocator for has the same answers, names of figures and what
# it can do; it keeps the same data, of all types, while they grow, shrink, expire and are
# defragmented; its log says the same.
fill=$(
    cat <<'END'
for i = 1, 20000 do
    local n = (i * 7919) % 997
    redis.call('set', 's' .. i, string.rep(tostring(i), n % 50 + 1))
    redis.call('append', 's' .. n, string.rep('x', n))
    redis.call('hset', 'h' .. n, 'f' .. i, i)
    redis.call('rpush', 'l' .. n % 31, string.rep('y', n % 200))
    redis.call('zadd', 'z' .. n % 17, n, 'm' .. i)
    redis.call('sadd', 'u' .. n % 13, i)
    if i % 3 == 0 then redis.call('del', 's' .. i - n % 100) end
    if i % 5 == 0 then redis.call('lpop', 'l' .. n % 31) end
    if i % 7 == 0 then redis.call('hdel', 'h' .. n, 'f' .. i - 997) end
end
return redis.call('dbsize')
END
)
data() {
    cli config set activedefrag yes
    cli eval "$fill" 0
    cli debug digest
    cli eval \
        "return {redis.call('strlen', 's996'), redis.call('llen', 'l5'),
            redis.call('zcard', 'z3'), redis.call('scard', 'u2')}" 0
    cli lrange l5 -3 -1
    cli zrange z3 0 5 withscores
    cli save
    cli debug reload
    cli debug digest
    cli flushall async
    cli memory purge
    cli dbsize
}
answers() {
    rm -f "$work"/log "$work"/*.rdb
    start "$work/out" env LD_PRELOAD= LD_LIBRARY_PATH="$1" redis-server --port 0 --unixsocket \
        "$socket" --dir "$work" \
        --save '' --daemonize no --logfile "$work/log" --enable-debug-command yes
    wait_for 20 cli ping >/dev/null || fail "redis-server does not answer"
    data
    cli info memory | tr -d '\r' | sed -n 's/:.*//p' | sort
    cli info memory | grep '^mem_allocator' | sed 's/-[0-9].*//'
    cli memory stats | sed -n '/^[a-z]/p' | grep -v '^[0-9.]*$'
    cli config set activedefrag yes
    cli config set jemalloc-bg-thread yes
    cli config set jemalloc-bg-thread no
    cli memory purge
    cli memory malloc-stats | sed -n 's/^\(___ .*\|--- .*\|Version\|Allocated\).*/\1/p'
    cli shutdown nosave || true
    wait "$started"
    # Without process, time, and how long or large things were; children end when they do.
    sed -E 's/^[0-9]+:[A-Z] [0-9]+ [A-Z][a-z]+ [0-9]+ [0-9:.]+ //; s/[0-9]+(\.[0-9]+)?/N/g' \
        "$work/log" | sort -u
}
if [ -n "$reference" ]; then
    answers "$compat" >"$work/mallow"
    answers "$reference" >"$work/jemalloc"
    diff "$work/jemalloc" "$work/mallow" >"$work/diff" ||
        fail "other answers than with jemalloc: $(cat "$work/diff")"
fi
echo "ok redis on libjemalloc.so.2: ${#dumps[@]} dumps, allocated $allocated of $active bytes"
