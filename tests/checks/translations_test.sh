#!/bin/bash
# SPDX-License-Identifier: MIT
# translations_test.sh SOURCE_DIR -- translations.py finds a difference of each kind between a page
# and its translation, lists a page whose English one has changed, and passes then.  The pages are
# made here, in a folder without git, as a tar ball has them.
# shellcheck disable=SC2016 # backquotes of Markdown
set -euo pipefail
check=$1/tests/checks/translations.py
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
english=doc/user
chinese=doc/zh-CN
mkdir -p "$work/$english" "$work/$chinese"
page=$work/$chinese/page.md
status=0

cat >"$work/$english/page.md" <<'END_OF_PAGE'
# A page

It takes 5.25 ms, or 40 % of `malloc`. See [the other one](other.md#its-heading).

| option | meaning |
|---|---|
| `--top` | rows |

```console
$ mallow ls        # the processes
  4711 server
```
END_OF_PAGE
printf '# Another\n\n## Its heading\n\nText.\n' >"$work/$english/other.md"
cat >"$page" <<'END_OF_PAGE'
<!-- translates: ENGLISH/page.md blob 0000000000000000000000000000000000000000 -->
[English](../user/page.md)

# 页面

耗时 5.25 ms,占 `malloc` 的 40%。见[另一页](other.md#标题)。

| 选项 | 含义 |
|---|---|
| `--top` | 行 |

```console
$ mallow ls        # 进程
  4711 server
```
END_OF_PAGE
sed -i "s|ENGLISH|$english|" "$page"
printf '<!-- translates: %s/other.md blob %040d -->\n# 另一页\n\n## 标题\n\n文。\n' "$english" 0 \
    >"$work/$chinese/other.md"
"$check" "$work" --renew $chinese/page.md $chinese/other.md >"$work/out" || {
    cat "$work/out"
    echo "nothing was planted"
    exit 1
}

# expect RESULT TEXT WHAT: the check ends so (pass, fail) and prints a line with the text.
expect() {
    local result=pass
    "$check" "$work" >"$work/out" 2>&1 || result=fail
    if [ "$result" != "$1" ] || ! grep -q -- "$2" "$work/out"; then
        echo "$3: no $1 with '$2':"
        cat "$work/out"
        status=1
    fi
}
# plant EXPRESSION FINDING: after sed's EXPRESSION on the Chinese page the check fails with FINDING.
plant() {
    cp "$page" "$work/before"
    sed -i -E "$1" "$page"
    if cmp -s "$page" "$work/before"; then
        echo "nothing to change: $1"
        status=1
    fi
    expect fail "$2" "$1"
    cp "$work/before" "$page"
}

plant 's/5\.25 ms/5.52 ms/' 'number 5.25ms is only in the English page'
plant 's/5\.25 ms/5.25 us/' 'number 5.25us is not in the English page'
plant 's/40%/百分之四十/' 'number 40% is only in the English page'
plant 's/`malloc`/`calloc`/' '`malloc` is only in the English page'
plant 's/^\$ mallow ls/$ mallow list/' "in a code block: '\$ mallow list'"
plant 's/4711 server$/4712 server/' "in a code block: '  4712 server'"
plant 's/^```console/```sh/' 'a code block is of sh, not of console'
plant '/^```console/,$d' '0 code blocks, the English page has 1'
plant '/--top/s/$/\n| | |/' '4 rows of tables, the English page has 3'
plant 's/\(other.md#标题\)/(other.md)/' "a link is missing: $chinese/other.md, heading 1"
plant 's/other.md#标题/..\/user\/other.md#its-heading/' "not in the English page: $english/other.md"
plant 's/#标题/#无此标题/' 'there is no such heading'
plant 's/\.\.\/user\/page\.md/..\/user\/gone.md/' 'there is no such file'
plant 's/^# 页面/#&/' "its headings are not those of $english/page.md"
plant '1d' 'the first line does not name the English page'
plant '1s/blob [0-9a-f]{4}/blob /' 'the first line does not name the English page'
plant '1s/user.page/user\/gone/' "translates $english/gone.md: there is no such file"

# A newer English page: its command that shows the change is git's.
if command -v git >/dev/null; then
    before=$(git hash-object "$work/$english/page.md")
    sed -i 's/5\.25/6.25/' "$work/$english/page.md"
    after=$(git hash-object "$work/$english/page.md")
    expect pass "$chinese/page.md is behind: git diff $before $after" "a newer English page"
fi
exit $status
