#!/bin/bash
# SPDX-License-Identifier: MIT
# python.sh BUILD_DIR -- python3: a deterministic script with and without mallow, and a part of its
# own test suite.  PYTHONMALLOC=malloc hands every object to malloc instead of Python's own pools.
. "$(dirname "$0")/lib.sh"
need python3

cat >"$work/script.py" <<'END'
import collections, hashlib, json, re, threading, zlib

def work(seed, out):
    rows = [{"id": i, "name": f"n{i * seed % 977}", "tags": [str(j) for j in range(i % 7)]}
            for i in range(4000)]
    text = json.dumps(rows)
    words = collections.Counter(re.findall(r"n\d+", text))
    packed = zlib.compress(text.encode())
    out[seed] = (len(packed), sorted(words.items())[:5],
                     hashlib.sha256(zlib.decompress(packed)).hexdigest())

out = {}
threads = [threading.Thread(target=work, args=(seed, out)) for seed in range(1, 9)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for seed in sorted(out):
    print(seed, out[seed])
END
export PYTHONHASHSEED=0
same pools python3 "$work/script.py"
PYTHONMALLOC=malloc same malloc python3 "$work/script.py"

python3 -c 'import test.test_list' 2>/dev/null || {
    echo "python3's test suite is not installed: left out"
    exit 0
}
# test_import_from_another_thread wants a site without threads, which not every Debian has.
suite() {
    (cd "$work" && PYTHONMALLOC=malloc "$@" python3 -m test --timeout 120 \
        -i test_import_from_another_thread \
        test_list test_dict test_set test_json test_re test_threading test_bytes test_deque \
        test_fork1 test_ctypes test_zlib test_array test_gc test_weakref test_subprocess) \
        >"$work/suite" 2>&1
}
suite under_mallow || {
    grep -E '^(ERROR|FAIL):|^ +test_|failed' "$work/suite" || tail -n 30 "$work/suite"
    cp "$work/suite" "$work/suite.mallow"
    ! suite env || fail "python3's own tests fail with mallow only"
    # They fail either way: the same ones, or mallow adds to them.
    diff <(grep -E '^(ERROR|FAIL):' "$work/suite" | sort) \
        <(grep -E '^(ERROR|FAIL):' "$work/suite.mallow" | sort) ||
            fail "other tests fail with mallow"
}
grep -E '^All [0-9]+ tests OK' "$work/suite" || fail "python3's test suite did not end"
