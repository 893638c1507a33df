/* SPDX-License-Identifier: MIT
 * doctor_attach.c -- asks what 'mallow attach' asks before it changes anything. */
#include <stdio.h>
#include <string.h>

#include "cmd/doctor/doctor.h"
#include "live/inject/inject.h"

void mw_doctor_look_at_attach(mw_doctor_t *doctor, const mw_process_t *process) {
	mw_attach_result_t result;
	mw_error_t error;
	char prefix[32];
	size_t length = (size_t)snprintf(prefix, sizeof(prefix), "pid %d: ", process->pid);
	if (mw_attach_examine(process, &result, &error) == 0)
		mw_doctor_say(doctor, MW_HEALTH_FINE, "attach",
			      "'mallow attach %d' can profile what %s allocates from then on: its "
			      "%zu modules call %s through %zu slots",
			      process->pid, process->name, result.modules, result.allocator,
			      result.slots);
	else
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "attach", "'mallow attach %d' cannot: %s",
			      process->pid,
			      strncmp(error.text, prefix, length) == 0 ? error.text + length
								       : error.text);
}
