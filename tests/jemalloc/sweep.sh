#!/bin/bash
# SPDX-License-Identifier: MIT
# sweep.sh BUILD_DIR SOURCE_DIR -- every option of options.def that Debian's libjemalloc2 knows,
# with good, bad, out-of-range and malformed values: the same lines on stderr, word for word, and
# the same value in opt.<name>.
. "$(dirname "$0")/lib.sh"
need_reference
cat >"$work/show.c" <<'END'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

/* opt.<name> as a number or a text, if there is such a name. */
int main(int argc, char **argv) {
	char name[64];
	size_t bytes = 8;
	long value = 0;
	const char *text;
	snprintf(name, sizeof name, "opt.%s", argv[argc - 2]);
	for (; bytes > 0; bytes = bytes == 8 ? 4 : bytes == 4 ? 1 : 0) {
		size_t length = bytes; /* it is changed where it is wrong */
		value = 0;
		if (mallctl(name, &value, &length, NULL, 0) == 0)
			break;
	}
	memcpy(&text, &value, sizeof text);
	if (bytes == 8 && strcmp(argv[argc - 1], "text") == 0)
		printf("%s\n", text);
	else if (bytes > 0)
		printf("%ld\n", value);
	return 0;
}
END
cc -I"$include" "$work/show.c" "$compat/libjemalloc.so.2" -o "$work/show"
python3 - "$source/src/config/options.def" "$work/show" "$compat" "$reference" <<'END' \
    || fail "see above"
import re, subprocess, sys
from concurrent.futures import ThreadPoolExecutor

table, program, *libraries = sys.argv[1:]
text = open(table).read() + open(table.replace("config/options.def", "state/settings.def")).read()
rows = re.findall(r'^MW_(?:OPTION|OPTION_JEMALLOC|SETTING)\((\w+),\s*(\w+),\s*("[^"]*"|[^,]*),'
                  r'\s*([^,]*),\s*([^,]*),\s*"([^"]*)"',
                  text, re.M)
rows += [(name, "LOG2", "", low, high, "")
         for name, low, high in re.findall(r'^MW_OPTION_LOG2\((\w+), \w+, [^,]*, ([^,]*), '
                                           r'([^,]*),', text, re.M)]

# Known to behave otherwise: doc/reference/jemalloc.md says how.
OTHERWISE = {
    # mean and interval are bounded by 1 TiB
    "lg_prof_sample": {"value"}, "lg_prof_interval": {"value"},
    # read back as they were set
    "max_background_threads": {"value"}, "oversize_threshold": {"value"},
    # of this library's own lists and locks
    "tcache_max": {"value"}, "lg_tcache_max": {"value"},
    "tcache_nslots_small_min": {"value"}, "tcache_nslots_small_max": {"value"},
}
# What the option's default is differs; only what was taken is compared.
VALUES = ["", "x", "-", "true", "false", "True", "0", "1", "-1", "-2", "2", "3", "7", "63", "64",
          "65", "100", "4096", "5000", "65536", "1048576", "4294967295", "4294967296",
          "9223372036854775807", "9223372036854775808", "18446744073709551615",
          "18446744073709551616", "99999999999999999999999", "0x10", "0x", "010", "08", "1a",
          "+1", " 1", "1 ", "1K", "1.5", "0.25", "-0.5", "1.", ".5", ".", "1.0", "1.01", "1.5.5",
          "65535", "65535.9", "Jgx", "JJ", "1-", "1-2", "1-2:", "1-2:3", "1-2:3|", "1-2:x", "|",
          "16-32:2|64-128:4",
          "8-7:1", "0-99999999:1", "1-2:0", "1-2:99999"]

def run(library, conf, name, kind):
    result = subprocess.run([program, name, kind],
                            env={"LD_LIBRARY_PATH": library, "MALLOC_CONF": conf},
                            capture_output=True, text=True, timeout=60)
    lines = [re.sub(r" \(mallow: .*\)$", "", line) for line in result.stderr.splitlines()
             if line.startswith("<jemalloc>")]
    # jemalloc writes some of them twice, once for each time it reads the source.
    changes = [line for i, line in enumerate(lines) if i == 0 or line != lines[i - 1]]
    return changes, result.stdout, result.returncode

def compare(case):
    name, kind, value = case
    conf = f"{name}:{value}"
    ours, theirs = (run(library, conf, name, kind) for library in libraries)
    if theirs[0] == [f"<jemalloc>: Invalid conf pair: {conf}"]:
        return None # a later version's, or mallow's own
    # Of a number of processors, and an empty word: doc/reference/jemalloc.md.
    reduced = any("Reducing narenas" in line for line in theirs[0])
    if reduced and name == "narenas_ratio" or kind == "text" and value == "":
        return None
    # Of 32 bits that are 0 jemalloc makes a number of processors.
    if name == "narenas" and value.isdigit() and int(value) > 0 and int(value) % 2**32 == 0:
        return None
    said = ours[0] == theirs[0]
    # An option that was refused has its default, which is each library's own.
    same = bool(theirs[0]) or "value" in OTHERWISE.get(name, ()) or ours[1:] == theirs[1:]
    return said, same, conf, ours, theirs

cases = []
for name, kind, standard, low, high, words in rows:
    text = "text" if kind in ("TEXT", "LETTERS", "WORD", "CHOICE") else "number"
    values = VALUES + (words.split("|") if kind in ("WORD", "CHOICE") else [])
    cases += [(name, text, value) for value in dict.fromkeys(values)]
with ThreadPoolExecutor(2) as pool:
    results = [result for result in pool.map(compare, cases) if result]
bad = [r for r in results if not (r[0] and r[1])]
for said, same, conf, ours, theirs in bad:
    print(f"{conf}: {'value' if said else 'message'}: jemalloc {theirs}, mallow {ours}")
if bad:
    sys.exit(f"{len(bad)} of {len(results)} differ")
names = {r[2].split(":")[0] for r in results}
assert len(names) > 50, names
refused = sum(bool(r[4][0]) for r in results)
print(f"ok {len(results)} values of {len(names)} options, {refused} of them refused: the same "
      "words, the same values")
END
