#!/bin/bash
# SPDX-License-Identifier: MIT
# units.sh BUILD_DIR -- values and labels of profile.proto in any of pprof's units: tables, ranges
# of tags, -unit, and sums of profiles in different units are those of `go tool pprof`.
source "$(dirname "$0")/lib.bash"
source "$here/pprof.bash"
needs python3
ours=$build/lib/mallow/compat/bin/pprof
write() { python3 "$here/unit_profile.py" "$@" || fail "no profile was written"; }
# rows: of a table, without what stands before it
rows() { sed -n '/^ *flat  *flat%/,$p' | sed 's/[[:space:]]*$//'; }

# same OPTION... PROFILE...: as `go tool pprof -top`
has_pprof && compares=1 || compares=
same() {
    [ -n "$compares" ] || return 0
    go_pprof -top -symbolize=none "$@" >text 2>pprof.err || fail "pprof $*: $(cat pprof.err)"
    rows <text >theirs
    try 0 "$ours" -top -symbolize=none "$@"
    rows <out >mine
    [ "$(wc -l <theirs)" -gt 2 ] || fail "pprof $* says nothing: $(cat text)"
    diff theirs mine >&2 || fail "-top $* differs from pprof's"
}

# Values from one smallest unit to the largest that are written.
values=1,7,1000,1024,90000,12345678,3600000000,123456789012,-5000
for unit in bytes byte B b kilobytes kbytes kB KB megabytes MB gigabytes GB terabytes petabytes \
    nanoseconds nanosecond ns microseconds us milliseconds ms seconds second sec s hours hour hr \
    hrs GCU gcu nanogcu microgcu milligcu kilogcu megagcu gigagcu teragcu petagcu \
    count objects requests cycles samples events pages ''; do
    write p.pb "t:$unit:$values"
    same -unit=minimum p.pb
    # Of a unit's names one is asked for the rest.
    case $unit in bytes | kB | terabytes | ns | microseconds | seconds | hours | hrs | GCU | \
        milligcu | count | samples | '') ;;
    *) continue ;;
    esac
    same -unit=auto p.pb
    # A unit of another kind makes pprof call 3 objects "3MB"; mallow says 3.
    case $unit in *objects | *requests | cycles | *samples | events | pages | count) ;;
    [bBkKmMgGtp]*[bB] | *byte | *bytes)
        for wanted in B kB MB gigabytes TB ms; do same -unit=$wanted p.pb; done
        ;;
    *s | sec* | hour | hr)
        for wanted in ns us milliseconds s hrs; do same -unit=$wanted p.pb; done
        ;;
    *[gG][cC][uU]) for wanted in GCU kilogcu MB; do same -unit=$wanted p.pb; done ;;
    esac
    same -divide_by=7 p.pb
done
ok "values in each unit, in each wanted unit"

# Spellings that pprof's release does not have.
for unit in us μs µs; do
    write p.pb "t:$unit:90000"
    try 0 "$ours" -top p.pb
    says out ' 90ms .* fn1$'
    try 0 "$mallow" top p.pb
    says out '^ *90\.0 ms .* fn1$'
done
write p.pb t:minutes:90
try 0 "$ours" -top p.pb
says out ' 1\.50hrs .* fn1$'
write p.pb t:KiB:2048
try 0 "$ours" -top p.pb
says out ' 2MB .* fn1$'
# For people, too.
for case in kilobytes:2048:'2\.00 MiB' megabytes:3000:'2\.93 GiB' ms:90000:'1\.50 min' \
    seconds:90000:'25\.0 h|1\.04 d' cycles:123456789:123M requests:5:5 GCU:3:3GCU; do
    IFS=: read -r unit value wanted <<<"$case"
    write p.pb "t:$unit:$value"
    try 0 "$mallow" top p.pb
    says out "^ *($wanted) .* fn1( |$)"
    try 0 "$mallow" report p.pb
    says out "^ *($wanted) .* fn1( |$)"
done
ok "more spellings, and tables for people"

# Ranges of labels, with units in the range and in the labels.
numbers=1,2,3,4,5,6,1024,2048,4096
one=1,1,1,1,1,1,1,1,1
# ranges LABELS RANGES: each of these ranges selects from each of these labels what pprof selects.
# Ranges of another kind are left out: pprof takes 3 requests for 3 MB.
ranges() {
    local label range option
    for label in $1; do
        write p.pb "t:count:$one" --label "$label:$numbers"
        for range in $2; do
            for option in "-tagfocus=${label%:*}=$range" "-tagignore=$range"; do
                go_pprof -top -symbolize=none "$option" p.pb 2>pprof.err | rows >theirs
                try 0 "$ours" -top -symbolize=none "$option" p.pb
                rows <out >mine
                diff theirs mine >&2 || fail "$option of the label $label differs from pprof's"
            done
        done
    done
}
if [ -n "$compares" ]; then
    ranges 'req:megabytes req:kilobytes req:bytes bytes: request: alignment: kilobytes:' \
        '2mb:4mb 2mb :3mb 3mb: 2048kb:4mb 1024b 2kb:4kb 2megabytes:4megabytes'
    ranges 'took:ms took:seconds took:microseconds' '2ms:4ms 2s :3s 4096us: 3000000ns 2ms:4s'
    ranges calls:requests '2requests:4requests 3requests'
fi
write p.pb "t:count:$one" --label "req:megabytes:$numbers"
try 0 "$mallow" top --tagfocus req=2mb:4mb p.pb
for i in 2 3 4; do says out " fn$i\$"; done
says_not out ' fn[15]$'
try 0 "$mallow" top --tagfocus req=2s:4s p.pb
says_not out ' fn[0-9]$'
ok "ranges of labels"

# Labels as texts.
for label in req:megabytes took:milliseconds calls:requests kilobytes: request:; do
    write p.pb "t:count:$one" --label "$label:$numbers"
    for option in '' -unit=minimum; do
        [ -n "$compares" ] || continue
        # shellcheck disable=SC2086 # an option or none
        go_pprof -tags -symbolize=none $option p.pb 2>/dev/null | grep -oE '\): .*' |
            sort >theirs
        # shellcheck disable=SC2086
        try 0 "$ours" -tags -symbolize=none $option p.pb
        grep -oE '\): .*' out | sort >mine
        [ "$(wc -l <theirs)" = 9 ] || fail "pprof -tags $option says not enough of $label"
        diff theirs mine >&2 || fail "-tags $option of $label differs from pprof's"
    done
done
ok "labels"

# Sums and differences.
write ms.pb t:milliseconds:3,5000
write us.pb t:microseconds:1500,7
same ms.pb us.pb
same us.pb ms.pb
same -diff_base=us.pb ms.pb
same -base=ms.pb us.pb
write mb.pb t:megabytes:3
same mb.pb mb.pb
ok "profiles in different units"
