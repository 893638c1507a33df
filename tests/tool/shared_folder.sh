#!/bin/bash
# SPDX-License-Identifier: MIT
# shared_folder.sh BUILD_DIR -- another user's links in a folder that all may write to lead no file
# of the command's anywhere: neither names that it makes up nor those that are given.  Root.
source "$(dirname "$0")/lib.bash"
if [ "$(id -u)" != 0 ] || ! command -v setpriv >/dev/null; then
    skip "it takes root and setpriv to have more than a user"
fi
chmod 755 "$work"
mkdir -m 700 own
mkdir -m 1777 shared
chmod 1777 shared
echo precious >own/file
as_user() { setpriv --reuid=65534 --regid=65534 --clear-groups "$@"; }
untouched() {
    [ "$(cat "$work/own/file")" = precious ] || fail "$1: the file is written through the link"
}

build_steps <<'END'
int main(void) {
	void *volatile block = malloc(100000);
	wait_for_line();
	free(block);
	return 0;
}
END
conf=prof_sample:1,prof_state_min:0 start_ready ./steps
cd shared || exit 1

# The names of the next minutes: the command makes one up of program, pid and time.
"$mallow" dump "$pid" >/dev/null 2>../err || fail "dump"
made=$(ls mallow.*)
rm -f "$made"
now=$(date +%s)
stamp=$(grep -oE '[0-9]{8}[-T.]?[0-9]{6}' <<<"$made" | tail -n 1)
[ -n "$stamp" ] || fail "the name $made has no time"
case $stamp in
*-*) format=%Y%m%d-%H%M%S ;;
*T*) format=%Y%m%dT%H%M%S ;;
*.*) format=%Y%m%d.%H%M%S ;;
*) format=%Y%m%d%H%M%S ;;
esac
for ((i = 0; i < 60; i++)); do
    as_user ln -s "$work/own/file" "${made/$stamp/$(date -d "@$((now + i))" "+$format")}"
done
"$mallow" dump "$pid" >../out 2>../err && fail "a link of another user's was followed"
grep -q "it is another user's link or pipe" ../err || fail "no clear line"
[ "$(wc -l <../err)" = 1 ] || fail "not one line"
untouched "a name that the command made up"
ok "a planted name"

as_user ln -s "$work/own/file" given.pb.gz
"$mallow" dump --output given.pb.gz "$pid" >../out 2>../err && fail "--output: followed"
untouched "--output"
as_user mkfifo pipe.pb.gz
as_user cat pipe.pb.gz >../stolen &
started+=($!)
"$mallow" dump --output pipe.pb.gz "$pid" >../out 2>../err && fail "--output: another user's pipe"
[ ! -s ../stolen ] || fail "another user reads the profile"
# Links of the asker's own stay links.
ln -s "$work/own/through.pb.gz" mine.pb.gz
: >"$work/own/through.pb.gz"
"$mallow" dump --output mine.pb.gz "$pid" >../out 2>../err || fail "a link of the asker's"
if [ ! -L mine.pb.gz ] || [ ! -s "$work/own/through.pb.gz" ]; then
    fail "the asker's link is not followed"
fi
"$mallow" dump --output /dev/stdout "$pid" >../whole 2>../err || fail "/dev/stdout"
[ "$(od -An -tx1 -N 2 ../whole)" = " 1f 8b" ] || fail "/dev/stdout has no profile"
ok "links and pipes that are given"
