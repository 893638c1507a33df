#!/bin/bash
# SPDX-License-Identifier: MIT
# terminal.sh BUILD_DIR -- what is different on a terminal, which tmux plays: pager, colours, width,
# progress.
source "$(dirname "$0")/lib.bash"
needs tmux
build_calls
try 0 "$mallow" run --exact -o calls.pb.gz ./calls
escape=$'\033'

# in_terminal COMMAND: types it, waits for its end.
number=0
in_terminal() {
    number=$((number + 1))
    terminal send-keys -l "clear; $1; echo end=\$? of $number"
    terminal send-keys Enter
    on_screen "^end=[0-9]+ of $number"
}
# A window takes its new size some time after it was told.
resize() {
    local tries
    terminal resize-window -x "$1" -y "$2" 2>/dev/null
    for tries in {1..200}; do
        in_terminal 'stty size >size'
        [ "$(cat size)" = "$2 $1" ] && return
        sleep 0.1
    done
    fail "the window is not $1 x $2 after $tries looks"
}
export LC_ALL=C.UTF-8 PAGER='tee paged' TERM=xterm
unset NO_COLOR MALLOW_PAGER LESS
terminal new-session -d -x 80 -y 12 "PS1='$ ' bash --noprofile --norc"
terminal send-keys -l "PATH=$build/bin:\$PATH"
terminal send-keys Enter

in_terminal 'mallow report calls.pb.gz'
[ -s paged ] || fail "a long table did not go to the pager"
grep -q "$escape\[1m *flat" paged || fail "the table has no colours"
grep -q "$escape\[1;31m.* large" paged || fail "what holds most has no colour"
sed "s/$escape\[[0-9;]*m//g" paged | awk 'length > 80 { print; bad = 1 } END { exit bad }' ||
    fail "too wide"
rm paged
in_terminal 'NO_COLOR=1 mallow report calls.pb.gz'
[ -s paged ] || fail "a long table did not go to the pager"
! grep -q "$escape" paged || fail "NO_COLOR has colours"
rm paged
in_terminal 'NO_COLOR=1 mallow report --color=always --no-pager calls.pb.gz'
[ ! -e paged ] || fail "--no-pager pages"
in_terminal "MALLOW_PAGER='tee other' mallow report calls.pb.gz --color=never"
[[ -s other && ! -e paged ]] || fail "MALLOW_PAGER is not before PAGER"
! grep -q "$escape" other || fail "--color=never has colours"
in_terminal 'MALLOW_PAGER= mallow report calls.pb.gz'
[ ! -e paged ] || fail "an empty MALLOW_PAGER pages"
ok "pager and colours"

in_terminal 'PAGER=no-such-pager mallow report calls.pb.gz'
on_screen ' main'
in_terminal 'mallow report no-such-file'
on_screen 'mallow: no-such-file: '
on_screen 'end=2'
[ ! -e paged ] || fail "an error went to the pager"
resize 80 60
in_terminal 'mallow report calls.pb.gz'
on_screen ' main'
[ ! -e paged ] || fail "what fits went to the pager"
ok "what needs no pager"

resize 40 8
for view in report top tree traces; do
    in_terminal "mallow $view calls.pb.gz"
    [ -s paged ] || fail "$view did not go to the pager"
    # Rows of tables and stacks; awk counts the dots of a cut name as three.
    sed "s/$escape\[[0-9;]*m//g; s/…/./g" paged >rows
    awk '/^[ -]/ && length > 40 { print; bad = 1 } END { exit bad }' rows || fail "$view: too wide"
    rm paged
done
ok "40 columns"

# Names of C++ at 80 columns: a tree leaves them room, and instructions, stacks and headings fit.
cat >names.cc <<'END'
#include <map>
#include <string>
#include <vector>
int main() {
	auto *all = new std::map<std::string, std::vector<std::string>>;
	for (int i = 0; i < 5000; i++)
		(*all)["a key that is too long to be kept in place " + std::to_string(i)].resize(9);
	return all->empty();
}
END
g++ -g -O1 -o names names.cc || fail "names.cc does not compile"
"$mallow" run --rate 4K -o names.pb.gz -- ./names >run.out 2>err || fail "names does not run"
resize 80 24
for view in "top --wrappers" tree traces "disasm ^main" "check --max-live 0"; do
    in_terminal "mallow $view names.pb.gz 2>/dev/null"
    [ -s paged ] || fail "$view did not go to the pager"
    sed "s/$escape\[[0-9;]*m//g; s/…/./g" paged >rows
    awk '/^[ -]/ && length > 80 { print; bad = 1 } END { exit bad }' rows || fail "$view: too wide"
    [ "$view" != tree ] || grep -Eq '\| {3}[^ ]{20}' rows || fail "a tree leaves names no room"
    rm paged
done
resize 80 60
ok "80 columns"

# Files of their names that are no libraries, as where none is installed.
mkdir without
echo >without/libedit.so.2
echo >without/libedit.so.0
echo >without/libncursesw.so.6
in_terminal 'LD_LIBRARY_PATH=without mallow top --all'
on_screen '^mallow: top: cannot draw a live view: libncursesw.so.6 is not installed; '
on_screen 'end=2'
terminal send-keys -l "clear; LD_LIBRARY_PATH=without mallow shell calls.pb.gz"
terminal send-keys Enter
on_screen '^mallow: note: cannot edit lines: libedit.so.2 is not installed; install package'
on_screen '^\(mallow\)'
terminal send-keys -l top
terminal send-keys Enter
on_screen ' large$'
terminal send-keys -l quit
terminal send-keys Enter
on_screen '^\$'
ok "without libraries"

mkfifo slow
terminal send-keys -l "clear; mallow report slow"
terminal send-keys Enter
on_screen 'reading slow'
cat calls.pb.gz >slow
on_screen ' main'
! grep -q 'reading slow' out || fail "the line of progress stays"
terminal kill-server
ok "progress"

try 0 "$mallow" report calls.pb.gz
! grep -q "$escape" out || fail "colours without a terminal"
try 0 "$mallow" top --color=always calls.pb.gz
grep -q "$escape\[1m" out || fail "--color=always has none"
try 0 "$mallow" top --color=always -o table.txt calls.pb.gz
! grep -q "$escape" table.txt || fail "colours in a file"
try 2 "$mallow" ls --color=maybe
one_line_error
[ ! -e paged ] || fail "a pager without a terminal"
ok "no terminal"
