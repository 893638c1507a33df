#!/bin/bash
# SPDX-License-Identifier: MIT
# older_glibc.sh FOLDER [BUILD_DIR] -- by hand: makes a root of Debian 11 (glibc 2.31) with python3
# in FOLDER/root, in a minute and 220 MiB, and tells how much of what python3 allocates there,
# mostly in extensions that dlopen(3) loads, has a stack that ends with [truncated].  Needs root
# and mmdebstrap.
. "$(dirname "$0")/lib/common.sh"

case $# in
1 | 2) ;;
*) die "usage: scripts/older_glibc.sh FOLDER [BUILD_DIR]" ;;
esac
build=$(realpath "${2:-build}")
mkdir -p "$1"
root=$(realpath "$1")/root
[ -x "$root/usr/bin/python3" ] ||
    mmdebstrap --variant=minbase --include=python3 bullseye "$root"

cat >"$root/tmp/extensions.py" <<'END'
import bz2, decimal, json, lzma, sqlite3
kept = []
base = sqlite3.connect(":memory:")
base.execute("create table t(a, b)")
for i in range(20000):
    base.execute("insert into t values(?, ?)", (i, "x" * 50))
kept += base.execute("select * from t")
for i in range(300):
    kept.append(json.loads(json.dumps({"a": list(range(200)), "b": "y" * 500})))
    kept.append(bz2.compress(b"q" * 20000))
    kept.append(lzma.compress(b"abc" * 1000))
    kept.append(decimal.Decimal(1) / decimal.Decimal(i + 3))
END
cp "$build/lib/libmallow.so" "$root/tmp/"
rm -f "$root"/tmp/extensions.pb
conf=prof_sample:4096,prof_cost_limit:0,prof_final:true,dump_name:/tmp/extensions.pb
chroot "$root" /usr/bin/env -i PATH=/usr/bin:/bin LD_PRELOAD=/tmp/libmallow.so \
    MALLOW_CONF="$conf" python3 /tmp/extensions.py
"$build/bin/mallow" traces --sample-type alloc_space "$root/tmp/extensions.pb" 2>/dev/null | awk '
BEGIN { of["B"] = 1; of["KiB"] = 1024; of["MiB"] = 1024 ^ 2; of["GiB"] = 1024 ^ 3 }
function end() { all += bytes; bytes = 0 }
/^-----/ { end() }
$2 in of { bytes = $1 * of[$2] }
/\[truncated\]/ { cut += bytes }
END {
    end()
    printf "%.1f MiB allocated, %.3f %% with a stack that is cut\n", all / 1024 ^ 2, 100 * cut / all
    exit all == 0 || cut > all / 1000
}'
