/* SPDX-License-Identifier: MIT
 * command.c -- finds the subcommand and runs it. */
#include "cmd/command.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "cmd/compat.h"
#include "cmd/help.h"
#include "cmd/options.h"
#include "cmd/suggest.h"
#include "cmd/terminal.h"

void mw_complain(const char *format, ...) {
	va_list args;
	va_start(args, format);
	/* What stdout holds was said before. */
	fflush(stdout);
	mw_progress_clear();
	fputs("mallow: ", stderr);
	vfprintf(stderr, format, args);
	fputc('\n', stderr);
	va_end(args);
}

static int unknown_subcommand(const char *name) {
	char known[512] = "";
	const char *kind = name[0] == '-' ? "option" : "subcommand";
	mw_suggestion_t meant = {NULL, 0};
	for (size_t i = 0; i < mw_subcommand_count; i++) {
		mw_suggest(&meant, name, mw_subcommands[i].name);
		strncat(known, i ? ", " : "", sizeof(known) - strlen(known) - 1);
		strncat(known, mw_subcommands[i].name, sizeof(known) - strlen(known) - 1);
	}
	if (meant.best != NULL)
		mw_complain("unknown %s '%s'; did you mean '%s'? 'mallow --help' lists all", kind,
			    name, meant.best);
	else
		mw_complain("unknown %s '%s'; allowed: %s, --help, --version", kind, name, known);
	return MW_EXIT_TROUBLE;
}

static int run(const mw_subcommand_t *subcommand, int argc, char **argv) {
	mw_arguments_t arguments;
	int status = MW_EXIT_FINE;
	if (!mw_arguments_parse(&arguments, subcommand, argc, argv))
		status = MW_EXIT_TROUBLE;
	else if (arguments.help)
		mw_help_print(stdout, subcommand);
	else
		status = subcommand->run(&arguments);
	mw_terminal_end();
	mw_arguments_release(&arguments);
	return status;
}

static int dispatch(int argc, char **argv) {
	const mw_subcommand_t *compat = argc > 0 ? mw_compat_find(argv[0]) : NULL;
	if (compat != NULL && argc == 2 && argv[1][0] == '-' && mw_compat_answer(compat, argv[1]))
		return MW_EXIT_FINE;
	if (compat != NULL)
		return run(compat, argc - 1, argv + 1);
	if (argc < 2) {
		mw_help_print_all(stderr);
		return MW_EXIT_TROUBLE;
	}
	const char *name = argv[1];
	if (strcmp(name, "--version") == 0) {
		puts("mallow " MALLOW_VERSION);
		return MW_EXIT_FINE;
	}
	if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
		mw_help_print_all(stdout);
		return MW_EXIT_FINE;
	}
	const mw_subcommand_t *subcommand = mw_subcommand_find(name);
	if (!subcommand)
		return unknown_subcommand(name);
	return run(subcommand, argc - 2, argv + 2);
}

int mw_command_main(int argc, char **argv) {
	int status = dispatch(argc, argv);
	if ((fflush(stdout) != 0 || ferror(stdout)) && status == MW_EXIT_FINE) {
		mw_complain("standard output: %s", strerror(errno));
		status = MW_EXIT_TROUBLE;
	}
	return status;
}
