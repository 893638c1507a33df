/* SPDX-License-Identifier: MIT
 * command.c -- finds the subcommand and runs it. */
#include "cmd/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/complain.h"
#include "cli/environment.h"
#include "cli/help/help.h"
#include "cli/help/languages.h"
#include "cli/options.h"
#include "cli/pager.h"
#include "cli/suggest.h"
#include "cmd/compat/compat.h"
#include "cmd/input/selected_processes.h"

static int unknown_subcommand(const char *name) {
	char known[512] = "";
	const char *kind = name[0] == '-' ? "option" : "subcommand";
	mw_suggestion_t meant = {NULL, 0};
	for (size_t i = 0; i < mw_command_table.subcommand_count; i++) {
		const char *allowed = mw_command_table.subcommands[i].name;
		mw_suggest(&meant, name, allowed);
		strncat(known, i ? ", " : "", sizeof(known) - strlen(known) - 1);
		strncat(known, allowed, sizeof(known) - strlen(known) - 1);
	}
	/* `version` and `help` are also suggested for --version and --help without their dashes. */
	const char *const own[] = {"--version", "--help"};
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		const char *best = meant.best;
		mw_suggest(&meant, name + strspn(name, "-"), own[i] + 2);
		if (meant.best != best || strcmp(name, own[i] + 2) == 0)
			meant.best = own[i];
	}
	if (meant.best != NULL)
		mw_complain("unknown %s '%s'; did you mean '%s'? 'mallow --help' lists all", kind,
			    name, meant.best);
	else
		mw_complain("unknown %s '%s'; allowed: %s, --help, --version", kind, name, known);
	return MW_EXIT_TROUBLE;
}

static int run(const mw_subcommand_t *subcommand, int argc, char **argv) {
	mw_arguments_t arguments = {.subcommand = subcommand};
	mw_completed_t completed = {.operands = NULL};
	mw_words_t words;
	int status = MW_EXIT_FINE;
	if (!mw_words_collect(&words, subcommand, argc, argv) ||
	    !mw_arguments_parse(&arguments, subcommand, words.count, words.words))
		status = MW_EXIT_TROUBLE;
	else if (arguments.help)
		mw_help_print(stdout, subcommand, arguments.help_all);
	else if (!mw_targets_complete(&arguments, &completed))
		status = MW_EXIT_TROUBLE;
	else
		status = subcommand->run(&arguments);
	mw_pager_end();
	mw_arguments_release(&arguments);
	mw_targets_release(&completed);
	mw_words_release(&words);
	return status;
}

/* Whether `mallow WORD` is about a process: the word is a pid, or its name. */
static bool is_process(const char *word) {
	return word[strspn(word, "0123456789")] == '\0' || mw_target_is_named(word);
}

/* `mallow PID`: what the memory of the process is used for, and by which functions. */
static int show_process(char *target) {
	char *status_words[] = {"--no-pager", "--brief", target, NULL};
	char *report_words[] = {"--no-pager", "--top", "5", target, NULL};
	int status = run(mw_subcommand_find("status"), 3, status_words);
	if (status != MW_EXIT_FINE)
		return status;
	putchar('\n');
	return run(mw_subcommand_find("report"), 4, report_words);
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
	if (!subcommand && argc == 2 && is_process(name))
		return show_process(argv[1]);
	if (!subcommand)
		return unknown_subcommand(name);
	return run(subcommand, argc - 2, argv + 2);
}

int mw_command_main(int argc, char **argv) {
	mw_commands_register(&mw_command_table);
	mw_language_set(mw_language_of_environment());
	int status = dispatch(argc, argv);
	bool is_answer = status == MW_EXIT_FINE || status == MW_EXIT_FINDING;
	if ((fflush(stdout) != 0 || ferror(stdout)) && is_answer) {
		mw_complain("standard output: cannot write: %s", strerror(errno));
		status = MW_EXIT_TROUBLE;
	}
	return status;
}
