/* SPDX-License-Identifier: MIT
 * subcommands.c -- the table of subcommands, options and their help. */
#include <limits.h>

#include "cli/help/help.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cmd/compat/compat.h"
#include "cmd/compat/shell.h"
#include "cmd/doctor/doctor.h"
#include "cmd/input/load.h"
#include "cmd/input/selected_processes.h"
#include "cmd/process/process_commands.h"
#include "cmd/profile/profile_commands.h"
#include "cmd/profile/view_options.h"
#include "cmd/report/report_commands.h"
#include "cmd/run/run_command.h"

#define JSON_OPTION                                                                                \
	{ "json", 0, MW_OPTION_FLAG, NULL, NULL, "print JSON, with exact bytes" }
#define WAIT_OPTION                                                                                \
	{                                                                                          \
		"wait", 0, MW_OPTION_SECONDS, "SECONDS", NULL,                                     \
			"how long to wait for the process to notice (default 2)"                   \
	}
#define STRICT_OPTION                                                                              \
	{                                                                                          \
		"strict", 0, MW_OPTION_FLAG, NULL, NULL,                                           \
			"wait until every thread follows, and say so (status 1 if not)"            \
	}
#define TERMINAL_OPTIONS MW_COLOR_OPTION, MW_NO_PAGER_OPTION
#define SELECT_OPTIONS MW_SELECT_ALL, MW_SELECT_NAME, MW_SELECT_CGROUP
#define END_OF_OPTIONS                                                                             \
	{ NULL, 0, MW_OPTION_FLAG, NULL, NULL, NULL }

#define REQUEST_DETAILS_BUT(strict)                                                                \
	"The process looks for requests while it allocates, so an idle or stopped process does "   \
	"not see one. After the waiting time the command ends, with status 0" strict               \
	"; the request stays and takes effect once the process allocates. With "                   \
	"background_thread:true an idle process follows at once."
#define REQUEST_DETAILS REQUEST_DETAILS_BUT("")
#define STRICT_REQUEST_DETAILS                                                                     \
	REQUEST_DETAILS_BUT(", but with --strict: 1 when some threads have not allocated by then")

/* One line for each setting in the details of `set`. */
#define MW_SETTING(name, kind, standard, min, max, unit, help) #name "\t" help "\n"

/* The option follows the shared ones, which keep one index in all views and in jeprof and pprof. */
#define TOP_OPTION                                                                                 \
	{                                                                                          \
		"top", 0, MW_OPTION_COUNT, "N", NULL,                                              \
			"at most N rows, functions or stacks (report: 40, tree and graph: 80)"     \
	}
static const mw_option_t table_options[] = {TOP_OPTION, END_OF_OPTIONS};
static const mw_option_t live_options[] = {
	TOP_OPTION,
	{"all", 0, MW_OPTION_FLAG, NULL, NULL, "on a terminal: a live view of all processes"},
	END_OF_OPTIONS,
};

static const mw_subcommand_t subcommands[] = {
	{
		.name = "run",
		.operands = "[--] PROGRAM [ARGUMENT]...",
		.summary = "run a program with mallow and profile its heap",
		.details = "Runs PROGRAM with libmallow.so preloaded and sampling on from the "
			   "first allocation. When it ends, also by a signal, a summary goes to "
			   "standard error and a profile is written: "
			   "mallow.<program>.<pid>.<time>.pb.gz in the current directory unless "
			   "--output says otherwise. Processes it started get profiles of their "
			   "own when they allocated at least a twentieth of what the largest did: "
			   "at most 16, the largest first; all that have samples when --output "
			   "names a directory. Those that are still running are named and left "
			   "alone.\n\nThe library is looked for beside the command, in ../lib. An "
			   "LD_PRELOAD and a MALLOW_CONF that are set already are kept; what "
			   "mallow adds to the latter wins. SIGINT, SIGTERM, SIGHUP, SIGQUIT, "
			   "SIGUSR1 and SIGUSR2 are sent on to the program.\n\nThe exit status is "
			   "the program's; a "
			   "program that died by a signal is passed on as that (128+N in the "
			   "shell). 126: PROGRAM could not be executed; 127: it was not found; "
			   "2: mallow itself could not start it.",
		.examples =
			"mallow run ./server --port 80        # one sample in 512 KiB on average\n"
			"mallow run --exact ./test            # every allocation\n"
			"mallow run --rate 64K -o out/ make   # finer; all profiles into out/\n"
			"mallow run --as jemalloc redis-server",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.ends_at_operand = true,
		.run = mw_cmd_run,
		.options =
			{
				{"rate", 0, MW_OPTION_BYTES, "BYTES", NULL,
				 "mean bytes allocated between two samples (default 512K)"},
				{"exact", 0, MW_OPTION_FLAG, NULL, NULL,
				 "sample every allocation; the same as --rate 1"},
				{"as", 0, MW_OPTION_CHOICE, "ALLOCATOR",
				 "jemalloc|gperftools|mimalloc",
				 "for a program linked with that allocator: mallow's library of "
				 "its "
				 "name by LD_LIBRARY_PATH, nothing preloaded"},
				{"output", 'o', MW_OPTION_TEXT, "FILE|DIR", NULL,
				 "where to write the profile; .heap is jemalloc's format, .pb not "
				 "compressed; a directory, made when its name ends in a slash, "
				 "gets "
				 "those of all processes"},
				END_OF_OPTIONS,
			},
	},
	{
		.name = "ls",
		.operands = "",
		.summary = "list the processes that run mallow",
		.details =
			"Lists your processes that run mallow (root: everybody's), and those "
			"whose state file is still there: their profiles can still be read. "
			"RATE is off where sampling is.\n\n"
			"States: running; stopped (by SIGSTOP or a debugger); elsewhere (in a pid "
			"namespace that cannot be seen from here; PID is the number there); exited "
			"(and asked to keep the file); _exit (called that function); killed (by a "
			"signal, or ended by a system call of its own, as Go's programs do). "
			"PROGRAM is the title of a process that sets one, as PostgreSQL's do.",
		.examples = "mallow ls\n"
			    "mallow ls --json | jq '.[].pid'",
		.operands_max = 0,
		.run = mw_cmd_ls,
		.options =
			{
				JSON_OPTION,
				{"all", 0, MW_OPTION_FLAG, NULL, NULL,
				 "all that have ended, not only the latest 8; JSON holds them "
				 "anyway"},
				MW_SELECT_NAME,
				MW_SELECT_CGROUP,
				TERMINAL_OPTIONS,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "status",
		.operands = "TARGET...",
		.summary = "show what is known of one process without its stacks",
		.details =
			"Shows whether sampling is on and since when, the rate, estimates of "
			"live and allocated bytes (what is live is told with how far off it is in "
			"95 of 100 cases), "
			"what the resident memory of a live process is used for, the heap's "
			"statistics, and whatever cut the profile short. "
			"A live process is asked to walk its heap; one that has no background "
			"thread and does not allocate does not answer, and the age of its last "
			"walk "
			"is shown. Stacks are those of threads that allocate.",
		.examples = "mallow status 4711\n"
			    "mallow status --json 4711\n"
			    "mallow status --name '^redis'",
		.operands_max = UINT_MAX,
		.run = mw_cmd_status,
		.options = {JSON_OPTION, SELECT_OPTIONS, TERMINAL_OPTIONS, END_OF_OPTIONS},
	},
	{
		.name = "start",
		.operands = "TARGET...",
		.summary = "switch sampling on in a live process",
		.details =
			"Says what it found; a process that samples already is left "
			"alone. " STRICT_REQUEST_DETAILS "\n\nWith --for it waits so long, writes "
			"a profile of what was allocated meanwhile (alloc_space) and what of "
			"that is still live (inuse_space), and leaves the process as it was "
			"found. ^C ends the session early.",
		.examples = "mallow start 4711\n"
			    "mallow start --strict --name '^worker'\n"
			    "mallow start --for 60s -o out.pb.gz 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_start,
		.options =
			{
				WAIT_OPTION,
				STRICT_OPTION,
				{"for", 0, MW_OPTION_SECONDS, "TIME", NULL,
				 "a session: profile what is allocated in so long, such as 60s"},
				{"output", 'o', MW_OPTION_TEXT, "FILE|DIR", NULL,
				 "where to write the session's profile"},
				SELECT_OPTIONS,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "stop",
		.operands = "TARGET...",
		.summary = "switch sampling off in a live process",
		.details = "What was sampled so far stays in the profile, and frees of it are "
			   "still followed. " STRICT_REQUEST_DETAILS,
		.examples = "mallow stop 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_stop,
		.options = {WAIT_OPTION, STRICT_OPTION, SELECT_OPTIONS, END_OF_OPTIONS},
	},
	{
		.name = "set",
		.operands = "TARGET... SETTING=VALUE...",
		.summary = "change the rate and the triggers of dumps in a live process",
		.details = "rate is the mean number of bytes allocated between two samples; 1 "
			   "samples every allocation; K, M and G are powers of 1024. Samples "
			   "keep the weight of the rate they were taken at. The other settings say "
			   "when the process "
			   "writes a dump of its own, and how many it keeps; each is an option "
			   "of the library, too:\n\n"
			   "dump_name\tname of dumps: %p pid, %h host, %e program, %n number, %t "
			   "time, %r reason, %u bytes in use, %P prof_prefix\n"
#include "state/settings.def"
			   "\n" REQUEST_DETAILS,
		.examples = "mallow set 4711 rate=64K\n"
			    "mallow set 4711 rate=1      # exact\n"
			    "mallow set --all dump_live=2G dump_name=/var/tmp/%e.%p.%t.pb",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_set,
		.options = {WAIT_OPTION, SELECT_OPTIONS, END_OF_OPTIONS},
	},
	{
		.name = "reset",
		.operands = "TARGET...",
		.summary = "set the counters of a live process to zero",
		.details = "Afterwards the profile holds only what is allocated from then "
			   "on. " REQUEST_DETAILS,
		.examples = "mallow reset 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_reset,
		.options = {WAIT_OPTION, SELECT_OPTIONS, END_OF_OPTIONS},
	},
	{
		.name = "dump",
		.operands = "TARGET...",
		.summary = "write a profile for pprof or jeprof",
		.details = "Writes a profile for other tools. The process is neither stopped nor "
			   "disturbed. Without --format the "
			   "name says what to write: .heap is jemalloc's format, everything "
			   "else profile.proto, with gzip unless the name ends in .pb. Without "
			   "--output the name is mallow.<program>.<pid>.<time>.pb.gz; '-' is "
			   "standard output.",
		.examples =
			"mallow dump 4711 -o now.pb.gz && go tool pprof -top now.pb.gz\n"
			"mallow dump 4711 -o now.heap      # for jeprof\n"
			"mallow dump --bundle 4711 -o bundle.pb.gz   # needs no binary anywhere\n"
			"mallow dump --every 10m --count 6 -o /var/tmp 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_dump,
		.options =
			{
				{"output", 'o', MW_OPTION_TEXT, "FILE|DIR", NULL,
				 "the file to write, or the directory"},
				{"format", 0, MW_OPTION_CHOICE, "FORMAT",
				 "proto|jemalloc|symbolized|gperftools",
				 "proto (profile.proto), jemalloc (heap_v2), symbolized (the same "
				 "with names, as of jeprof --raw) or gperftools (heap profile:)"},
				{"no-symbols", 0, MW_OPTION_FLAG, NULL, NULL,
				 "addresses, mappings and build-ids only"},
				MW_SYMBOL_OPTIONS,
				MW_FETCH_OPTIONS,
				{"bundle", 0, MW_OPTION_FLAG, NULL, NULL,
				 "for other machines: names, files, lines and --labels inside, so "
				 "that "
				 "nobody needs the binaries; says what has no name"},
				{"labels", 0, MW_OPTION_FLAG, NULL, NULL,
				 "split what is in use by thread (labels thread, thread_id), "
				 "size (bytes) and age, what was allocated by size, what was freed "
				 "by lifetime; sums stay the same"},
				{"every", 0, MW_OPTION_SECONDS, "TIME", NULL,
				 "again and again, until the process has ended"},
				{"count", 0, MW_OPTION_COUNT, "N", NULL, "with --every, N times"},
				{"in-process", 0, MW_OPTION_FLAG, NULL, NULL,
				 "the process writes it, where its dump_name says"},
				SELECT_OPTIONS,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "mark",
		.operands = "TARGET...",
		.summary = "remember a process as it is now, to compare with later",
		.details =
			"Keeps the profile of a process, which goes on undisturbed. Later, "
			"'mallow diff --since NAME' shows what grew and what shrank since the "
			"mark, "
			"'mallow top --alive-at NAME' (and every other view) what was live then, "
			"and "
			"'mallow timeline' where the mark is. The latest 16 marks of a process are "
			"kept, for a week, in $XDG_CACHE_HOME/mallow/marks.",
		.examples = "mallow mark 4711\n"
			    "mallow mark --label before-load 4711\n"
			    "mallow diff --since before-load 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_mark,
		.options =
			{
				{"label", 0, MW_OPTION_TEXT, "NAME", NULL,
				 "a name to find the mark by, instead of its time"},
				SELECT_OPTIONS,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "clean",
		.operands = "",
		.summary = "remove the state files of processes that have ended",
		.details = "Files of killed processes stay for a day, the latest 64, and up to "
			   "256 MiB, unless the options stale_* of the library say otherwise; "
			   "this removes them at once.",
		.examples = "mallow clean --dry-run\n"
			    "mallow clean --older 2h --keep 8",
		.operands_max = 0,
		.run = mw_cmd_clean,
		.options =
			{
				{"older", 0, MW_OPTION_SECONDS, "TIME", NULL,
				 "only those last written so long ago, such as 2h"},
				{"keep", 0, MW_OPTION_COUNT, "N", NULL, "not the latest N"},
				{"dry-run", 0, MW_OPTION_FLAG, NULL, NULL,
				 "only say what would be removed"},
				MW_SELECT_NAME,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "report",
		.operands = "TARGET...",
		.summary = "print where the memory is, by function or line",
		.details =
			"Flat is what a function allocated itself, cum what it and its callees "
			"did.\n\nSample types:\n"
			"inuse_space\tbytes in use\n"
			"inuse_objects\tobjects in use\n"
			"inuse_requested\tbytes in use, as asked for\n"
			"alloc_space\tbytes allocated, freed ones included\n"
			"alloc_objects\tlikewise objects\n"
			"alloc_requested\tlikewise bytes as asked for\n"
			"peak_space\tbytes when most were in use\n"
			"peak_objects\tobjects at that time\n"
			"freed_objects\tobjects that were freed\n"
			"freed_elsewhere\tthose freed by another thread\n"
			"temporary_objects\tthose freed before their thread allocated again\n"
			"lifetime\tof all freed objects together\n"
			"pinned_space\tfree bytes in pages that blocks in use keep from going back "
			"to the system",
		.examples = "mallow report 4711\n"
			    "mallow report --stacks --top 3 4711   # sizes, threads, lifetimes\n"
			    "mallow report --lines --sample-type alloc_space "
			    "mallow.server.4711.*.pb.gz",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_report,
		.options =
			{
				TOP_OPTION,
				{"all", 0, MW_OPTION_FLAG, NULL, NULL, "all rows"},
				{"interval", 0, MW_OPTION_FLAG, NULL, NULL,
				 "between what values each estimate lies in 95 of 100 cases"},
				{"stacks", 0, MW_OPTION_FLAG, NULL, NULL,
				 "instead of the table, all that is known of each stack: bytes in "
				 "use and asked for, at the peak and allocated so far, sizes, "
				 "threads, lifetimes; 10 stacks by default"},
				END_OF_OPTIONS,
			},
		.shared = mw_view_options,
		.common = mw_view_common_options,
	},
#define VIEW_ROW(instead_, stands_, more_, name_, operands_, min, max, print, is_whole,            \
		 needs_labels, type, summary_, details_, examples_)                                \
	{                                                                                          \
		.name = #name_,                                                                    \
		.operands = operands_,                                                             \
		.summary = summary_,                                                               \
		.details = details_,                                                               \
		.examples = examples_,                                                             \
		.operands_min = min,                                                               \
		.operands_max = max,                                                               \
		.run = mw_cmd_view,                                                                \
		.stands_for_operand = stands_,                                                     \
		.instead = instead_,                                                               \
		.options = {END_OF_OPTIONS},                                                       \
		.common = mw_view_common_options,                                                  \
		.more = more_,                                                                     \
		.shared = mw_view_options,                                                         \
	},
#define MW_VIEW(...) VIEW_ROW(NULL, NULL, table_options, __VA_ARGS__)
#define MW_VIEW_DIFF(...) VIEW_ROW(NULL, "since", table_options, __VA_ARGS__)
#define MW_VIEW_LIVE(...) VIEW_ROW("all", NULL, live_options, __VA_ARGS__)
#include "cmd/profile/views.def"
#undef MW_VIEW_LIVE
#undef MW_VIEW_DIFF
#undef MW_VIEW
#undef VIEW_ROW
	{
		.name = "timeline",
		.operands = "TARGET...",
		.summary = "draw the heap over time",
		.details = "Of one process or state file, what it noted of itself, ten times a "
			   "second, over long runs less often: live bytes, and resident memory as "
			   "a line.\n\n"
			   "Of dumps and directories of them, what each holds, at its own time or, "
			   "where its format has none, its file's; --focus and other options then "
			   "choose "
			   "stacks. What is no profile in a directory is left out.",
		.examples = "mallow timeline 4711\n"
			    "mallow timeline 4711 -o heap.html\n"
			    "mallow timeline --focus=parse dumps/",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_timeline,
		.options =
			{
				{"sample-type", 0, MW_OPTION_TEXT, "TYPE", NULL,
				 "inuse_space (default), alloc_space; of dumps any they have"},
				{"output", 'o', MW_OPTION_TEXT, "FILE", NULL,
				 "write a file, as its name asks: .html, .svg, .json; else text"},
				{"json", 0, MW_OPTION_FLAG, NULL, NULL,
				 "print JSON, with exact values"},
				MW_SYMBOL_OPTIONS,
				MW_FETCH_OPTIONS,
				END_OF_OPTIONS,
			},
		.more = mw_selection_options,
		.common = mw_selection_common_options,
	},
	{
		.name = "check",
		.operands = "TARGET...",
		.summary = "compare a profile with limits",
		.details = "For builds and tests: the exit status is 0 when the profile keeps all "
			   "limits, "
			   "1 when it does not, 2 when it could not be looked at. The stacks that "
			   "hold "
			   "most are printed for each limit that is exceeded.\n\n"
			   "BYTES are 0, 512K, 200M. "
			   "A file of suppressions is one of LeakSanitizer's: lines such as "
			   "leak:parse_* "
			   "name functions, source files or modules whose stacks are left out, by "
			   "a part of the name, with * for anything, ^ and $ for its ends.\n\n"
			   "A limit fails when the value is above it in 95 of 100 cases, by the "
			   "samples there are; profiles of 'mallow run --exact' leave no doubt. "
			   "What glibc, libstdc++ and CPython keep until the process ends "
			   "(buffers of stdio, locales, the interpreter) counts at the peak only.",
		.examples = "mallow check --max-peak 200M --max-live 0 test.pb.gz\n"
			    "mallow check --max-growth 5% --baseline base.pb.gz --format junit "
			    "now.pb.gz",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_check,
		.options =
			{
				{"max-peak", 0, MW_OPTION_TEXT, "BYTES", NULL,
				 "at most so many bytes at the peak"},
				{"max-live", 0, MW_OPTION_TEXT, "BYTES", NULL,
				 "at most so many bytes in use"},
				{"max-growth", 0, MW_OPTION_TEXT, "BYTES", NULL,
				 "at most so many bytes more in use than in the baseline, or a "
				 "share of it such as 5%"},
				{"baseline", 0, MW_OPTION_LIST, "TARGET", NULL,
				 "the profile to compare with; several are summed"},
				{"suppress", 0, MW_OPTION_LIST, "FILE", NULL,
				 "leave out the stacks that a suppression file of LeakSanitizer "
				 "names"},
				{"no-default-suppressions", 0, MW_OPTION_FLAG, NULL, NULL,
				 "count also what glibc, libstdc++ and CPython keep until the "
				 "process ends"},
				{"top", 0, MW_OPTION_COUNT, "N", NULL,
				 "at most N stacks for each limit (default 10)"},
				{"format", 0, MW_OPTION_CHOICE, "FORMAT", "text|json|junit",
				 "text (default), json or junit"},
				{"output", 'o', MW_OPTION_TEXT, "FILE", NULL,
				 "write a file instead of standard output"},
				MW_SYMBOL_OPTIONS,
				MW_FETCH_OPTIONS,
				TERMINAL_OPTIONS,
				END_OF_OPTIONS,
			},
		.more = mw_selection_options,
		.common = mw_selection_common_options,
	},
	{
		.name = "doctor",
		.operands = "[PID | PROGRAM]",
		.summary = "say what would go wrong with profiles, and what to do",
		.details =
			"Looks at the library, which it starts a process with, at what that says "
			"of "
			"the options in MALLOC_CONF and MALLOW_CONF, at the room for state files, "
			"permissions and kernel settings. Of a live process also: does it run "
			"mallow, and why not; its own options; limits; what cut its profile short; "
			"which files' functions have no names, and which package has them. Of a "
			"program: can the library be preloaded?\n\nThe exit status is 1 when there "
			"is a finding.",
		.examples = "mallow doctor\n"
			    "mallow doctor 4711\n"
			    "mallow doctor /usr/bin/ping   # set-uid or static?",
		.operands_max = 1,
		.run = mw_cmd_doctor,
		.options = {JSON_OPTION, MW_SYMBOL_OPTIONS, TERMINAL_OPTIONS, END_OF_OPTIONS},
	},
	{
		.name = "shell",
		.operands = "TARGET...",
		.summary = "ask for views of a profile one after the other",
		.details =
			"The profile is read once. Commands are pprof's: top10, list RE, "
			"focus=RE, alloc_space, and so on; help lists them. Without a terminal "
			"they are read from standard input and nothing is asked; the exit status "
			"is that of the worst.",
		.examples = "mallow shell 4711\n"
			    "echo 'top5 -cum' | mallow shell now.pb.gz",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_shell,
		.options = {END_OF_OPTIONS},
		.more = table_options,
		.shared = mw_view_options,
		.common = mw_view_common_options,
	},
	{
		.name = "help",
		.operands = "[SUBCOMMAND]",
		.summary = "show how to use mallow, or one of its subcommands",
		.details = "Scripts of completions and man pages are written from the same table "
			   "as what --help shows; make install puts them where shells and man(1) "
			   "look. jeprof and pprof are known here, too.",
		.examples = "mallow help run\n"
			    "mallow help --completion bash > /etc/bash_completion.d/mallow\n"
			    "mallow help --man run | man -l -",
		.operands_max = 1,
		.run = mw_cmd_help,
		.options =
			{
				{"completion", 0, MW_OPTION_CHOICE, "SHELL", "bash|zsh|fish",
				 "a completion script for bash, zsh or fish"},
				{"man", 0, MW_OPTION_FLAG, NULL, NULL,
				 "the subcommand's man page in mdoc(7), or the list of them all"},
				{"all", 0, MW_OPTION_FLAG, NULL, NULL,
				 "every option of the subcommand, not only the common ones"},
				TERMINAL_OPTIONS,
				END_OF_OPTIONS,
			},
	},
};

static const mw_command_group_t groups[] = {
	{"Profile a program, see where its memory is",
	 {"run", "ls", "report", "top", "status", "doctor"}},
	{"Look closer",
	 {"tree", "peek", "traces", "list", "disasm", "sizes", "threads", "lifetimes", "tags",
	  "shell"}},
	{"Draw", {"flame", "graph", "timeline", "weblist"}},
	{"Compare", {"diff", "mark", "check"}},
	{"Change a live process", {"start", "stop", "set", "reset"}},
	{"Write files for other tools",
	 {"dump", "proto", "topproto", "collapsed", "speedscope", "callgrind", "raw", "comments"}},
	{"And", {"clean", "help"}},
};

#undef MW_SETTING

const mw_command_table_t mw_command_table = {
	.subcommands = subcommands,
	.subcommand_count = sizeof(subcommands) / sizeof(subcommands[0]),
	.groups = groups,
	.group_count = sizeof(groups) / sizeof(groups[0]),
	.programs = mw_compat_programs,
	.program_count = MW_COMPAT_PROGRAMS,
};
