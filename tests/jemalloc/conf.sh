#!/bin/bash
# SPDX-License-Identifier: MIT
# conf.sh BUILD_DIR SOURCE_DIR -- options: the five sources in their order, and for bad input
# jemalloc's own words, side by side with Debian's libjemalloc2.
. "$(dirname "$0")/lib.sh"

cat >"$work/conf.c" <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#ifdef VARIABLE
const char *malloc_conf = VARIABLE;
#endif
#ifdef HARDER
const char *malloc_conf_2_conf_harder = HARDER;
#endif

/* The options named, as they hold. */
int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		unsigned long value = 0;
		char name[64];
		snprintf(name, sizeof name, "opt.%s", argv[i]);
		for (size_t bytes = 8; bytes > 0; bytes = bytes == 8 ? 4 : bytes == 4 ? 1 : 0) {
			size_t length = bytes; /* it is changed where it is wrong */
			value = 0;
			if (mallctl(name, &value, &length, NULL, 0) == 0)
				break;
		}
		printf("%s=%ld\n", argv[i], (long)value);
	}
	return 0;
}
END
program() {
    local name=$1
    shift
    cc -I"$include" "$@" "$work/conf.c" "$build/lib/mallow/compat/libjemalloc.so.2" -o \
        "$work/$name"
}
program plain
program variable '-DVARIABLE="lg_prof_sample:11,narenas:11"'
program both '-DVARIABLE="lg_prof_sample:11,lg_prof_interval:31"' '-DHARDER="lg_prof_sample:13"'

# ---- precedence ----
says() {
    local want=$1
    shift
    [ "$("$@" 2>&1 | tr '\n' ' ')" = "$want " ] || fail "$*: $("$@" 2>&1)"
}
on_each() {
    LD_LIBRARY_PATH=$compat says "$@"
    [ -z "$reference" ] || LD_LIBRARY_PATH=$reference says "$@"
}
on_each "lg_prof_sample=19" "$work/plain" lg_prof_sample
on_each "lg_prof_sample=11 narenas=11" "$work/variable" lg_prof_sample narenas
MALLOC_CONF=lg_prof_sample:12 on_each "lg_prof_sample=12 narenas=11" "$work/variable" \
    lg_prof_sample narenas
# Debian's library keeps the name of malloc_conf_2_conf_harder to itself.
MALLOC_CONF=lg_prof_sample:12,prof_final:true LD_LIBRARY_PATH=$compat \
    says "lg_prof_sample=13 lg_prof_interval=31 prof_final=1" "$work/both" \
    lg_prof_sample lg_prof_interval prof_final
MALLOW_CONF=lg_prof_sample:14 LD_LIBRARY_PATH=$compat \
    says "lg_prof_sample=14" "$work/both" lg_prof_sample
ok "malloc_conf, MALLOC_CONF, malloc_conf_2_conf_harder, MALLOW_CONF: the later wins"

# An /etc of its own: the link must not be seen by others.
mkdir "$work/etc"
ln -s lg_prof_sample:9,prof_final:true "$work/etc/malloc.conf"
with_link() {
    # shellcheck disable=SC2016 # for the inner shell
    unshare --mount --map-root-user sh -c 'mount --bind "$0" /etc && exec "$@"' "$work/etc" "$@"
}
if with_link true 2>/dev/null; then
    on_each "lg_prof_sample=9 prof_final=1" with_link "$work/plain" lg_prof_sample prof_final
    MALLOC_CONF=lg_prof_sample:10 on_each "lg_prof_sample=10 prof_final=1" with_link "$work/plain" \
        lg_prof_sample prof_final
    ok "/etc/malloc.conf comes between the two"
else
    echo "no mount namespace to be had: /etc/malloc.conf not looked at"
fi

# ---- messages ----
# Lines of jemalloc's, without the help that mallow has behind them; it writes some of them twice,
# once for each time it reads the source.
lines() {
    LD_LIBRARY_PATH=$1 MALLOC_CONF=$2 "$work/plain" 2>&1 | grep '^<jemalloc>' |
        sed 's/ (mallow: .*)$//' | uniq || true
}
# shellcheck disable=SC2054 # the commas are within the strings
confs=(
    prof:maybe colour:blue lg_prof_sample:99 lg_prof_sample:-1 lg_prof_sample:x lg_prof_sample: \
        prof prof:true,
    prof=true prof:true,narenas ,prof:true , a:b prof:true,,prof:false narenas:0 narenas:x dss:foo
    percpu_arena:xx "prof :true" "prof: true" dirty_decay_ms:-2 muzzy_decay_ms:-2 muzzy_decay_ms:x \
        thp:xx log=.
    g_prof_interval:20 lg_prof_interval:64 lg_prof_interval:-2 lg_prof_interval:x opt.prof_dump:true
    junk:xx junk:alloc metadata_thp:xx zero_realloc:x foo:1,bar:2 prof:true,prof_time_resolution:xx
    prof_leak:true,prof_leak_error:true prof_leak_error:true,prof_final:false background_thread:x
    max_background_threads:0 tcache_max:99999999999999 tcache_max:-1 lg_tcache_max:x \
        lg_tcache_nslots_mul:17
    mutex_max_spin:-2 oversize_threshold:x prof_recent_alloc_max:-2 stats_interval:-2 prof_active:1
    prof_accum:yes prof_log:no hpa:maybe hpa_slab_max_alloc:1 tcache_nslots_large:0 retain:0
    abort:x trust_madvise:- stats_print:tru prof_thread_active_init:falsch prof_sys_thread_name:1 \
        prof_gdump:on
    prof_final:FALSE prof_prefix: confirm_conf:true,prof:true,lg_prof_interval:20 \
        confirm_conf:true,prof:x,y:1
    confirm_conf:true,confirm_conf:false narenas:010 narenas:0x10 lg_prof_sample:1a \
        prof_bt:5,prof:true
    "$(printf 'x%.0s' {1..300}):1"
)
if [ -n "$reference" ]; then
    for conf in "${confs[@]}"; do
        lines "$reference" "$conf" >"$work/theirs"
        lines "$compat" "$conf" >"$work/ours"
        diff "$work/theirs" "$work/ours" >"$work/diff" || {
            cat "$work/diff"
            fail "MALLOC_CONF='$conf': the messages differ"
        }
    done
    ok "the words of jemalloc for ${#confs[@]} strings"
fi
for library in "$compat" ${reference:+"$reference"}; do
    status=0
    LD_LIBRARY_PATH=$library MALLOC_CONF=abort_conf:true,foo:1 "$work/plain" >"$work/out" 2>&1 ||
        status=$?
    [ "$status" -eq 134 ] || fail "abort_conf:true: status $status"
    grep -qx '<jemalloc>: Abort (abort_conf:true) on invalid conf value (see above).' "$work/out" ||
        fail "abort_conf:true: $(cat "$work/out")"
done
ok "abort_conf"

# ---- what has no effect is on record ----
MALLOC_CONF=narenas:4,retain:false,prof:true,dss:primary \
    MALLOW_CONF=prof_state_min:0,prof_keep:true \
    LD_LIBRARY_PATH=$compat "$work/plain" &
pid=$!
wait "$pid"
"$build/bin/mallow" status --json "$pid" >"$work/status"
"$build/bin/mallow" clean "$pid" >/dev/null 2>&1 || true
python3 - "$work/status" <<'END' || fail "$(grep unused "$work/status")"
import json, sys
status = json.load(open(sys.argv[1]))
status = status[0] if isinstance(status, list) else status
assert status["unused_options"] == ["narenas", "retain", "dss"], status["unused_options"]
END
ok "options without effect are listed by 'mallow status --json'"
