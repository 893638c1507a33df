#!/bin/bash
# SPDX-License-Identifier: MIT
# names.sh BUILD_DIR SOURCE_DIR -- doc/reference/mallctl.md lists what mallctl.def declares, and
# each of the names is known to the library.
set -euo pipefail
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$source/scripts/mallctl_table.sh" "$source" >"$work/mallctl.md"
diff -u "$source/doc/reference/mallctl.md" "$work/mallctl.md" || {
    echo "doc/reference/mallctl.md is old; scripts/mallctl_table.sh . >doc/reference/mallctl.md"
    exit 1
}
cat >"$work/names.c" <<'EOF'
#include <jemalloc/jemalloc.h>
#include <stdio.h>
#include <string.h>

int main(void) {
	char name[256];
	int unknown = 0, known = 0;
	while (fgets(name, sizeof name, stdin)) {
		name[strcspn(name, "\n")] = 0;
		size_t mib[16], parts = 16;
		if (mallctlnametomib(name, mib, &parts) == 0) {
			known++;
			continue;
		}
		printf("unknown: %s\n", name);
		unknown++;
	}
	printf("%d names known\n", known);
	return unknown > 0 || known < 450;
}
EOF
cc -I"$source/compat/jemalloc/include" "$work/names.c" \
    "$build/lib/mallow/compat/libjemalloc.so.2" -o "$work/names"
# shellcheck disable=SC2016 # the backquotes are Markdown's
sed -n 's/^| `\([^`]*\)` .*/\1/p' "$work/mallctl.md" | sed 's/<i>/0/g' |
    LD_LIBRARY_PATH=$build/lib/mallow/compat "$work/names"
