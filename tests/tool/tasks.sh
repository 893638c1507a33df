#!/bin/bash
# SPDX-License-Identifier: MIT
# tasks.sh BUILD_DIR [--record] -- replays the transcripts of doc/user/tasks.md: the ten tasks of a
# new user, each in at most three commands that the help leads to.  --record writes what the
# commands print into the page.
source "$(dirname "$0")/lib.bash"
needs python3
page=$here/../../doc/user/tasks.md
record=${2:-}
export PATH=$build/bin:$PATH LC_ALL=C.UTF-8
unset MALLOW_CONF

# task NUMBER PID: replays a transcript of the page.
task() {
    python3 "$here/tasks.py" "$page" "$1" "$2" ${record:+--record} >out 2>&1 || fail "task $1"
    ok "$(sed -n "s/^## \($1\. .*\)/\1/p" "$page")"
}
# between COMMAND...: what happens while the transcript says that time passes.
between() {
    printf '#!/bin/bash\n%s\n' "$*" >between
    chmod +x between
}
# serve COUNT: the server serves so many requests.
serve() {
    echo "$1" >&"$to"
    read -r -t 60 _ <&"$from"
}

cp "$here/server.c" .
cc -g -O1 -fno-inline -fno-builtin -pthread -o server server.c || fail "server.c does not compile"
conf=prof_seed:1,prof_cost_limit:0
start_ready ./server
server=$pid
for _ in $(seq 20); do
    serve 250
    sleep 0.1
done
task 7 "$server"
serve 15000
between "echo 20000 >server.to; read -r -t 60 _ <server.from"
task 1 "$server"
task 5 "$server"
task 6 "$server"

# Dumps of three days.
mkdir dumps
for day in mon tue wed; do
    "$mallow" dump -o "dumps/$day.pb.gz" "$server" 2>err || fail "dump"
    serve 40000
    sleep 0.2
done
task 4 "$server"
kill -9 "$server"
wait "$server" 2>/dev/null
task 10 "$server"

# Two builds of one test: the second forgets to free.
cat >test.c <<'END'
#include <stdlib.h>
#include <string.h>
static char *load(int size) { return memset(malloc(size), 1, size); }
int main(void) {
	for (int i = 0; i < 1000; i++) {
		char *text = load(20000);
#ifndef LEAK
		free(text);
#else
		text[0] = 0;
#endif
	}
	return load(100000) == NULL;
}
END
cc -g -O0 -fno-builtin -o test-old test.c || fail "test.c does not compile"
cc -g -O0 -fno-builtin -DLEAK -o test-new test.c || fail "test.c with -DLEAK does not compile"
task 8 none

cat >big.cc <<'END'
#include <map>
#include <regex>
#include <string>
int count(const std::string &text) {
    std::map<std::string, int> words;
    std::regex word("\\w+");
    for (std::sregex_iterator i(text.begin(), text.end(), word), end; i != end; ++i)
        words[i->str()]++;
    return static_cast<int>(words.size());
}
END
if command -v g++ >/dev/null; then task 3 none; else leave_out \
    "g++ is not installed: task 3 was not replayed"; fi

if ! command -v redis-server >/dev/null; then
    leave_out "redis-server is not installed: tasks 2 and 9 were not replayed"
    exit 0
fi
MALLOW_CONF=prof_seed:1,prof_cost_limit:0,background_thread:true \
    LD_PRELOAD=$build/lib/libmallow.so \
    redis-server --port 0 --unixsocket "$work/r.sock" --save '' >redis.log 2>&1 &
pid=$!
started+=("$pid")
await 60 redis-cli -s r.sock ping >/dev/null 2>&1
redis-benchmark -s r.sock -q -n 200000 -r 200000 -d 400 -P 16 -t set >/dev/null 2>&1 ||
    fail "redis-benchmark"
redis-cli -s r.sock flushall >/dev/null
task 2 "$pid"
redis-benchmark -s r.sock -q -n 100000000 -r 200000 -d 400 -P 16 -t set,lpush >/dev/null 2>&1 &
started+=("$!")
task 9 "$pid"
