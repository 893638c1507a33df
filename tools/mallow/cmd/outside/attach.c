/* SPDX-License-Identifier: MIT
 * attach.c -- `mallow attach` and `mallow detach`. */
#include <stdio.h>

#include "cli/complain.h"
#include "cli/print.h"
#include "cmd/outside/attach_outside.h"
#include "cmd/outside/live_process.h"
#include "cmd/outside/outside_options.h"
#include "live/inject/inject.h"
#include "live/process/process.h"

#define MEAN_BYTES (512 << 10)
#define NS_PER_S 1e9
/* A longer time is none. */
#define SECONDS_MAX 1e9

/* Finds the process that the operand names.  False: a message was printed. */
static bool find_process(const mw_arguments_t *arguments, mw_process_t *out) {
	mw_error_t error;
	if (mw_live_process_find(arguments->operands[0], out, &error) == 0)
		return true;
	mw_complain("%s", error.text);
	return false;
}

int mw_cmd_attach(const mw_arguments_t *arguments) {
	const mw_option_values_t *options = &arguments->options;
	const mw_seconds_value_t *after = &options->detach_after;
	mw_attach_wish_t wish = {.mean_bytes = MEAN_BYTES};
	mw_attach_result_t result;
	mw_process_t process;
	mw_error_t error;
	char rate[MW_SHOW_BYTES];
	static const char *const with[] = {"for", "force", "output", NULL};
	static const char *const without[] = {"detach-after", NULL};
	if (!mw_outside_options_fit(arguments, options->outside.given, with, without))
		return MW_EXIT_TROUBLE;
	if (options->exact.given && options->rate.given) {
		mw_complain("attach: --exact and --rate exclude each other");
		return MW_EXIT_TROUBLE;
	}
	if (options->outside.given)
		return mw_attach_outside(arguments);
	if (options->exact.given)
		wish.mean_bytes = 1;
	else if (options->rate.given)
		wish.mean_bytes = options->rate.number;
	if (after->given && (after->seconds <= 0 || after->seconds > SECONDS_MAX)) {
		mw_complain("attach: --detach-after does not take '%s'; allowed: a time above 0, "
			    "such as 60s or 10m",
			    after->text);
		return MW_EXIT_TROUBLE;
	}
	wish.detach_after_ns = after->given ? (uint64_t)(after->seconds * NS_PER_S) : 0;
	if (!find_process(arguments, &process))
		return MW_EXIT_TROUBLE;
	if (mw_attach(&process, &wish, &result, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	printf("pid %d: attached to %s: %zu slots in %zu modules, T = %s; 'mallow report %d'\n",
	       process.pid, result.allocator, result.slots, result.modules,
	       mw_show_rate(wish.mean_bytes, rate), process.pid);
	if (result.refused > 0)
		mw_complain("note: pid %d: %zu slots were left alone, because they had changed "
			    "meanwhile: calls through them are not seen",
			    process.pid, result.refused);
	if (result.others > 0)
		mw_complain("note: pid %d: %zu slots lead to other functions than the allocator's: "
			    "calls through them are not seen",
			    process.pid, result.others);
	return MW_EXIT_FINE;
}

int mw_cmd_detach(const mw_arguments_t *arguments) {
	mw_attach_result_t result;
	mw_process_t process;
	mw_error_t error;
	if (!find_process(arguments, &process))
		return MW_EXIT_TROUBLE;
	if (mw_detach(&process, &result, &error) != 0) {
		mw_complain("%s", error.text);
		return MW_EXIT_TROUBLE;
	}
	printf("pid %d: detached; the profile stays: 'mallow report %d'\n", process.pid,
	       process.pid);
	return MW_EXIT_FINE;
}
