/* SPDX-License-Identifier: MIT
 * outside_options.c -- one message for the first option that does not fit. */
#include "cmd/outside/outside_options.h"

#include <stddef.h>

#include "cli/complain.h"

/* Returns the first of the names whose option is given, or NULL. */
static const char *first_given(const mw_arguments_t *arguments, const char *const *names) {
	for (; *names != NULL; names++)
		if (mw_argument(arguments, *names)->given)
			return *names;
	return NULL;
}

bool mw_outside_options_fit(const mw_arguments_t *arguments, bool is_outside,
			    const char *const *with, const char *const *without) {
	const char *wrong = first_given(arguments, is_outside ? without : with);
	if (wrong == NULL)
		return true;
	mw_complain(is_outside ? "%s: --outside and --%s exclude each other"
			       : "%s: --%s is for --outside",
		    arguments->subcommand->name, wrong);
	return false;
}
