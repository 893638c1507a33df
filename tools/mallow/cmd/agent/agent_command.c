/* SPDX-License-Identifier: MIT
 * agent_command.c -- the options and the configuration of `mallow agent`. */
#include "cmd/agent/agent_command.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/agent.h"
#include "cli/complain.h"
#include "cmd/agent/send_profile.h"
#include "cmd/agent/take_profile.h"
#include "cmd/input/load.h"
#include "model/memory.h"

static void complain(void *context, const char *line) {
	(void)context;
	mw_complain("%s", line);
}

/* Returns the standard folder, which the caller frees; NULL: there is no home. */
static char *standard_folder(void) {
	/* systemd makes it, for StateDirectory=. */
	const char *given = getenv("STATE_DIRECTORY"), *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");
	char *folder = NULL;
	int length = -1;
	if (given != NULL && *given == '/' && strchr(given, ':') == NULL)
		length = asprintf(&folder, "%s", given);
	else if (geteuid() == 0)
		length = asprintf(&folder, "/var/lib/mallow/agent");
	else if (state != NULL && *state == '/')
		length = asprintf(&folder, "%s/mallow/agent", state);
	else if (home != NULL && *home == '/')
		length = asprintf(&folder, "%s/.local/state/mallow/agent", home);
	return length >= 0 ? folder : NULL;
}

static void replace(char **text, const mw_text_value_t *value) {
	if (!value->given)
		return;
	free(*text);
	*text = mw_xstrdup(value->text);
}

/* Options take precedence over the file. */
static int complete(const mw_arguments_t *arguments, mw_rules_t *rules, mw_error_t *error) {
	replace(&rules->push, &arguments->options.to);
	replace(&rules->folder, &arguments->options.folder);
	if (rules->folder == NULL)
		rules->folder = standard_folder();
	if (rules->push == NULL)
		return mw_error_set(
			error, "no receiver is named; write 'push URL' into the configuration, "
			       "or give --to URL");
	if (rules->folder == NULL)
		return mw_error_set(error, "HOME is not set; name a folder by --folder DIR");
	return mw_send_check(rules, error);
}

/* As mw_agent_calls_t has it.  The standard file need not be there. */
static bool read_rules(void *context, mw_rules_t *out) {
	const mw_arguments_t *arguments = context;
	const mw_text_value_t *config = &arguments->options.config;
	const char *path = config->given ? config->text : MW_AGENT_CONFIG;
	mw_error_t error;
	unsigned mistakes = 0;
	mw_rules_init(out);
	if (config->given || access(path, F_OK) == 0)
		mistakes = mw_rules_read(out, path, complain, NULL);
	if (mistakes == 0 && complete(arguments, out, &error) != 0) {
		mw_complain("agent: %s", error.text);
		mistakes++;
	}
	if (mistakes > 0)
		mw_rules_release(out);
	return mistakes == 0;
}

int mw_cmd_agent(const mw_arguments_t *arguments) {
	mw_rules_t rules;
	const mw_agent_calls_t calls = {.name = mw_name_processes,
					.take = mw_take_profile,
					.send = mw_send_profiles,
					.read_rules = read_rules,
					.context = (void *)(uintptr_t)arguments};
	mw_load_take_options(arguments);
	if (!read_rules((void *)(uintptr_t)arguments, &rules))
		return MW_EXIT_TROUBLE;
	if (!arguments->options.check_only.given)
		return mw_agent_run(&rules, &calls);
	mw_rules_release(&rules);
	return MW_EXIT_FINE;
}
