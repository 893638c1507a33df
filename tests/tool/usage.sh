#!/bin/bash
# SPDX-License-Identifier: MIT
# usage.sh BUILD_DIR -- help, version, the man pages, and complaints about command lines.
source "$(dirname "$0")/lib.bash"
needs groff
man=$here/../../doc/man

try 2 "$mallow"
says err '^Usage: mallow'
try 0 "$mallow" --help
says out '^Usage: mallow'
try 0 "$mallow" --version
says out '^mallow [0-9]+\.[0-9]+\.[0-9]+$'
ok "usage and version"

subcommands=$("$mallow" help | awk '/^  [a-z]+ +[a-z]/ && $1 != "mallow" { print $1 }')
listed=$("$mallow" help --man | sed -n 's/^\.It Xr mallow-\([a-z]*\) 1$/\1/p')
[ "$subcommands" = "$listed" ] || fail "subcommands are: $subcommands; with a man page: $listed"
[[ $subcommands == run$'\n'*$'\n'doctor$'\n'*$'\n'help ]] || fail "subcommands are: $subcommands"
for subcommand in $subcommands; do
    try 0 "$mallow" "$subcommand" --help
    cp out common
    try 0 "$mallow" "$subcommand" --help --all
    cp out help
    says out "^Usage: mallow $subcommand"
    says out '^Examples:'
    awk 'length > 79 { print; bad = 1 } END { exit bad }' out ||
        fail "help of $subcommand: long lines"
    try 0 "$mallow" help "$subcommand"
    cmp -s out common || fail "help $subcommand differs from $subcommand --help"
    try 0 "$mallow" help --all "$subcommand"
    cmp -s out help || fail "help --all $subcommand differs from $subcommand --help --all"
    grep -qx ".It Xr mallow-$subcommand 1" "$build/man/mallow.1" ||
        fail "the man page does not know $subcommand"
    # What mandoc -Tlint warns of: paragraphs of nothing.
    awk 'last ~ /^\.(Pp|br|Sh .*)$/ && $0 ~ (last ~ /^\.Sh/ ? "^[.]Pp$" : "^[.](Bl|Sh)") {
            print FILENAME ": " last ", " $0; bad = 1 }
        { last = $0 } END { exit bad }' "$build/man/mallow-$subcommand.1" ||
            fail "the man page of $subcommand"
    # A page as man shows it, without line ends inside words.
    page=$build/man/mallow-$subcommand.1
    groff -mdoc -Tascii -P-cbou -rHY=0 "$page" >shown 2>groff-says || fail "groff failed on $page"
    [ -s groff-says ] && fail "groff warns of $page: $(cat groff-says)"
    mapfile -t options < <(grep -Eo '^ {2,6}(-[a-z], )?--[a-z-]+' help | grep -Eo -- '--[a-z-]+')
    [ "${#options[@]}" -ge 1 ] || fail "no options in the help of $subcommand"
    # As "  -o, --output FILE" in the page: without a process for each of some thousand options.
    sed -En 's/^ +(-[a-z], )?(--[a-z-]+)( .*)?$/\2/p' shown | sort -u >known
    printf '%s\n' "${options[@]}" | sort -u | comm -23 - known >unknown
    [ ! -s unknown ] || fail "$page does not know $(cat unknown)"
    # What the text speaks of and does not list is there.
    while read -r option; do
        # Refused at once: `reset --all` would be obeyed by every process of the machine.
        said=$("$mallow" "$subcommand" "$option" --no-such-option </dev/null 2>&1)
        [[ $said != *"unknown option '$option'"* ]] || fail "$subcommand does not know $option"
    done < <(sed '/^Examples:/,$d' help | tr -s ' \n' ' ' |
        sed -E "s/jeprof --raw//; s/'mallow $subcommand /'/g; s/'mallow [a-z]+ [^']*'//g" |
        grep -Eo -- '[ (]--[a-z][a-z_-]+' | tr -d ' (' | sort -u |
        comm -23 - <(printf '%s\n' "${options[@]}" | sort -u))
    # The table of options makes the list, and is what is obeyed: the first and the last of it.
    for option in "${options[0]}" "${options[-1]}"; do
        said=$("$mallow" "$subcommand" "$option" --no-such-option </dev/null 2>&1)
        [[ $said != *"unknown option '$option'"* ]] || fail "$subcommand does not know $option"
    done
    text=$(<shown)
    while read -r example; do
        [[ $text == *"  $example"* ]] || fail "$page lacks the example '$example'"
    done < <(sed -e '1,/^Examples:/d' -e 's/ *  # .*//' -e 's/^ *//' help)
    try 2 "$mallow" "$subcommand" --no-such-option
    one_line_error
    says err "unknown option '--no-such-option'; allowed: "
done
ok "help of each subcommand, and its man page"

# In Chinese where the locale is; completions and man pages stay English.
try 0 env LC_ALL=zh_CN.UTF-8 "$mallow" --help
says out '^用法：mallow'
says_not out 'Usage|TARGET|print '
try 0 "$mallow" help --lang=zh 泄漏
says out '^关于 泄漏：$'
says out '^  mallow leaks PID$'
try 0 env LC_ALL=zh_CN.UTF-8 "$mallow" help --lang=en
says out '^Usage: mallow'
env LC_ALL=zh_CN.UTF-8 "$mallow" help --completion fish >fish.zh
"$mallow" help --completion fish | cmp -s - fish.zh || fail "completions depend on the language"
ok "help in Chinese"

# The help of all is by task: each subcommand once.
"$mallow" help --completion bash | sed -n "s/.*local names='\([^']*\)'.*/\1/p" | tr ' ' '\n' |
    grep . | sort >known
sort <<<"$subcommands" | diff - known >difference ||
    fail "not each subcommand once in the help: $(cat difference)"
[ "$("$mallow" --help | grep -Ec '^[A-Z][a-z, ]+:$')" -ge 5 ] || fail "the help has no groups"
# A view has ten common options and three examples; the others are counted.
views=$(sed -nE 's/^MW_VIEW[A-Z_]*\(([a-z]+),.*/\1/p' \
    "$here/../../tools/mallow/cmd/profile/views.def")
[ "$(wc -w <<<"$views")" -gt 15 ] || fail "views are: $views"
for view in $views; do
    try 0 "$mallow" "$view" --help
    [ "$(wc -l <out)" -le 60 ] || fail "the help of $view is $(wc -l <out) lines"
    [ "$(grep -Ec '^ {2,6}(-[a-z], )?--[a-z-]+' out)" = 12 ] ||
        fail "$view --help does not have ten options, --help and --help --all"
    [ "$(sed '1,/^Examples:/d' out | grep -c .)" = 3 ] ||
        fail "$view --help does not have three examples"
    all=$("$mallow" "$view" --help --all | grep -Ec '^ {2,6}(-[a-z], )?--[a-z-]+')
    says out "^ +--help --all +also the other $((all - 11)) options\$"
done
try 0 "$mallow" top --all --help
says out --nodefraction
ok "help by task; ten options and three examples of each view"

# Choices are listed, where they are not in the text anyway.
for way in "status:--color WHEN:auto always never" "flame:--unit UNIT:auto minimum B kB" \
    "flame:--format ENDING:html svg"; do
    IFS=: read -r subcommand option choices <<<"$way"
    "$mallow" "$subcommand" --help --all | tr -s ' \n' ' ' >out
    says out "$option [^-]*.*$choices"
done
ok "choices are listed"

# Options for all subcommands; the command line wins.
printf 'main;a 3\nmain;b 2\nmain;c 1\n' >three.folded
rows() { grep -Ec '^ +[0-9]+ ' out; }
try 0 "$mallow" top three.folded
[ "$(rows)" = 4 ] || fail "not four functions"
try 0 env MALLOW_OPTIONS='--top=2 --wait=1' "$mallow" top three.folded
[ "$(rows)" = 2 ] || fail "MALLOW_OPTIONS does nothing"
try 0 env MALLOW_OPTIONS='--top=2' "$mallow" top --top 3 three.folded
[ "$(rows)" = 3 ] || fail "the command line does not win over MALLOW_OPTIONS"
for words in --nonsense top=2 'top'; do
    try 2 env MALLOW_OPTIONS="$words" "$mallow" top three.folded
    one_line_error
    says err "^mallow: unknown option '$words' in MALLOW_OPTIONS; allowed: --NAME"
done
ok "MALLOW_OPTIONS"

library_man=$man/mallow.7
while read -r option; do
    grep -q "^\.It Li $option: " "$library_man" || fail "mallow.7 does not know the option $option"
done < <(sed -nE 's/^MW_(OPTION|OPTION_LOG2|SETTING)\(([a-z_]+),.*/\2/p' \
    "$here/../../src/config/options.def" "$here"/../../src/state/*.def | grep -v '^name$')
ok "each option of the library is in its man page"

for page in "$build"/man/{mallow,jeprof,pprof}.1 "$man"/mallow.[37]; do
    try 0 groff -mdoc -Tutf8 -ww "$page"
    [ -s err ] && fail "groff warns of $page"
done
ok "the man pages are well-formed"

header=$here/../../include/mallow/mallow.h
for name in $(grep -Eo '\bmallow_[a-z_]+\(' "$header" | tr -d '(' | sort -u); do
    grep -q "^\.F[nt]* $name\b" "$man/mallow.3" || fail "mallow(3) does not know $name"
    grep -q "^	$name;" "$here/../../src/api/exports.map" || fail "$name is not exported"
done
ok "every function of the header is in its man page"

try 2 "$mallow" nonsense
one_line_error
says err "unknown subcommand 'nonsense'; allowed: run, ls, .*, help, --help, --version"
for word in --versoin:--version version:--version --hlep:--help; do
    try 2 "$mallow" "${word%:*}"
    one_line_error
    says err "'${word%:*}'; did you mean '${word#*:}'"
done
for word in tpo:top repotr:report stat:status timelin:timeline flmae:flame; do
    try 2 "$mallow" "${word%:*}"
    one_line_error
    says err "unknown subcommand '${word%:*}'; did you mean '${word#*:}'"
done
try 2 "$mallow" top --inuse_spaec x
says err "unknown option '--inuse_spaec'; did you mean '--inuse-space'"
try 2 "$mallow" set 1 dump_lvie=1
says err "unknown setting 'dump_lvie=1'; did you mean 'dump_live'"
try 2 "$mallow" --nonsense
says err "unknown option '--nonsense'"
try 2 "$mallow" status
one_line_error
try 2 "$mallow" dump 1 --format xml
one_line_error
says err 'proto\|jemalloc\|symbolized\|gperftools'
try 2 "$mallow" set 1 rate=0
one_line_error
try 2 "$mallow" set 1 speed=2
says err "unknown setting 'speed=2'; allowed: rate, dump_name, "
try 2 "$mallow" set 1 dump_live=x
one_line_error
says err 'dump_live does not take .x.; allowed: '
try 2 "$mallow" start -o x 1
one_line_error
try 2 "$mallow" set rate=5
try 2 "$mallow" set 1 2
try 2 "$mallow" run --rate 1K --exact true
one_line_error
try 2 "$mallow" run
one_line_error
try 2 "$mallow" run -o "$work/no/such/folder/file" true
one_line_error
try 2 "$mallow" help nonsense
one_line_error
ok "complaints"

# What does not go together is refused before anything is read: the target is not there.
refuses() {
    local why=$1
    shift
    try 2 "$mallow" "$@" no-such-file.pb.gz
    one_line_error
    says err "$why"
}
for view in callgrind collapsed proto topproto; do
    refuses "$view has no JSON form" "$view" --json
done
refuses "'xml'; allowed: html" top --format xml
refuses "list cannot be written as a graph" list keep -o x.svg
refuses "unit does not take 'parsec'" top --unit parsec
refuses "focus: '[(]' is not a regular expression" top --focus '('
refuses "focus: '[(]' is not a regular expression" report --focus '('
refuses "peek: '[(]' is not a regular expression" peek '('
refuses "base and a diff cannot be combined" top --base x --diff-base y
ok "refused before the target is opened"

# How a profile is read goes with every table: only the missing target is complained of.
for option in "--memory 1G" "--tls-ca x" "--timeout 5" "--sysroot /"; do
    # shellcheck disable=SC2086 # two words
    try 2 "$mallow" report --stacks $option no-such-file.pb.gz
    one_line_error
    says err "no-such-file"
done
ok "options of reading go with --stacks"

try 2 bash -c "'$mallow' help >/dev/full"
one_line_error
ok "a full standard output"

# A word that is no subcommand finds what is about it.
for way in 'leak:mallow leaks PID' 'leaking:mallow diff --since' 'rss:mallow status PID' \
    'RSS:mallow map PID' 'slow:mallow cpu PID' 'peak:peak_space' 'lock:--wall' \
    'speedscope.app:^  speedscope ' 'kcachegrind:^  callgrind '; do
    try 0 "$mallow" help "${way%%:*}"
    says out "${way#*:}"
    says_not out '^  help '
    awk 'length > 79 { print; bad = 1 } END { exit bad }' out || fail "help ${way%%:*}: long lines"
done
# Each command line that is found is one.
for word in leak growth rss fragmentation peak slow wait compare doctor page attach; do
    try 0 "$mallow" help "$word"
    grep -Eo '^  mallow [a-z]+( --[a-z-]+)*' out >commands || fail "nothing about $word"
    while read -r _ subcommand options; do
        [ "$subcommand" = PID ] && continue
        try 0 "$mallow" help --all "$subcommand"
        for option in ${options:---help}; do
            says out " $option( |\$)"
        done
    done <commands
done
try 2 "$mallow" help xyzzy
one_line_error
says err "no subcommand is called 'xyzzy', and no help has the word"
try 2 "$mallow" help --man leak
one_line_error
try 0 "$mallow" --help
says out '^top, web and cpu show a program at work'
says out 'a word with a slash:'
try 0 "$mallow" report --help
says out "'mallow top' is live"
try 0 "$mallow" top --help
says out "'mallow report' does that"
ok "help by words"
