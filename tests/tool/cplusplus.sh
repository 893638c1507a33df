#!/bin/bash
# SPDX-License-Identifier: MIT
# cplusplus.sh BUILD_DIR -- what C++ programs allocate counts for their own functions, not for those
# of the standard library that these call.
# shellcheck source=tests/tool/lib.bash
source "$(dirname "$0")/lib.bash"

cat >weather.cc <<'END'
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>
#include <unistd.h>
#define APART __attribute__((noinline))
namespace weather {
struct Station { std::string place; std::vector<double> values; };
std::unordered_map<std::string, Station> stations;
std::map<int, std::shared_ptr<Station>> by_number;
std::vector<std::function<void()>> later;
std::vector<std::string> lines;
const char forecast[] = "sunny until the afternoon,then rain from the west of the country";
APART void open_stations(int count) {
	for (int i = 0; i < count; i++)
		stations["a station's long name " + std::to_string(i)].values.resize(9); // the line
}
APART void number_stations(int count) {
	for (int i = 0; i < count; i++)
		by_number[i] = std::make_shared<Station>();
}
APART std::vector<std::string> words_of(const std::string &line) {
	std::istringstream in(line);
	std::vector<std::string> words;
	for (std::string word; std::getline(in, word, ',');)
		words.push_back(word);
	return words;
}
APART void order(std::vector<std::string> &of) {
	std::sort(of.begin(), of.end(), [](const std::string &a, const std::string &b) {
		std::string longer = a + ", which is compared";
		return longer < b;
	});
}
APART void plan() {
	later.push_back([] { lines.emplace_back(3000, 'x'); });
}
} // namespace weather
namespace {
APART void report(int count) {
	for (int i = 0; i < count; i++)
		weather::lines.push_back("longer than the small buffer of a string");
}
} // namespace
int main(int argc, char **argv) {
	weather::open_stations(4000);
	weather::number_stations(4000);
	report(3000);
	for (int i = 0; i < 300; i++) {
		weather::words_of(weather::forecast);
		weather::plan();
	}
	std::vector<std::string> copy = weather::lines;
	weather::order(copy);
	for (auto &task : weather::later)
		task();
	std::thread([] {
		std::vector<std::string>(2000, std::string(100, 'y')).swap(weather::lines);
	}).join();
	while (argc > 1 && !access(argv[1], F_OK))
		weather::words_of(weather::forecast);
	return 0;
}
END

# rows OPTION...: the names of the functions that hold something themselves, a line each.
rows() {
    try 0 "$mallow" report --all --alloc_space "$@"
    sed -nE 's/^ *[0-9.]+ ([KMGT]i)?B .*[0-9]%  //p' out
}

# no_library FILE: none of the names is of a library, unless a lambda of the program is inlined into
# its function.
no_library() {
    if grep -E '^(std::|__gnu_cxx::|__|_IO_|operator|_M_)' "$1" | grep -v 'lambda\|[$]_'; then
        fail "$name: a function of a library stands for the program's own"
    fi
}

own=(weather::open_stations weather::number_stations weather::words_of main)
for way in "g++ -O2 -g" "g++ -O0 -g" "g++ -O2" "clang++ -O2 -g"; do
    command -v "${way%% *}" >/dev/null || {
        leave_out "${way%% *} is not installed"
        continue
    }
    name=$way
    # shellcheck disable=SC2086 # the options are words
    $way -pthread weather.cc -o weather || fail "$way does not compile"
    try 0 "$mallow" run --exact -o w.pb.gz -- ./weather
    # The innermost function of each stack that the summary shows is the program's.
    sed -n '/by stack:$/,/more stacks/p' err | grep '%' | sed 's/.*%  //' >stacks
    [ "$(wc -l <stacks)" = 3 ] || fail "$name: the summary does not show three stacks"
    no_library stacks
    # So are its callers.
    sed -n '/by stack:$/,/more stacks/p' err | sed -n 's/^ *< //p' | sed 's/ < /\n/g' >callers
    [ -s callers ] || fail "$name: the summary shows no callers"
    no_library callers
    ! grep -E '^(start_thread|clone|_start|execute_native)' callers ||
        fail "$name: the summary shows who called main or a thread"
    rows w.pb.gz >names
    no_library names
    for function in "${own[@]}"; do
        grep -q "^$function\\b" names || fail "$name: $function is not named: $(cat names)"
    done
    grep -q 'lambda\|[$]_\|_M_invoke' names || fail "$name: no lambda is named: $(cat names)"
    # Nothing is lost: with the libraries' functions the sum is the same.
    total=$(awk '/^Total:/ { print $2, $3, $5 }' out)
    rows --wrappers w.pb.gz >names
    grep -q '^std::' names || fail "$name: --wrappers shows no function of a library"
    [ "$(awk '/^Total:/ { print $2, $3, $5 }' out)" = "$total" ] || fail "$name: another total"
done
ok "functions of the program are named, those of libraries are not"

# Lambdas and functions in anonymous namespaces have the names of what encloses them.
name="g++ -O2 -g"
g++ -O2 -g -pthread weather.cc -o weather || fail "$name does not compile"
try 0 "$mallow" run --exact -o w.pb.gz -- ./weather
rows w.pb.gz >names
grep -q '^weather::order::{lambda}::operator()  weather.cc:37' names ||
    fail "the comparison is not named: $(cat names)"
grep -q '^(anonymous namespace)::report' names || fail "report is not named: $(cat names)"
ok "names of functions that only their own file can call"

# A line that calls a container holds what the container allocates; a chosen function of the library
# holds what it allocates itself.
try 0 "$mallow" list --alloc_space open_stations w.pb.gz
grep -qE '^ +[0-9.]+ [KM]iB .*// the line' out || fail "the line holds nothing itself"
try 0 "$mallow" list --alloc_space --json '_Scoped_node|_M_allocate_node' w.pb.gz
grep -q '"flat": [1-9]' out || fail "functions of the library hold nothing in a listing of them"
# A flame graph shows them below the program's functions.
try 0 "$mallow" flame --alloc_space -o w.html w.pb.gz
grep -q 'std::' w.html || fail "the flame graph lacks functions of the library"
ok "listings and flame graphs"

# Names of functions are shortened in a file, too; JSON has them whole.
try 0 "$mallow" report --all --alloc_space --wrappers w.pb.gz
grep -q '  std::__introsort_loop<…>  ' out || fail "a long name is not shortened"
says_not out 'char_traits<char>, std::allocator<char> > > >, '
try 0 "$mallow" top --alloc_space --trim=false --wrappers w.pb.gz
grep -q '  std::__introsort_loop<…>' out || fail "top does not shorten a long name"
for view in "report --all" "top --trim=false"; do
    # shellcheck disable=SC2086 # options are words
    try 0 "$mallow" $view --alloc_space --wrappers --names=full w.pb.gz
    grep -q 'std::__introsort_loop<__gnu_cxx::' out || fail "$view --names=full shortens"
done
try 0 "$mallow" top --alloc_space --trim=false --wrappers --json w.pb.gz
grep -q 'std::__introsort_loop.u003c__gnu_cxx::' out || fail "JSON has short names"
ok "--names"

# The stacks of leaks begin with the program's function; the file has them whole.
cat >leaky.cc <<'END'
#include <string>
#include <vector>
namespace leaky {
std::vector<std::string> *volatile lost;
__attribute__((noinline)) void forget() {
	lost = new std::vector<std::string>(300, "a text that is longer than the small buffer");
	lost = nullptr;
}
} // namespace leaky
int main() {
	for (int i = 0; i < 100; i++)
		leaky::forget();
	char volatile wipe[10000] = {};
	return wipe[1];
}
END
g++ -O1 -g leaky.cc -o leaky || fail "leaky.cc does not compile"
try 1 "$mallow" run --exact --leaks -o leaks.pb.gz -- ./leaky
awk '/^#[0-9]/ { inside = 1 } inside && /^      / { print $1; inside = 0 }' err >first
grep -q '^leaky::forget' first || fail "no stack of a leak begins with forget: $(cat first)"
no_library first
try 0 "$mallow" traces leaks.pb.gz
says out 'operator new|std::'
ok "stacks of leaks"

# What malloc and free cost counts for the functions that split texts.
touch go
LD_PRELOAD=$build/lib/libmallow.so ./weather go &
pid=$!
started+=("$pid")
await 60 is_known "$pid"
# At this rate the program has 40 samples if it gets a fiftieth of a processor.
try 0 "$mallow" cpu --wait 60 --memory-cost --cpu-rate 1000 --for 2s "$pid"
awk '/ caller$/ { on = 1; next } on { print $NF }' out >callers
grep -q '^weather::words_of' callers || fail "words_of costs nothing: $(cat callers)"
no_library callers
rm go
ok "the cost of memory"

# What grows hangs on blocks of the program's function, not on blocks of std::vector. The vector's
# block is older than the first look unless it moves in that second, which it does once in minutes.
# The program grows slowly and does not end: however late a look comes, the heap is small.
cat >grows.cc <<'END'
#include <string>
#include <unistd.h>
#include <vector>
std::vector<std::string> seen;
__attribute__((noinline)) void remember(int number) {
	seen.push_back("a text that is longer than the small buffer, and a number " +
		       std::to_string(number));
	__asm__ volatile("" : : : "memory");
}
int main() {
	for (int number = 0;; number++) {
		remember(number);
		if (number > 100000)
			usleep(1000);
	}
}
END
g++ -O1 -g grows.cc -o grows || fail "grows.cc does not compile"
MALLOW_CONF=prof_sample:1 LD_PRELOAD=$build/lib/libmallow.so ./grows &
pid=$!
started+=("$pid")
await 60 is_known "$pid"
# The vector may have moved, or the program may have had no processor, between the two looks.
grows() {
    local status=0
    "$mallow" leaks --growth 1 "$@" "$pid" >out 2>err || status=$?
    echo "$SECONDS s: status $status: $(sed -n 1p out)" >>tries
    [ "$status" = 0 ] && grep -q '^    through ' out
}
# What was seen in vain, for who reads the log.
# shellcheck disable=SC2016 # expanded at the end
at_end '[ "$status" = 0 ] || cat "$work/tries"'
await 60 grows
says out 'held by the variable seen.* in grows$'
says out '^    through .* on blocks of remember$'
await 60 grows --wrappers
says out '^    through .* on blocks of (operator new|std::vector|__gnu_cxx|std::__new)'
kill -9 "$pid"
ok "growth"
