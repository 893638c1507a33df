#!/bin/bash
# SPDX-License-Identifier: MIT
# files.sh SOURCE_DIR -- each file of the tree lies where its kind belongs, and none is empty; a
# folder of sources holds 4 to 15 files; two files have one name only if they are one idea at two
# layers.  In a git checkout the files that git tracks and those that it neither tracks nor ignores;
# elsewhere all but the build folders.
set -euo pipefail
cd "$1"

# A pattern a line, of whole paths: what may be there.
patterns=$(mktemp)
trap 'rm -f "$patterns"' EXIT
sed '/^#/d; /^$/d; s/.*/^(&)$/' >"$patterns" <<'END'
# The root.
(README|README\.zh-CN|CHANGELOG|CONTRIBUTING)\.md|LICENSE|Makefile|CMakeLists\.txt|CMakePresets\.json
\.(gitignore|editorconfig|clang-format|clang-tidy)|\.ci/run
debian/(rules|control|copyright|not-installed|[a-z0-9-]+\.(docs|install|symbols|lintian-overrides))
debian/(source/format|tests/(control|demo))
cmake/[a-z0-9_-]+\.(cmake|ld|[a-z.]+\.in)
contrib/([a-z0-9_/-]+\.(sh|py|md)|README\.md|fleet/grafana\.json|agent/[a-z-]+\.(conf|yaml|service\.in))
# The library and the command.
include/([a-z0-9_]+/)?[a-z0-9_-]+\.h
src/([a-z0-9_]+/)*([a-z0-9_]+\.(c|h|def|map)|([a-z]+_)?exports\.txt|CMakeLists\.txt|README\.md)
compat/([a-z0-9_]+/)*([a-z0-9_]+\.(c|h|def)|([a-z]+_)?exports\.txt|CMakeLists\.txt|README\.md)
compat/[a-z]+/include/([a-z]+/)?[a-z0-9_-]+\.h
compat/[a-z]+/install/[A-Za-z0-9_.-]+\.in
tools/([a-z0-9_]+/)*([a-z0-9_]+\.(c|h|def|proto|html|css|js)|CMakeLists\.txt|README\.md)
# Scripts; documents.
scripts/(lib/)?[a-z0-9_]+\.(sh|py|txt)
bench/([a-z0-9_]+/)*([a-z0-9_]+\.(c|cc|h|py|sh|mjs)|CMakeLists\.txt|README\.md)
doc/([a-z0-9_-]+/)*([A-Za-z0-9_-]+\.(md|svg|png)|man/[a-z0-9_-]+\.[1-9](\.in)?)
doc/zh-CN/[A-Za-z0-9_-]+\.md
doc/man/[a-z0-9_-]+\.[1-9](\.in)?
doc/reference/[a-z0-9_.-]+\.schema\.json
# Tests; inputs and results that are kept lie in folders of these names.
tests/([a-z0-9_]+/)*([a-z0-9_]+\.(c|cc|h|sh|bash|py|js|mjs|rs|pml)|CMakeLists\.txt|README\.md)
tests/([a-z0-9_]+/)*(expected[a-z0-9_]*\.txt|[a-z0-9_]+\.supp)
web/(package|package-lock)\.json|web/((index|flame)\.html|build\.mjs)
web/(src|test)/[a-z0-9_.-]+\.(js|jsx|mjs|css)
web/test/names\.json
web/dist/(app\.js|app\.css|(index|flame)\.html|LICENSES\.txt)
tests/([a-z0-9_]+/)*(golden|corpus|found|data|layouts)/.+
END
list() {
    if grep -qxF "$PWD" <<<"$(git rev-parse --show-toplevel 2>/dev/null)"; then
        git ls-files --cached --others --exclude-standard
    else
        find . -path ./.git -prune -o -path './build*' -prune -o -name __pycache__ -prune -o \
            -type f -printf '%P\n'
    fi
}
status=0
files=$(list)
[ -n "$files" ] || {
    echo "no files in $PWD"
    exit 1
}
while read -r file; do
    echo "$file: no file of this kind belongs there; patterns are in tests/checks/files.sh"
    status=1
done < <(grep -Evxf "$patterns" <<<"$files")
while read -r file; do
    if [ -e "$file" ] && [ ! -s "$file" ]; then
        echo "$file: it is empty"
        status=1
    fi
done <<<"$files"

# Files of src/, compat/ and tools/mallow/ that are there; those of compat/ that are installed or
# say how to build are not counted.
sources=$(grep -E '^(src|compat|tools/mallow)/' <<<"$files" |
    grep -vE '^compat/([a-z]+/(include|install)/|.*CMakeLists)' | while read -r file; do
    [ ! -e "$file" ] || echo "$file"
done)
while read -r count folder; do
    if [ "$count" -lt 4 ] || [ "$count" -gt 15 ]; then
        echo "$folder: $count files, not 4 to 15: move or merge modules"
        status=1
    fi
done < <(grep '/[^/]*/' <<<"$sources" | sed 's|/[^/]*$||' | sort | uniq -c)
# One idea at two layers.
shared="alloc control dump error heap_walk history jemalloc mimalloc new options report settings
    state_file stats timeline view"
while read -r name; do
    if ! grep -qwF "${name%.*}" <<<"$shared"; then
        echo "$name: two files have this name, and are not one idea at two layers:"
        grep "/$name\$" <<<"$sources"
        status=1
    fi
done < <({ echo "$sources"; grep -E '^(compat/[a-z]+/)?include/' <<<"$files"; } |
    sed -n 's|.*/\([^/]*\.[ch]\)$|\1|p' |
    sort | uniq -d)
echo "$(wc -l <<<"$files") files looked at"
exit $status
