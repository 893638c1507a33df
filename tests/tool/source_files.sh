#!/bin/bash
# SPDX-License-Identifier: MIT
# source_files.sh BUILD_DIR -- which files list and weblist show when debug information names them:
# a hostile program's may name any.
source "$(dirname "$0")/lib.bash"
mkdir open made
chmod 755 . open

# program NAME FILE: ./NAME, whose one function is said to be in lines 1 to 3 of FILE.
program() {
    cat >"made/$1.c" <<END
#include <stdlib.h>
int main(void) {
	int left = 0;
	for (int i = 0; i < 50; i++)
# 1 "$2"
		left += malloc(100000) != NULL;
	return left == 0;
}
END
    cc -g -O0 -o "$1" "made/$1.c" || fail "$1.c does not compile"
    try 0 "$mallow" run --exact -o "$1.pb.gz" -- "./$1"
}

# shown NAME [OPTION...], hidden NAME [OPTION...]: the text of the file that ./NAME names is in what
# list, its JSON and weblist say.
views() {
    local name=$1
    shift
    try 0 "$mallow" list "$@" --alloc_space '^main$' "$name.pb.gz"
    cp out "$name.list"
    try 0 "$mallow" list "$@" --alloc_space --json '^main$' "$name.pb.gz"
    cp out "$name.json"
    try 0 "$mallow" weblist "$@" --alloc_space -o "$name.html" '^main$' "$name.pb.gz"
}
shown() {
    views "$@"
    for form in list json html; do grep -q SECRET "$1.$form" ||
        fail "$* does not show the source ($form)"; done
}
hidden() {
    views "$@"
    for form in list json html; do ! grep -q SECRET "$1.$form" ||
        fail "$* shows the file ($form)"; done
    grep -q 'see --source-path' "$1.list" || fail "list does not say what to do"
}

echo SECRET >open/public.c
echo SECRET >open/private.c
chmod 644 open/public.c
chmod 600 open/private.c
program public "$work/open/public.c"
program private "$work/open/private.c"
shown public
if [ "$(id -u)" = 0 ]; then
    # Root may read all, so owning a file does not make it a source.
    hidden private
    grep -q 'not public' private.list || fail "list does not say why"
    echo SECRET >open/other.c
    chmod 644 open/other.c
    chown 65534 open/other.c
    program other "$work/open/other.c"
    hidden other
    shown other --source-path="$work/open"
    # A user asks for files of root's and of his own, public or not.
    chown -R 65534 public.pb.gz private.pb.gz other.pb.gz
    chmod 777 .
    mkdir asker
    chown 65534 asker
    needs setpriv
    share_build
    for name in public other; do
        XDG_CACHE_HOME=$work/asker setpriv --reuid=65534 --clear-groups \
            "$mallow" list --alloc_space '^main$' "$name.pb.gz" >out 2>err ||
                fail "list $name as another user"
        says out SECRET
    done
else
    shown private
fi
ok "files are shown that are public and the asker's or root's"

shown private --source-path="$work/open"
shown private --source-path="/nonexistent:$work"
# Dots and links do not lead out of a folder that was given.
mkdir given
if [ "$(id -u)" = 0 ]; then
    hidden private --source-path="$work/given"
    program dots "../open/private.c"
    hidden dots --source-path="$work/given"
    shown dots --source-path="$work/given:$work/open"
    ln -s ../open/private.c given/link.c
    program link "$work/elsewhere/link.c"
    hidden link --source-path="$work/given"
    shown link --source-path="$work/given:$work/open"
fi
# Folders whose names begin with that of one that was given.
program neighbour "$work/given2/private.c"
mkdir given2
cp open/private.c given2/
chmod 600 given2/private.c
[ "$(id -u)" != 0 ] || hidden neighbour --source-path="$work/given"
ok "folders that were given hold all that is below them, and no more"

program none /nonexistent/file.c
hidden none
grep -q 'no source; see' none.list || fail "list does not say that there is no source"
mkfifo pipe.c
program pipe "$work/pipe.c" # nobody writes to it
hidden pipe
ok "what is missing, or is no regular file"
