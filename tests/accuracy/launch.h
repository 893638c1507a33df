/* SPDX-License-Identifier: MIT
 * launch.h -- the program itself once more, with the library preloaded, to be measured. */
#ifndef MW_TEST_LAUNCH_H
#define MW_TEST_LAUNCH_H

#include <spawn.h>
#include <unistd.h>

#include "test.h"

/* Starts "program --measure FD SEED"; what it writes to FD is read from `output`, which the caller
 * closes.  `options` follow in MALLOW_CONF, each with its comma before it.  T stays what it is:
 * loops that do nothing but allocate would pass the limit on the time for samples. */
static inline pid_t launch(const char *library, int seed, const char *options, int *output) {
	int ends[2];
	char preload[1024], conf[128], number[16], seed_text[16];
	CHECK(pipe(ends) == 0);
	snprintf(preload, sizeof preload, "LD_PRELOAD=%s", library);
	snprintf(conf, sizeof conf, "MALLOW_CONF=prof_seed:%d,prof_state_min:0,prof_cost_limit:0%s",
		 seed, options);
	snprintf(number, sizeof number, "%d", ends[1]);
	snprintf(seed_text, sizeof seed_text, "%d", seed);
	char *arguments[] = {"/proc/self/exe", "--measure", number, seed_text, NULL};
	char *environment[] = {preload, conf, NULL};
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addclose(&actions, ends[0]);
	pid_t child;
	CHECK(posix_spawn(&child, arguments[0], &actions, NULL, arguments, environment) == 0);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	*output = ends[0];
	return child;
}

#endif
