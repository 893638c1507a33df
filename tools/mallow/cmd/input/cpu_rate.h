/* SPDX-License-Identifier: MIT
 * cpu_rate.h -- the rate of CPU samples on the command line.
 * Layer: cmd/input. */
#ifndef MW_TOOL_CMD_INPUT_CPU_RATE_H
#define MW_TOOL_CMD_INPUT_CPU_RATE_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/options.h"

/* Samples per second of each thread's CPU time, unless the user asks for others: as gperftools and
 * Go take them. */
#define MW_CPU_DEFAULT_HZ 100u

/* Rows of the option table: `prefix` begins the help.  On `run` --rate is the bytes between two
 * samples of the heap, and so it has no other meaning anywhere; scripts may have its former one. */
#define MW_CPU_RATE_OPTION(prefix)                                                                 \
	{                                                                                          \
		"cpu-rate", 0, MW_BOUND(COUNT, cpu_rate), "HZ", NULL,                              \
			prefix "samples per second of each thread's CPU time (100)"                \
	}
#define MW_CPU_RATE_FORMER                                                                         \
	{ "rate", 0, MW_BOUND_FORMER(COUNT, rate), "HZ", NULL, "former name of --cpu-rate" }

/* Changes *rate, which is as live.cpu_hz, if --cpu-rate, --wall or --event is given. `former`: the
 * value of the option's former name, or NULL. Returns false after a message if the option is out of
 * range, or if two of these do not go together. */
bool mw_cpu_rate_take(const mw_arguments_t *arguments, const mw_number_value_t *former,
		      uint32_t *rate);

/* Returns what the samples are of: "CPU time", "wall-clock time" or an event's name. */
const char *mw_cpu_source(uint32_t rate);
/* Returns the word of the option prof_cpu_event. */
const char *mw_cpu_event_word(uint32_t rate);
/* Returns " of " and the source, behind a number of Hz; "": CPU time. */
const char *mw_cpu_of_source(uint32_t rate);

#endif
