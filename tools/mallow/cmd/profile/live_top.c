/* SPDX-License-Identifier: MIT
 * live_top.c -- decides whether `mallow top PID` shows the live view. */
#include "cmd/profile/profile_commands.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/complain.h"
#include "cmd/input/load.h"
#include "screen/screen.h"

/* Options for symbols, --name and --cpu do not ask for a table. */
static bool is_of_live_view(const char *name) {
	return strcmp(name, "symbolize") == 0 || strcmp(name, "binary-path") == 0 ||
	       strcmp(name, "sysroot") == 0 || strcmp(name, "cpu") == 0 ||
	       strcmp(name, "name") == 0;
}

bool mw_live_top_is_wanted(const mw_arguments_t *arguments) {
	if (strcmp(arguments->subcommand->name, "top") != 0 || arguments->operand_count != 1 ||
	    !isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return false;
	const mw_option_t *option;
	for (size_t i = 0; (option = mw_subcommand_option(arguments->subcommand, i)) != NULL; i++)
		if (!is_of_live_view(option->name) && mw_argument(arguments, option->name)->given)
			return false;
	mw_target_t target;
	if (mw_target_resolve(arguments->operands[0], &target, NULL) != 0)
		return false; /* the table prints the reason */
	bool wanted = target.is_state && target.alive;
	mw_target_release(&target);
	return wanted;
}

static int show(const mw_target_t *target, const void *context, mw_error_t *error) {
	const mw_arguments_t *arguments = context;
	char *cache;
	mw_symbolize_options_t symbols = mw_load_symbol_options(&cache);
	symbols.pid = (uint32_t)target->pid;
	int result = mw_screen_run(target, &symbols, arguments->options.cpu.given, error);
	free(cache);
	return result;
}

int mw_cmd_live_top_all(const mw_arguments_t *arguments) {
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) {
		mw_complain("top: --all shows a live view and needs a terminal; 'mallow ls' lists "
			    "the processes once");
		return MW_EXIT_TROUBLE;
	}
	char *cache;
	mw_load_take_options(arguments);
	mw_symbolize_options_t symbols = mw_load_symbol_options(&cache);
	mw_error_t error;
	int result = mw_screen_run_all(&symbols, &error);
	free(cache);
	if (result == 0)
		return MW_EXIT_FINE;
	mw_complain("top: %s", error.text);
	return MW_EXIT_TROUBLE;
}

int mw_cmd_live_top(const mw_arguments_t *arguments) {
	mw_load_take_options(arguments);
	return mw_on_target(arguments->operands[0], show, arguments);
}
