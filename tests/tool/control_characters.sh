#!/bin/bash
# SPDX-License-Identifier: MIT
# control_characters.sh BUILD_DIR -- no text of a profile, process or file reaches the terminal with
# a control character in it: every view in every form, every field of a profile, the messages, and
# JSON.
source "$(dirname "$0")/lib.bash"
needs python3
evil=$'\033]0;title\007\177\302\23331m\342\200\256\342\201\246\330\234\342\200\217\342\200\250\233\r'

# What reorders a line, as UTF-8 or as JSON's escape.
order='\xd8\x9c|\xe2\x80[\x8e\x8f\xa8-\xae]|\xe2\x81[\xa6-\xaf]'
order+='|\\u(061[cC]|200[eEfF]|202[89a-eA-E]|206[6-9a-fA-F])'

# clean FILE NAME...: FILE holds none of C0 but tab and new line, no DEL, no C1, nothing that
# reorders a line, only UTF-8, and no line that a text began; each NAME stands in it, so that the
# field was there at all.
clean() {
    local file=$1 name
    shift
    ! LC_ALL=C grep -naP '[\x00-\x08\x0b-\x1f\x7f]|\xc2[\x80-\x9f]|'"$order" "$file" >bad ||
        fail "$what: $(head -3 bad | cat -v)"
    iconv -f UTF-8 -t UTF-8 "$file" >/dev/null 2>&1 || fail "$what: not UTF-8"
    ! grep -n '^INJECTED' "$file" || fail "$what: a text began a line"
    for name; do
        grep -aq -- "$name" "$file" || fail "$what: $name is not shown"
    done
}

# shows NAMES COMMAND...: what it prints, also as errors, is clean and has the names (a list with
# commas).
shows() {
    local names=$1
    shift
    what=$*
    "$mallow" "$@" >out 2>err </dev/null
    status=$?
    [ $status -le 2 ] || [ $status = 127 ] || fail "$what: status $status"
    # shellcheck disable=SC2086 # a list
    clean out ${names//,/ }
    clean err
}

# A program whose functions and file have such names, and a source with such a line.
printf 'first\n\033[31mred\007 \177 \302\2332J \233 tab\there\nlast\n' >"source$evil.c"
cat >named.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
void *PLAIN(int i) { return calloc(1, 100000 + i); }
int main(int argc, char **argv) {
	int left = 0;
	prctl(PR_SET_NAME, argv[argc - 1]);
	for (int i = 0; i < 100; i++)
		left += PLAIN(i) != NULL;
	if (write(1, "x", 1) != 1)
		return 1;
	pause();
	return left;
}
END
cc -g -O0 -fno-pie -no-pie -o plain named.c || fail "named.c does not compile"
# SYMBOL is UTF-8 throughout: readers of whole texts do not see the rest of one that is not.
objcopy --strip-debug --redefine-sym "PLAIN=SYMBOL${evil%$'\233\r'}" \
    --redefine-sym "main=MAIN${evil%$'\233\r'}" plain \
    "PROGRAM$evil" ||
    fail "the symbols were not renamed"
address=$(nm plain | awk '$3 == "main" { print "0x" $1 }')
python3 "$here/hostile_profile.py" evil.pb "$work/PROGRAM$evil" "$address" "$work/source$evil.c" ||
    fail "no profile was written"

stack=NAME,LISTED
shows $stack top evil.pb
shows $stack,/FILE top --lines --filefunctions evil.pb
shows TYPE top --sample-type "TYPE$evil"$'\nINJECTED' evil.pb
shows '' top --unit "$evil" evil.pb
shows $stack tree evil.pb
shows $stack peek . evil.pb
shows $stack,KEY,LABEL,THREAD,NUMBERKEY traces evil.pb
shows KEY,LABEL,THREAD,NUMBERKEY tags evil.pb
shows '' sizes evil.pb
shows '' lifetimes evil.pb
shows THREAD threads evil.pb
shows LISTED,red list --source-path=/ . evil.pb
shows $stack collapsed evil.pb
shows $stack,/FILE callgrind evil.pb
shows TYPE,UNIT callgrind --sample-type "TYPE$evil"$'\nINJECTED' evil.pb
shows $stack speedscope evil.pb
shows $stack graph evil.pb
shows COMMENT comments evil.pb
shows TYPE,UNIT,PERIODTYPE,PERIODUNIT,COMMENT,/MAPPING,BUILDID,NAME,SYSTEMNAME,/FILE raw evil.pb
shows SYMBOL,MAIN disasm . "$work/evil.pb"
shows $stack,THREAD report evil.pb --stacks
shows $stack report evil.pb --lines
shows TYPE report --sample-type "TYPE$evil"$'\nINJECTED' evil.pb
shows '' report --sample-type none evil.pb
shows $stack check --max-live 0 evil.pb
shows '' diff evil.pb evil.pb
for view in top tree 'peek .' traces tags sizes threads 'list .' 'disasm .' comments raw graph; do
    # shellcheck disable=SC2086 # a view and its pattern
    shows '' $view --json evil.pb
done
shows $stack report --json evil.pb
shows $stack report --json --stacks evil.pb
shows '' check --max-live 0 --format json evil.pb
outputs='flame.html flame.svg graph.dot weblist.html'
! command -v dot >/dev/null || outputs+=' graph.svg'
for output in $outputs; do
    view=${output%.*}
    pattern=
    [ "$view" != weblist ] || pattern=.
    rm -f "$output"
    shows '' "$view" $pattern evil.pb -o "$output"
    what="$view in $output"
    clean "$output" NAME
done
shows '' check --max-live 0 --format junit -o junit.xml evil.pb
what=junit.xml
clean junit.xml NAME
ok "every view of a profile whose every text holds control characters"

# jeprof's text: names of libraries and, in a symbolized profile, of functions.
printf '%s\n' heap_v2/524288 '  t*: 1: 4096 [1: 4096]' '@ 0x1100 0x1200' '  t*: 1: 4096 [1: 4096]' \
    '' MAPPED_LIBRARIES: >evil.heap
printf '00001000-00009000 r-xp 00000000 00:00 0 /LIBRARY%s\n' "$evil" >>evil.heap
shows LIBRARY top --addresses evil.heap
shows '' report evil.heap
printf -- '--- symbol\nbinary=/BINARY%s\n0x1100 NAME%s\n--- heap\n' "$evil" "$evil" >evil.sym
cat evil.heap >>evil.sym
shows NAME top evil.sym
printf 'NAME%s;INNER%s 7\n' "$evil" "$evil" >evil.folded
shows '' top evil.folded
ok "other formats"

# A process: its program, arguments, thread, session and the name of its state file.
mkfifo to
MALLOW_CONF="prof_sample:4096,prof_keep:true,prof_session:SESSION$evil" \
    LD_PRELOAD=$build/lib/libmallow.so \
    "$work/PROGRAM$evil" "ARGUMENT$evil" "THREAD$evil" >to &
started+=($!)
pid=$!
head -c1 to >/dev/null
shows "$pid" ls
shows PROGRAM ls --color=never
shows PROGRAM,SESSION ls --json
shows PROGRAM,ARGUMENT status "$pid"
shows PROGRAM,ARGUMENT,SESSION status --json "$pid"
shows SYMBOL,ARGUMENT report "$pid"
shows SYMBOL,THREAD report --stacks "$pid"
shows SYMBOL report --json "$pid"
shows THREAD threads "$pid"
shows '' timeline "$pid"
shows '' timeline --json "$pid"
shows '' timeline -o timeline.svg "$pid"
what=timeline.svg clean timeline.svg
shows '' timeline -o timeline.html "$pid"
what=timeline.html clean timeline.html
shows '' doctor "$pid"
if command -v tmux >/dev/null; then
    # What reaches the terminal: the screen that tmux keeps has lost such characters.
    mkfifo begin
    LC_ALL=C.UTF-8 terminal new-session -d -x 200 -y 40 \
        "read -r _ <begin; LC_ALL=C.UTF-8 $mallow top $pid"
    terminal pipe-pane 'cat >screen'
    echo >begin
    await 60 grep -aqs SYMBOL screen
    ! LC_ALL=C grep -naP "$order" screen || fail "the live view shows what reorders a line"
    terminal kill-server
fi
shows '' doctor --json "$pid"
shows '' dump "$pid"
shows '' set "dump_name=/tmp/DUMP$evil" "$pid"
cp "/dev/shm/mallow-$(id -u)/$pid".* "STATE$evil"
shows PROGRAM,STATE status "STATE$evil"
shows SYMBOL report "STATE$evil"
shows PROGRAM status --json "STATE$evil"
kill -9 "$pid"
wait "$pid" 2>/dev/null
shows PROGRAM ls --all
shows PROGRAM clean --dry-run
shows '' run -o ran.pb.gz -- "$work/missing$evil"
ok "every subcommand on a process whose every text holds control characters"

# jeprof and pprof ask for names of addresses.
printf '%s\n' "$address" |
    "$build/lib/mallow/compat/bin/jeprof" --symbols "$work/PROGRAM$evil" >out 2>err
what="names of addresses" clean out
what="names of addresses" clean err

# Messages name what they could not take.
shows '' report "missing$evil"
shows '' "subcommand$evil"
shows '' report "--option$evil" evil.pb
shows '' top --focus "($evil" evil.pb
shows '' top --nodecount "9$evil" evil.pb
shows '' "list" "NOTHING$evil" evil.pb
ok "messages"
