#!/bin/bash
# SPDX-License-Identifier: MIT
# figures.sh BUILD_DIR SOURCE_DIR -- each name that doc/reference/mallctl.md calls live has more
# than one value: it moves while a program runs, or with the options it was started with.
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" # dumps of the profile are written there
export LD_LIBRARY_PATH=$build/lib/mallow/compat
types='64 bits|32 bits|64 bits, signed|bool|text'
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -En 's/^\| `([^`]*)` \| ('"$types"') \| r[w-] \| live \|$/\2 \1/p' \
    "$source/doc/reference/mallctl.md" |
    grep -v ' thread.tcache.ncached_max' |
        sed -E 's/^(64 bits|32 bits|64 bits, signed) /number /' >"$work/names"
figures() {
    MALLOC_CONF=$1 "$build/tests/jemalloc_figures" "$2" "$work" <"$work/names"
}
# All that has another value than its standard one here.
other=thp:always,prof:false,prof_active:false,prof_thread_active_init:false,prof_bt_max:100,lg_prof_sample:17
other+=,lg_prof_interval:40,prof_gdump:true,prof_final:true,prof_accum:false
other+=,prof_pid_namespace:true,prof_recent_alloc_max:7,prof_stats:true,prof_time_resolution:high,background_thread:true
other+=,dirty_decay_ms:77,muzzy_decay_ms:5,tcache:false,lg_tcache_max:10,tcache_nslots_small_min:3,tcache_nslots_small_max:30
other+=,prof_sys_thread_name:false,hpa:true,stats_interval:1073741824,stats_interval_opts:J,mutex_max_spin:7,xmalloc:true,zero_realloc:alloc,experimental_infallible_new:true,abort:true,stats_print_opts:J,prof_prefix:$work/other,abort_conf:true,stats_print:true,junk:alloc,zero:true
figures "" move | sort >"$work/same"
figures thp:always,dirty_decay_ms:0,muzzy_decay_ms:20,prof_stats:true,lg_prof_sample:12 move |
    sort | comm -12 - "$work/same" >"$work/same.huge"
figures "" print | sort >"$work/print"
# With a leak among its samples the program would end with an error: none is taken.
for options in "$other" \
    prof_leak:true,prof_leak_error:true,prof_final:true,confirm_conf:true,lg_prof_sample:40; do
    if ! figures "$options" print 2>"$work/stderr" | sort |
        comm -12 - "$work/print" >"$work/left"; then
        cat "$work/stderr"
        echo "FAILED: with $options"
        exit 1
    fi
    mv "$work/left" "$work/print"
done
cut -d' ' -f1 "$work/print" | sort | comm -12 - "$work/same.huge" >"$work/constant"
# Who waits for a lock, and how long, is chance (tests/unit/os/test_lock.c); addresses are what they
# point at (api.c), the other sources of options are in conf.sh, and ncached_max, which reads what
# is written, in tcache.c.
elsewhere='\.(num_wait|num_spin_acq|total_wait_time|max_wait_time|max_num_thds)$|^thread\.(de)?allocatedp$'
if grep -Ev "$elsewhere|^opt\.malloc_conf\.(global_var|symlink)" "$work/constant"; then
    echo "FAILED: never another value"
    exit 1
fi
echo "ok $(wc -l <"$work/names") names, $(comm -23 <(cut -d' ' -f2 "$work/names" |
    sort) "$work/constant" | wc -l) moved"
