/* SPDX-License-Identifier: MIT
 * subcommands.c -- the table of subcommands, options and their help. */
#include <limits.h>

#include "cli/help/help.h"
#include "cli/options.h"
#include "cmd/advise/advise_command.h"
#include "cmd/agent/agent_command.h"
#include "cmd/command_groups.h"
#include "cmd/compat/compat.h"
#include "cmd/compat/shell.h"
#include "cmd/cpu/cpu_command.h"
#include "cmd/doctor/doctor.h"
#include "cmd/input/load.h"
#include "cmd/leaks/leaks_command.h"
#include "cmd/memory/memory_commands.h"
#include "cmd/outside/attach_outside.h"
#include "cmd/process/dump_pattern.h"
#include "cmd/process/process_commands.h"
#include "cmd/profile/profile_commands.h"
#include "cmd/profile/view_options.h"
#include "cmd/push/push_command.h"
#include "cmd/report/report_commands.h"
#include "cmd/run/run_command.h"
#include "cmd/shared_options.h"
#include "cmd/store/store_commands.h"
#include "cmd/web/web_command.h"

/* One line for each setting in the details of `set`. */
#define MW_SETTING(name, kind, standard, min, max, unit, help) #name "\t" help "\n"

static const mw_option_t table_options[] = {TOP_OPTION, NAME_OPTION, END_OF_OPTIONS};
static const mw_option_t live_options[] = {
	TOP_OPTION,
	NAME_OPTION,
	{"all", 0, MW_BOUND(FLAG, all), NULL, NULL, "on a terminal: a live view of all processes"},
	END_OF_OPTIONS,
};

static const mw_subcommand_t subcommands[] = {
	{
		.name = "run",
		.operands = "[--] PROGRAM [ARGUMENT]...",
		.summary = "run a program with mallow and profile its heap or its CPU time",
		.details = "Runs PROGRAM with libmallow.so preloaded and sampling on from the "
			   "first allocation. When PROGRAM ends, by itself or by a signal, mallow "
			   "prints a summary on standard error and writes a profile: "
			   "mallow.<program>.<pid>.<time>.pb.gz in the current directory, unless "
			   "--output names another place. A child process gets a profile of its "
			   "own if it allocated at least a twentieth of what the largest process "
			   "allocated; at most 16 child processes do, the largest first. With a "
			   "directory as --output every process that has samples gets one. mallow "
			   "names the processes that still run, and leaves them alone. With --cpu "
			   "all this holds for CPU "
			   "time.\n\nThe "
			   "library is in ../lib, relative to the directory of the command. mallow "
			   "keeps an LD_PRELOAD and a MALLOW_CONF that are set already; options "
			   "that it adds to MALLOW_CONF take precedence. It passes SIGINT, "
			   "SIGTERM, SIGHUP, SIGQUIT, SIGUSR1 and SIGUSR2 on to PROGRAM.\n\nThe "
			   "exit status is that of PROGRAM. If a signal ended PROGRAM, the same "
			   "signal ends mallow (128+N in the shell). 126: PROGRAM could not be "
			   "executed; 127: PROGRAM was not found; 2: mallow could not start it. "
			   "With --leaks it is 1 when something leaked.",
		.examples =
			"mallow run ./server --port 80        # one sample in 512 KiB on average\n"
			"mallow run --exact ./test            # every allocation\n"
			"mallow run --rate 64K -o out/ make   # finer; all profiles into out/\n"
			"mallow run --leaks ./test            # stacks of leaks, and status 1\n"
			"mallow run --scripts node app.js     # with JavaScript's functions\n"
			"mallow run --as jemalloc redis-server",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.ends_at_operand = true,
		.run = mw_cmd_run,
		.options =
			{
				{"rate", 0, MW_BOUND(BYTES, rate), "BYTES", NULL,
				 "mean bytes allocated between two samples (default 512K)"},
				{"exact", 0, MW_BOUND(FLAG, exact), NULL, NULL,
				 "sample every allocation; the same as --rate 1"},
				{"as", 0, MW_BOUND(CHOICE, as), "ALLOCATOR",
				 "jemalloc|gperftools|mimalloc|lsan",
				 "for a program linked with ALLOCATOR: set LD_LIBRARY_PATH so that "
				 "the program loads mallow's library of the same name; preload "
				 "nothing"},
				{"leaks", 0, MW_BOUND(FLAG, leaks), NULL, NULL,
				 "find what leaked when a process of the run exits, instead of a "
				 "profile; exact unless --rate is given; exit with status 1 if "
				 "anything leaked"},
				SUPPRESS_OPTION,
				{"cpu", 0, MW_BOUND(FLAG, cpu), NULL, NULL,
				 "profile CPU time instead of memory"},
				{"cpu-rate", 0, MW_BOUND(COUNT, cpu_rate), "HZ", NULL,
				 "the same, with so many samples per second of CPU time (100)"},
				WALL_OPTION("the same "),
				EVENT_OPTION("the same "),
				{"scripts", 0, MW_BOUND(FLAG, scripts), NULL, NULL,
				 "set what gives functions of scripts their names: NODE_OPTIONS "
				 "for node, JAVA_TOOL_OPTIONS for java; Python's have names "
				 "without"},
				{"objects", 0, MW_BOUND(FLAG, objects), NULL, NULL,
				 "let an interpreter's small objects come from malloc: "
				 "PYTHONMALLOC=malloc, USE_ZEND_ALLOC=0 for php"},
				{"quiet", 0, MW_BOUND(FLAG, quiet), NULL, NULL,
				 "print no line about what --scripts and --objects set"},
				{"output", 'o', MW_BOUND(TEXT, output), "FILE|DIR", NULL,
				 "where to write the profile; .heap means jemalloc's format, .pb "
				 "means not compressed; a directory gets the profiles of all "
				 "processes, and is created if its name ends in a slash"},
				END_OF_OPTIONS,
			},
	},
#include "cmd/live_rows.def"

#include "cmd/attach_rows.def"
	{
		.name = "dump",
		.operands = "[TARGET]...",
		.summary = "write a profile for pprof or jeprof",
		.details = "Writes a profile for other tools. The process keeps running and does "
			   "not notice. Without --format the file's name chooses the format: .heap "
			   "means jemalloc's, any other name means profile.proto, compressed with "
			   "gzip unless the name ends in .pb. Without --output the name is "
			   "mallow.<program>.<pid>.<time>.pb.gz; '-' is standard output.",
		.examples =
			"mallow dump 4711 -o now.pb.gz && go tool pprof -top now.pb.gz\n"
			"mallow dump 4711 -o now.heap      # for jeprof\n"
			"mallow dump --bundle 4711 -o bundle.pb.gz   # needs no binary anywhere\n"
			"mallow dump --every 10m --count 6 -o /var/tmp 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_dump,
		.has_default_target = true,
		.options =
			{
				{"output", 'o', MW_BOUND(TEXT, output), "FILE|DIR", NULL,
				 "the file to write, or the directory, or a "
				 "pattern: " MW_DUMP_PATTERN_HELP},
				{"format", 0, MW_BOUND(CHOICE, format), "FORMAT",
				 "proto|jemalloc|symbolized|gperftools|growth",
				 "proto (profile.proto), jemalloc (heap_v2), symbolized (heap_v2 "
				 "with names, as jeprof --raw writes it), gperftools (heap "
				 "profile:, or the binary format for time) or growth (the highest "
				 "use of the heap, as gperftools' growth profile)"},
				{"cpu", 0, MW_BOUND(FLAG, cpu), NULL, NULL,
				 "the samples of time instead of the heap"},
				{"no-symbols", 0, MW_BOUND(FLAG, no_symbols), NULL, NULL,
				 "store only addresses, mappings and build-ids, no names"},
				MW_SYMBOL_OPTIONS,
				MW_FETCH_OPTIONS,
				{"bundle", 0, MW_BOUND(FLAG, bundle), NULL, NULL,
				 "for other machines: store names, files, lines and --labels, so "
				 "that the profile can be read without the binaries; print how "
				 "many addresses have no name"},
				{"labels", 0, MW_BOUND(FLAG, labels), NULL, NULL,
				 "split memory in use by thread (labels thread, thread_id), size "
				 "(bytes) and age, allocated memory by size, and freed memory by "
				 "lifetime; sums stay the same"},
				{"every", 0, MW_BOUND(SECONDS, every), "TIME", NULL,
				 "write a dump each TIME until the process has ended"},
				{"count", 0, MW_BOUND(COUNT, count), "N", NULL,
				 "with --every: stop after N dumps"},
				{"in-process", 0, MW_BOUND(FLAG, in_process), NULL, NULL,
				 "the process writes the dump, to the path that its dump_name "
				 "says"},
				SELECT_OPTIONS,
				END_OF_OPTIONS,
			},
	},
#include "cmd/agent_rows.def"
#include "cmd/push_rows.def"

	{
		.name = "serve",
		.operands = "[TARGET]",
		.summary = "serve profiles by HTTP, under the URLs of gperftools and Go",
		.details =
			"Prints the address and answers until ^C: /pprof/heap, /growth, /symbol, "
			"/cmdline and /profile?seconds=N in gperftools' formats, and the same and "
			"others below /debug/pprof/ in Go's. A request for CPU time samples the "
			"process for that long. The server has no password: on another address "
			"than loopback, all who reach it can read profiles.",
		.examples = "mallow serve 4711\n"
			    "mallow serve --listen localhost:6060 4711 &\n"
			    "go tool pprof http://localhost:6060/debug/pprof/profile?seconds=9",
		.operands_min = 1,
		.operands_max = 1,
		.run = mw_cmd_serve,
		.has_default_target = true,
		.name_adds_targets = true,
		.options = {NAME_OPTION,
			    {"listen", 0, MW_BOUND(TEXT, listen), "HOST:PORT", NULL,
			     "where to listen (127.0.0.1:0; port 0 means a free one)"},
			    END_OF_OPTIONS},
	},
	{
		.name = "web",
		.operands = "[TARGET]...",
		.summary = "show processes and profiles on a live page in a browser",
		.details =
			"Prints the address of the page, opens a browser if there is a desktop, "
			"and answers until ^C. Targets are processes, profiles and directories of "
			"profiles; without one the page lists all processes of the user; a single "
			"one is "
			"shown at once. The page "
			"has the heap over time, the flame graph, and the tables of the other "
			"subcommands. The address has a secret, which the browser keeps in a "
			"cookie: "
			"other users of the machine see nothing. The server listens on loopback; "
			"on other addresses only with "
			"a password and TLS, or behind a proxy that has both. The page only reads "
			"unless --control is given.",
		.examples =
			"mallow web\n"
			"mallow web 4711\n"
			"mallow web dumps/ evening.pb.gz --no-browser\n"
			"mallow web --store dir:///var/lib/mallow/store   # services of many "
			"hosts\n"
			"mallow web --listen 0.0.0.0:8443 --tls-cert web.pem --password-file pw\n"
			"mallow web --listen 127.0.0.1:8080 --base-url https://host/mallow",
		.operands_max = UINT_MAX,
		.run = mw_cmd_web,
		.options =
			{{"listen", 0, MW_BOUND(TEXT, listen), "HOST:PORT", NULL,
			  "where to listen (127.0.0.1:0; port 0 means a free one)"},
			 {"password-file", 0, MW_BOUND(TEXT, password_file), "FILE", NULL,
			  "ask for the password in the file's first line, by HTTP's basic "
			  "authentication, with any user name; only you may open the file"},
			 {"tls-cert", 0, MW_BOUND(TEXT, tls_cert), "FILE", NULL,
			  "serve https:// with this certificate and those that it needs (PEM)"},
			 {"tls-key", 0, MW_BOUND(TEXT, tls_key), "FILE", NULL,
			  "its key, in a file that only you may open (default: in the same file)"},
			 {"base-url", 0, MW_BOUND(TEXT, base_url), "URL", NULL,
			  "address of a proxy before the server; it hands on what follows its "
			  "path, asks for a password and has TLS"},
			 {"store", 0, MW_BOUND(TEXT, store), "STORE", NULL,
			  "the services of a store instead of processes ('mallow services')"},
			 {"no-browser", 0, MW_BOUND(FLAG, no_browser), NULL, NULL,
			  "print the address only"},
			 {"control", 0, MW_BOUND(FLAG, control), NULL, NULL,
			  "let the page start, stop and reset sampling, set its rate and marks, "
			  "write dumps and find leaks"},
			 END_OF_OPTIONS},
	},
	{
		.name = "mark",
		.operands = "[TARGET]...",
		.summary = "store the profile of a process, to compare with later",
		.details = "Stores the present profile of a process, which keeps running. Later, "
			   "'mallow diff --since NAME' shows what grew and what shrank since the "
			   "mark; 'mallow top --alive-at NAME' shows what was live at the mark, as "
			   "every other view does with this option; 'mallow timeline' draws the "
			   "mark. mallow keeps the latest 16 marks of a process, for a week, in "
			   "$XDG_CACHE_HOME/mallow/marks.",
		.examples = "mallow mark 4711\n"
			    "mallow mark --label before-load 4711\n"
			    "mallow diff --since before-load 4711",
		.operands_max = UINT_MAX,
		.run = mw_cmd_mark,
		.has_default_target = true,
		.options =
			{
				{"label", 0, MW_BOUND(LIST, label), "NAME", NULL,
				 "a name for the mark, to use in place of its time"},
				SELECT_OPTIONS,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "clean",
		.operands = "",
		.summary = "remove the state files of processes that have ended",
		.details = "State files of killed processes stay for a day, at most 64 files and "
			   "256 MiB, unless the library's options stale_* say otherwise. This "
			   "command removes them at once.",
		.examples = "mallow clean --dry-run\n"
			    "mallow clean --older 2h --keep 8",
		.operands_max = 0,
		.run = mw_cmd_clean,
		.options =
			{
				{"older", 0, MW_BOUND(SECONDS, older), "TIME", NULL,
				 "only files that were last written at least this long ago, such "
				 "as 2h"},
				{"keep", 0, MW_BOUND(COUNT, keep), "N", NULL,
				 "keep the latest N files"},
				{"dry-run", 0, MW_BOUND(FLAG, dry_run), NULL, NULL,
				 "print what would be removed, and remove nothing"},
				MW_SELECT_NAME,
				END_OF_OPTIONS,
			},
	},
	{
		.name = "report",
		.operands = "[TARGET]...",
		.summary = "print once where the memory is, by function or line",
		.details =
			"For a look, for files and for processes that were killed: a header says "
			"what the numbers cover. 'mallow top' is live on a terminal, and elsewhere "
			"prints the same functions in pprof's columns.\n\nFlat is what a function "
			"allocated itself, cum is what it and its "
			"callees allocated.\n\nSample types:\ninuse_space\tbytes in "
			"use\ninuse_objects\tobjects in use\ninuse_requested\tbytes in use, as "
			"the program requested them\nalloc_space\tbytes allocated, including "
			"freed ones\nalloc_objects\tobjects allocated, including freed "
			"ones\nalloc_requested\tbytes allocated, as the program requested "
			"them\npeak_space\tbytes in use when most bytes were in "
			"use\npeak_objects\tobjects in use at that time\nfreed_objects\tfreed "
			"objects\nfreed_elsewhere\tobjects freed by another thread than the one "
			"that allocated them\ntemporary_objects\tobjects freed before their "
			"thread allocated again\nlifetime\ttotal lifetime of all freed "
			"objects\npinned_space\tfree bytes in pages that cannot go back to the "
			"system because other blocks in them are in use"
			"\ninuse_mapped\tbytes that the program mapped itself "
			"(prof_mappings)\ninuse_mappings\tranges that it mapped itself"
			"\nalloc_mapped\tbytes mapped, including unmapped "
			"ones\nalloc_mappings\tranges mapped, including unmapped ones",
		.examples = "mallow report 4711\n"
			    "mallow report --stacks --top 3 4711   # sizes, threads, lifetimes\n"
			    "mallow report --lines --sample-type alloc_space "
			    "mallow.server.4711.*.pb.gz",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_report,
		.has_default_target = true,
		.name_adds_targets = true,
		.options =
			{
				NAME_OPTION,
				TOP_OPTION,
				{"all", 0, MW_BOUND(FLAG, all), NULL, NULL, "all rows"},
				{"interval", 0, MW_BOUND(FLAG, interval), NULL, NULL,
				 "print for each estimate the range that holds the true value in "
				 "95 of 100 cases"},
				{"stacks", 0, MW_BOUND(FLAG, stacks), NULL, NULL,
				 "instead of the table, print all values of each stack: bytes in "
				 "use, requested, at the peak and allocated so far, sizes, "
				 "threads, lifetimes; 10 stacks by default"},
				END_OF_OPTIONS,
			},
		.shared = mw_view_options,
		.common = mw_view_common_options,
	},
#define VIEW_ROW(instead_, stands_, more_, name_, operands_, min, max, print, flags, type,         \
		 summary_, details_, examples_)                                                    \
	{                                                                                          \
		.name = #name_,                                                                    \
		.operands = operands_,                                                             \
		.summary = summary_,                                                               \
		.details = details_,                                                               \
		.examples = examples_,                                                             \
		.operands_min = min,                                                               \
		.operands_max = max,                                                               \
		.run = mw_cmd_view,                                                                \
		.has_default_target = true,                                                        \
		.name_adds_targets = true,                                                         \
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
		.operands = "[TARGET]...",
		.summary = "draw the heap over time",
		.details =
			"For one process or state file: the values that the process recorded "
			"itself, ten times a second, less often in long runs: live bytes, and "
			"resident memory as a line.\n\nFor dumps and directories of dumps: the "
			"value of each dump, at the time in the dump, or at the time of the file "
			"if the format stores no time. --focus and other options then select "
			"stacks. Files in a directory that are not profiles are left out.",
		.examples = "mallow timeline 4711\n"
			    "mallow timeline 4711 -o heap.html\n"
			    "mallow timeline --focus=parse dumps/",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_timeline,
		.has_default_target = true,
		.name_adds_targets = true,
		.options =
			{
				NAME_OPTION,
				{"sample-type", 0, MW_BOUND(TEXT, sample_type), "TYPE", NULL,
				 "inuse_space (default) or alloc_space; for dumps any type that "
				 "they have"},
				{"output", 'o', MW_BOUND(TEXT, output), "FILE", NULL,
				 "write a file; its ending chooses the format: .html, .svg, .json, "
				 "else text"},
				{"json", 0, MW_BOUND(FLAG, json), NULL, NULL,
				 "print JSON, with exact values"},
				MW_SYMBOL_OPTIONS,
				MW_FETCH_OPTIONS,
				END_OF_OPTIONS,
			},
		.more = mw_selection_options,
		.common = mw_selection_common_options,
	},
#include "cmd/store_rows.def"
	{
		.name = "check",
		.operands = "TARGET...",
		.summary = "compare a profile with limits",
		.details = "For builds and tests. The exit status is 0 when the profile is within "
			   "all limits, 1 when it is not, and 2 when mallow could not read it. For "
			   "each exceeded limit the stacks that hold most are printed.\n\nBYTES "
			   "are 0, 512K, 200M. A file of suppressions has LeakSanitizer's format. "
			   "A line such as leak:parse_* leaves out each stack that has a function, "
			   "source file or module with a matching name; a part of the name "
			   "suffices, * matches anything, ^ and $ match the ends of the name.\n\nA "
			   "limit is exceeded when the samples show that the true value is above "
			   "it in 95 of 100 cases; profiles of 'mallow run --exact' have no error. "
			   "Memory that glibc, libstdc++ and CPython keep until the process ends "
			   "(buffers of stdio, locales, the interpreter) counts only at the peak.",
		.examples = "mallow check --max-peak 200M --max-live 0 test.pb.gz\n"
			    "mallow check --max-growth 5% --baseline base.pb.gz --format junit "
			    "now.pb.gz",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_check,
		.name_adds_targets = true,
		.options =
			{
				NAME_OPTION,
				{"max-peak", 0, MW_BOUND(TEXT, max_peak), "BYTES", NULL,
				 "at most this many bytes at the peak"},
				{"max-live", 0, MW_BOUND(TEXT, max_live), "BYTES", NULL,
				 "at most this many bytes in use"},
				{"max-growth", 0, MW_BOUND(TEXT, max_growth), "BYTES", NULL,
				 "at most this many bytes more in use than in the baseline, or a "
				 "share of the baseline such as 5%"},
				{"max-peak-growth", 0, MW_BOUND(TEXT, max_peak_growth), "BYTES",
				 NULL,
				 "at most this many bytes, or such a share, more at the peak than "
				 "in the baseline: finds a cache that is empty at the end"},
				{"max-alloc-growth", 0, MW_BOUND(TEXT, max_alloc_growth), "BYTES",
				 NULL, "likewise of all bytes allocated, freed or not"},
				{"leaks", 0, MW_BOUND(FLAG, leaks), NULL, NULL,
				 "fail if any block is leaked, in a live process, or in a profile "
				 "that 'run --leaks -o FILE' wrote"},
				{"baseline", 0, MW_BOUND(LIST, baseline), "TARGET", NULL,
				 "the profile to compare with; several are summed"},
				SUPPRESS_OPTION,
				{"no-default-suppressions", 0,
				 MW_BOUND(FLAG, no_default_suppressions), NULL, NULL,
				 "also count memory that glibc, libstdc++ and CPython keep until "
				 "the process ends"},
				{"top", 0, MW_BOUND(COUNT, top), "N", NULL,
				 "at most N stacks for each limit (default 10)"},
				{"format", 0, MW_BOUND(CHOICE, format), "FORMAT", "text|json|junit",
				 "text (default), json or junit"},
				{"output", 'o', MW_BOUND(TEXT, output), "FILE", NULL,
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
		.summary = "find what prevents profiles, and say what to do about it",
		.details = "Checks the library (a test program loads it), the options in "
			   "MALLOC_CONF and MALLOW_CONF, the room for state files, permissions and "
			   "kernel settings. For a live process it also checks whether the process "
			   "runs mallow, and if not, why; the options and limits of the process; "
			   "what is missing in the profile; which files have functions without "
			   "names, and which packages hold the names. For a program it checks "
			   "whether the library can be preloaded.\n\nThe exit status is 1 when "
			   "there is a finding.",
		.examples = "mallow doctor\n"
			    "mallow doctor 4711\n"
			    "mallow doctor /usr/bin/ping   # set-uid or static?",
		.operands_max = 1,
		.run = mw_cmd_doctor,
		.options = {JSON_OPTION, MW_SYMBOL_OPTIONS, TERMINAL_OPTIONS, END_OF_OPTIONS},
	},
	{
		.name = "shell",
		.operands = "[TARGET]...",
		.summary = "read commands, and show one view of a profile for each",
		.details = "The profile is read once. Commands are pprof's: top10, list RE, "
			   "focus=RE, alloc_space, and so on; help lists them. Without a terminal "
			   "the shell reads commands from standard input and prints no prompt; its "
			   "exit status is the highest of all commands.",
		.examples = "mallow shell 4711\n"
			    "echo 'top5 -cum' | mallow shell now.pb.gz",
		.operands_min = 1,
		.operands_max = UINT_MAX,
		.run = mw_cmd_shell,
		.has_default_target = true,
		.name_adds_targets = true,
		.options = {END_OF_OPTIONS},
		.more = table_options,
		.shared = mw_view_options,
		.common = mw_view_common_options,
	},
	{
		.name = "help",
		.operands = "[SUBCOMMAND | WORD]",
		.summary = "show how to use mallow, or find the commands for a purpose",
		.details = "WORD is what you look for: leak, rss, fragmentation, slow, lock, peak. "
			   "Completion scripts, man pages and the text of --help come from one "
			   "table; 'make install' puts the scripts and pages where shells and "
			   "man(1) look for them. SUBCOMMAND may also be jeprof or pprof.",
		.examples = "mallow help run\n"
			    "mallow help leak     # the commands that find leaks\n"
			    "mallow help --completion bash > /etc/bash_completion.d/mallow\n"
			    "mallow help --man run | man -l -",
		.operands_max = 1,
		.run = mw_cmd_help,
		.options =
			{
				{"completion", 0, MW_BOUND(CHOICE, completion), "SHELL",
				 "bash|zsh|fish",
				 "print a completion script for bash, zsh or fish"},
				{"lang", 0, MW_BOUND(CHOICE, lang), "LANGUAGE", "en|zh",
				 "print the list of subcommands, and what is about a word, in "
				 "English (en) or Chinese (zh); without it as the locale says "
				 "(LANG)"},
				{"man", 0, MW_BOUND(FLAG, man), NULL, NULL,
				 "print the subcommand's man page in mdoc(7), or without one the "
				 "list of all pages"},
				{"all", 0, MW_BOUND(FLAG, all), NULL, NULL,
				 "show every option of the subcommand, not only the common ones"},
				TERMINAL_OPTIONS,
				END_OF_OPTIONS,
			},
	},
};

#undef MW_SETTING

const mw_command_table_t mw_command_table = {
	.subcommands = subcommands,
	.subcommand_count = sizeof(subcommands) / sizeof(subcommands[0]),
	.groups = mw_command_groups,
	.group_count = MW_COMMAND_GROUPS,
	.topics = mw_help_topics,
	.programs = mw_compat_programs,
	.program_count = MW_COMPAT_PROGRAMS,
};
