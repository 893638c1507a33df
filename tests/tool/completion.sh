#!/bin/bash
# SPDX-License-Identifier: MIT
# completion.sh BUILD_DIR -- what bash, zsh and fish offer behind `mallow`: each shell itself is
# asked, bash and zsh in a terminal that tmux draws.
source "$(dirname "$0")/lib.bash"
needs tmux zsh fish
export PATH=$build/bin:$PATH
mkdir dir && touch dir/one.pb.gz dir/two.pb.gz
for shell in bash zsh fish; do
    try 0 "$mallow" help --completion "$shell"
    cp out "completion.$shell"
done
# Every option is in every script: in bash's for its subcommand, as fish's -l, as a specification of
# zsh's.
# shellcheck disable=SC1091
source completion.bash
for subcommand in $("$mallow" help | awk '/^  [a-z]+ +[a-z]/ && $1 != "mallow" { print $1 }'); do
    "$mallow" help --all "$subcommand" | grep -Eo '^ {2,6}(-[a-z], )?--[a-z-]+' |
        grep -Eo -- '--[a-z-]+' | sort >wanted
    cat wanted >>all
    options='--help ' operands=''
    _mallow_table "$subcommand" ''
    [ "$(tr -d = <<<"$options" | tr " " "\n" | grep . | sort)" = "$(cat wanted)" ] ||
        fail "bash offers for $subcommand: $options"
    [ -n "$operands" ] || fail "bash does not know what $subcommand takes"
done
while read -r option; do
    grep -q -- "'[*]*$option=*\[" completion.zsh || fail "zsh does not know $option"
    grep -q -- " -l ${option#--} " completion.fish || fail "fish does not know $option"
done < <(sort -u all | grep -vx -- --help)
ok "all options are there"

# offers WORDS PATTERN: the shell in the terminal, asked for what follows WORDS, shows it.
offers() {
    terminal send-keys C-u C-l
    terminal send-keys -l "mallow $1"
    terminal send-keys Tab Tab
    await 60 is_offered "$2" "after 'mallow $1' in $shell"
}
# One pattern may go over several lines of the screen.
is_offered() {
    terminal capture-pane -p >out 2>/dev/null
    grep -Eq -- "$1" <<<"$(tr '\n' ' ' <out)"
}
check_offers() {
    offers 'repo' 'mallow report'
    offers 're' 'report.* reset|reset.* report'
    offers 'dump --form' '--format=?'
    offers 'dump --format=je' 'jemalloc'
    offers 'help --completion ' 'bash.* fish.* zsh'
    offers 'top --symbolize=deb' 'debuginfod'
    offers 'top --sample-type=peak_o' 'peak_objects'
    offers 'top dir/on' 'dir/one.pb.gz'
    offers 'dump -o dir/tw' 'dir/two.pb.gz'
    offers 'set 1 dump_li' 'dump_live='
}
# A process, by its pid and by its name; the title is in the list.
build_steps <<'END'
static void *volatile kept[2000];
int main(void) {
	for (int i = 0; i < 2000; i++)
		kept[i] = malloc(1000);
	wait_for_line();
	return kept[0] == NULL;
}
END
mv steps teapot
conf=prof:true
start_ready ./teapot
first=$pid
start_ready ./teapot
mv teapot teapot.program
check_processes() {
    offers 'status ' "$first.*$pid.*teapot|$pid.*$first.*teapot"
    offers "status $pid" "mallow status $pid *\$"
    offers 'status teap' 'status teapot'
    offers 'set teap' 'set teapot'
}
try 0 "$mallow" ls --brief
[ "$(cat out)" = "$first"$'\t'"teapot"$'\n'"$pid"$'\t'"teapot" ] || fail "ls --brief"
export LC_ALL=C.UTF-8
for shell in bash zsh; do
    case $shell in
    bash) terminal new-session -d -x 100 -y 30 "PS1='$ ' bash --noprofile --norc" ;;
    zsh) terminal new-session -d -x 100 -y 30 "PS1='$ ' zsh -f" ;;
    esac
    if [ "$shell" = zsh ]; then
        cp completion.zsh _mallow
        terminal send-keys -l \
            "bindkey -e; fpath=($work \$fpath); autoload -U compinit; compinit -u -D"
    else
        terminal send-keys -l ". ./completion.bash"
    fi
    terminal send-keys Enter
    check_offers
    check_processes
    terminal kill-server
    ok "$shell"
done

# asked WORDS PATTERN: fish prints what it would offer.
asked() {
    fish --no-config -c "source completion.fish; complete -C 'mallow $1'" >out 2>err
    grep -Eq -- "$2" out || fail "fish: 'mallow $1' offers no '$2'"
}
asked 'status ' "^${first}[[:space:]]teapot"
asked 'status te' "^teapot[[:space:]]process"
asked repo '^report'
asked 'dump --form' '^--format'
asked 'dump --format=je' 'jemalloc'
asked 'help --completion ' '^zsh'
asked 'top dir/on' '^dir/one.pb.gz'
asked 'dump -o dir/tw' '^dir/two.pb.gz'
asked 'set 1 dump_li' '^dump_live='
asked 'help tre' '^tree'
ok "fish"
