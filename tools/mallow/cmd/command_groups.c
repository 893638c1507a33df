/* SPDX-License-Identifier: MIT
 * command_groups.c -- the subcommands in the order of the help. */
#include "cmd/command_groups.h"

const mw_command_group_t mw_command_groups[MW_COMMAND_GROUPS] = {
	{"Profile a program, see where its memory is",
	 {"run", "ls", "report", "top", "status", "map", "doctor"}},
	{"Find what it has leaked", {"leaks"}},
	{"See where its CPU time goes", {"cpu"}},
	{"Look closer",
	 {"tree", "peek", "traces", "list", "disasm", "sizes", "threads", "lifetimes", "tags",
	  "shell"}},
	{"Draw", {"web", "flame", "graph", "timeline", "weblist"}},
	{"Compare", {"diff", "mark", "check"}},
	{"Change a live process", {"start", "stop", "set", "reset"}},
	{"Write files for other tools",
	 {"dump", "serve", "proto", "topproto", "collapsed", "speedscope", "callgrind", "raw",
	  "comments"}},
	{"And", {"clean", "help"}},
};
