/* SPDX-License-Identifier: MIT
 * cpu_rate.c -- checks the rate of CPU samples. */
#include "cmd/input/cpu_rate.h"

#include "cli/complain.h"
#include "formats/state/state_file.h"

static bool take(const mw_arguments_t *arguments, const char *option, uint32_t *hz) {
	const mw_option_value_t *rate = mw_argument(arguments, option);
	if (!rate->given)
		return true;
	if (rate->number > MW_CPU_HZ_MAX) {
		mw_complain("%s: --%s does not take '%s'; allowed: 1 to %u samples per second",
			    arguments->subcommand->name, option, rate->text, MW_CPU_HZ_MAX);
		return false;
	}
	*hz = (uint32_t)rate->number;
	return true;
}

bool mw_cpu_rate_take(const mw_arguments_t *arguments, const char *option, uint32_t *rate) {
	uint32_t hz = *rate;
	if (!take(arguments, option, &hz))
		return false;
	*rate = hz;
	if (mw_argument(arguments, "wall")->given)
		*rate = (hz ? hz : MW_CPU_DEFAULT_HZ) | MW_CPU_WALL;
	return true;
}
