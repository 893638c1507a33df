/* SPDX-License-Identifier: MIT
 * doctor.h -- what `mallow doctor` looked at, and what it thinks of it.
 * Layer: cmd.  Each check says one thing or more, in the order people should read them. */
#ifndef MW_CMD_DOCTOR_H
#define MW_CMD_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "live/process.h"
#include "live/target.h"
#include "model/profile.h"

typedef enum mw_health {
	MW_HEALTH_FINE,
	MW_HEALTH_NOTE,    /* good to know */
	MW_HEALTH_FINDING, /* something does not work, or will not: what to do stands in the text */
} mw_health_t;

typedef struct mw_diagnosis {
	mw_health_t health;
	const char *topic;
	char *text;
} mw_diagnosis_t;

/* Zeroed: nothing was looked at yet. */
typedef struct mw_doctor {
	mw_diagnosis_t *items;
	size_t count, capacity;
} mw_doctor_t;

void mw_doctor_say(mw_doctor_t *doctor, mw_health_t health, const char *topic, const char *format,
		   ...) MW_PRINTF(4, 5);
/* Is `part` in something that was said? */
bool mw_doctor_has_said(const mw_doctor_t *doctor, const char *part);
/* Options (with commas) that were taken and have no effect, unless that was said. */
void mw_doctor_say_unused(mw_doctor_t *doctor, const char *options);
void mw_doctor_release(mw_doctor_t *doctor);

/* The start of a file, NUL-ended, without the last newline; false when it cannot be read. */
bool mw_doctor_read(const char *path, char *text, size_t size);
/* Likewise a file of a system whose root is there; "" is this one. */
bool mw_doctor_read_setting(const char *root, const char *name, char *text, size_t size);

/* The machine: room for state files, kernel settings.  `root` is "" but in tests. */
void mw_doctor_look_at_system(mw_doctor_t *doctor, const char *root);

/* The library: is it there, does it load, what does it say of these options (NULL: not set)? */
void mw_doctor_look_at_library(mw_doctor_t *doctor, const char *malloc_conf,
			       const char *mallow_conf);

/* Can it be preloaded into that program? */
void mw_doctor_look_at_program(mw_doctor_t *doctor, const char *name);

/* A live process, with mallow or without. */
void mw_doctor_look_at_process(mw_doctor_t *doctor, const mw_process_t *process);

/* What limits it, which has so many mappings.  `root` is "" but in tests. */
void mw_doctor_look_at_limits(mw_doctor_t *doctor, int pid, size_t mappings, const char *root);

/* Which modules' functions have no name in a profile that was symbolized, and which package has
 * them. */
void mw_doctor_look_at_symbols(mw_doctor_t *doctor, const mw_profile_t *profile);

/* A variable of /proc/<pid>/environ, which the caller frees; NULL: not set, or not to be read. */
char *mw_doctor_variable(int pid, const char *name);

#endif
