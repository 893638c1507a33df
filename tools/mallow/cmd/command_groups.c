/* SPDX-License-Identifier: MIT
 * command_groups.c -- the subcommands in the order of the help, and what `mallow help WORD` finds.
 */
#include "cmd/command_groups.h"

const mw_command_group_t mw_command_groups[MW_COMMAND_GROUPS] = {
	{"Profile a program, see where its memory is",
	 {"run", "attach", "detach", "ls", "report", "top", "status", "map", "advise", "doctor"}},
	{"Find what it has leaked", {"leaks"}},
	{"See where its CPU time goes", {"cpu"}},
	{"Look closer",
	 {"tree", "peek", "traces", "list", "disasm", "sizes", "threads", "lifetimes", "tags",
	  "shell"}},
	{"Draw", {"web", "flame", "graph", "timeline", "weblist"}},
	{"Compare", {"diff", "mark", "check"}},
	{"See all processes of a fleet",
	 {"push", "agent", "services", "search", "symbols", "store"}},
	{"Change a live process", {"start", "stop", "set", "reset", "trim"}},
	{"Write files for other tools",
	 {"dump", "serve", "proto", "topproto", "collapsed", "speedscope", "callgrind", "raw",
	  "comments"}},
	{"And", {"clean", "help"}},
};

/* Words that users have for what they look for, in English and Chinese. */
#define LEAK "leaks leaking lost unreachable 泄漏 泄露"
#define GROWTH "growth grows growing cache unbounded increase 增长 缓存"
#define RESIDENT "rss resident physical usage high memory 内存 常驻"
#define FRAGMENTATION "fragmentation fragmented holes free 碎片 空洞"
#define PEAK "peak spike maximum highest oom killed 峰值 最高"
#define SLOW "slow cpu time hot hotspot performance latency profile 慢 性能 热点"
#define WAITING "waits waiting blocked idle wall lock mutex contention 等待 锁 阻塞"
#define REGRESSION                                                                                 \
	"compare difference regression baseline before ci test build limit 比较 回归 基线"

const mw_help_topic_t mw_help_topics[] = {
	{LEAK, "mallow leaks PID", "blocks that no pointer leads to, by stack; status 1 if any"},
	{LEAK, "mallow run --leaks -- PROGRAM", "the same when the program exits"},
	{LEAK " " GROWTH, "mallow leaks --growth 60s PID",
	 "who holds what was allocated in the last minute: variables by name"},
	{LEAK " " GROWTH, "mallow diff --since 10m PID",
	 "what was allocated in the last ten minutes and is in use: caches that only grow"},
	{RESIDENT " " PEAK, "mallow PID", "what resident memory is used for, and who holds most"},
	{RESIDENT, "mallow status PID", "the parts of resident memory, and the heap's statistics"},
	{RESIDENT, "mallow report PID", "memory in use by function"},
	{RESIDENT " " FRAGMENTATION, "mallow trim PID",
	 "have the process give free memory back, and see how much"},
	{RESIDENT " " FRAGMENTATION, "mallow map PID", "where free memory stays resident"},
	{RESIDENT " " FRAGMENTATION, "mallow report --sample-type pinned_space PID",
	 "whose blocks keep free memory from going back to the system"},
	{PEAK, "mallow report --sample-type peak_space PID",
	 "memory by function when most was in use"},
	{PEAK " " GROWTH, "mallow timeline PID", "the heap over time"},
	{PEAK, "mallow set PID dump_live=2G", "the process writes a profile above 2 GiB"},
	{RESIDENT " " FRAGMENTATION " " GROWTH " churn temporary realloc reserve improve",
	 "mallow advise PID", "what would save memory or time, with numbers"},
	{SLOW, "mallow cpu PID", "CPU time by function, for 30 seconds"},
	{SLOW " malloc allocation", "mallow cpu --memory-cost PID",
	 "time in malloc and free by caller"},
	{SLOW " " WAITING, "mallow cpu --wall PID", "also what its threads wait for"},
	{WAITING, "mallow cpu --locks PID", "which locks threads wait for, and who holds them"},
	{SLOW " churn temporary", "mallow report --sample-type alloc_space PID",
	 "who allocates most, freed or not"},
	{REGRESSION, "mallow diff BEFORE AFTER", "what grew and shrank between two profiles"},
	{REGRESSION " " PEAK, "mallow check --max-peak 200M TARGET",
	 "status 1 if a profile exceeds a limit"},
	{"missing nothing doctor why symbols names 没有 为什么 符号", "mallow doctor PID",
	 "what prevents a profile, and what to do"},
	{"fleet push send pyroscope otlp opentelemetry clickhouse store hosts 推送 机器",
	 "mallow push PID --to URL", "profiles where others read them"},
	{"flamegraph picture page browser gui web 火焰图 页面 浏览器", "mallow web",
	 "processes and profiles on a live page"},
	{"flamegraph picture svg html 火焰图", "mallow flame PID -o out.html",
	 "a flame graph in one file"},
	{"attach running live process enable 进程 打开", "mallow start PID",
	 "switch sampling on in a process that runs with the library"},
	{NULL, NULL, NULL},
};
