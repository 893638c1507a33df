/* SPDX-License-Identifier: MIT
 * cpu_rate.c -- checks the rate of CPU samples. */
#include "cmd/input/cpu_rate.h"

#include <string.h>

#include "cli/complain.h"
#include "formats/state/state_file.h"

static bool take(const mw_arguments_t *arguments, const mw_number_value_t *former, uint32_t *hz) {
	const mw_number_value_t *rate = &arguments->options.cpu_rate;
	if (former != NULL && former->given) {
		mw_complain("note: --rate %s is now called --cpu-rate %s; --rate means bytes",
			    former->text, former->text);
		if (!rate->given)
			rate = former;
	}
	if (!rate->given)
		return true;
	if (rate->number > MW_CPU_HZ_MAX) {
		mw_complain("%s: --cpu-rate does not take '%s'; allowed: 1 to %u samples per "
			    "second",
			    arguments->subcommand->name, rate->text, MW_CPU_HZ_MAX);
		return false;
	}
	*hz = (uint32_t)rate->number;
	return true;
}

#define OF " of "

static const char *const events[MW_CPU_EVENTS] = {[MW_CPU_BY_TIMER] = OF "CPU time",
#define EVENT(name, text, unit) [MW_CPU_##name] = OF text,
						  MW_CPU_EVENT_LIST(EVENT)
#undef EVENT
};

static const char *of_source(uint32_t rate) {
	uint32_t event = mw_cpu_event(rate);
	return mw_cpu_is_wall(rate) ? OF "wall-clock time"
				    : events[event < MW_CPU_EVENTS ? event : MW_CPU_BY_TIMER];
}

const char *mw_cpu_source(uint32_t rate) {
	return of_source(rate) + strlen(OF);
}

const char *mw_cpu_of_source(uint32_t rate) {
	bool is_plain = !mw_cpu_is_wall(rate) && mw_cpu_event(rate) == MW_CPU_BY_TIMER;
	return is_plain ? "" : of_source(rate);
}

const char *mw_cpu_event_word(uint32_t rate) {
	return mw_cpu_event(rate) == MW_CPU_BY_TIMER ? "timer" : mw_cpu_source(rate);
}

/* Returns the number of the event that the user asked for. */
static uint32_t take_event(const mw_text_value_t *event) {
	uint32_t number = MW_CPU_EVENTS;
	while (event->given && --number > 0)
		if (strcmp(events[number] + strlen(OF), event->text) == 0)
			return number;
	return MW_CPU_BY_TIMER;
}

bool mw_cpu_rate_take(const mw_arguments_t *arguments, const mw_number_value_t *former,
		      uint32_t *rate) {
	uint32_t hz = *rate, event = take_event(&arguments->options.event);
	bool is_wall = arguments->options.wall.given;
	if (!take(arguments, former, &hz))
		return false;
	if (is_wall && event != MW_CPU_BY_TIMER) {
		mw_complain("%s: --wall and --event do not go together",
			    arguments->subcommand->name);
		return false;
	}
	*rate = hz == 0 && (is_wall || event != MW_CPU_BY_TIMER) ? MW_CPU_DEFAULT_HZ : hz;
	*rate |= (is_wall ? MW_CPU_WALL : 0) | event << MW_CPU_EVENT_SHIFT;
	return true;
}
