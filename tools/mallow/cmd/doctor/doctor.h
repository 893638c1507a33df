/* SPDX-License-Identifier: MIT
 * doctor.h -- the checks of `mallow doctor` and their results.
 * Layer: cmd/doctor.  The folder's door.  Each subject has a file: library, process, attach,
 * limits, environment, symbols, system. doctor.c calls them, diagnosis.c collects their results.  A
 * check adds one result or more, in the order in which people should read them. */
#ifndef MW_TOOL_CMD_DOCTOR_DOCTOR_H
#define MW_TOOL_CMD_DOCTOR_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "base/compiler.h"
#include "cli/options.h"
#include "live/process/process.h"
#include "model/profile.h"

typedef enum mw_health {
	MW_HEALTH_FINE,
	MW_HEALTH_NOTE,    /* worth knowing */
	MW_HEALTH_FINDING, /* something does not work, or will not; the text says what to do */
} mw_health_t;

typedef struct mw_diagnosis {
	mw_health_t health;
	const char *topic;
	char *text;
} mw_diagnosis_t;

/* Results.  A zeroed list has none. */
typedef struct mw_doctor {
	mw_diagnosis_t *items;
	size_t count, capacity;
} mw_doctor_t;

void mw_doctor_say(mw_doctor_t *doctor, mw_health_t health, const char *topic, const char *format,
		   ...) MW_PRINTF(4, 5);
/* True if a result's text contains `part`. */
bool mw_doctor_has_said(const mw_doctor_t *doctor, const char *part);
/* Adds a result for options (separated by commas) that were accepted and have no effect, unless
 * there is one. */
void mw_doctor_say_unused(mw_doctor_t *doctor, const char *options);
void mw_doctor_release(mw_doctor_t *doctor);

/* Reads the start of a file without the last newline, and adds a NUL. False: the file cannot be
 * read. */
bool mw_doctor_read(const char *path, char *text, size_t size);
/* Reads a file like mw_doctor_read(), in the system whose root directory is `root`.  "" = this
 * system. */
bool mw_doctor_read_setting(const char *root, const char *name, char *text, size_t size);

/* Checks whether 'mallow attach' can profile a process that does not run mallow.  Changes nothing
 * in it. */
void mw_doctor_look_at_attach(mw_doctor_t *doctor, const mw_process_t *process);

/* Checks the machine: space for state files, kernel settings.  `root` is "" except in tests. */
void mw_doctor_look_at_system(mw_doctor_t *doctor, const char *root);

/* Checks the library: whether it exists, whether it loads, and its messages on these options
 * (NULL = not set). */
void mw_doctor_look_at_library(mw_doctor_t *doctor, const char *malloc_conf,
			       const char *mallow_conf);

/* Checks whether the library can be preloaded into a program. */
void mw_doctor_look_at_program(mw_doctor_t *doctor, const char *name);

/* Checks whether an executable brings an allocator, whose blocks mallow does not see. `name` is for
 * the text. */
void mw_doctor_look_at_executable(mw_doctor_t *doctor, const char *path, const char *name);

/* Checks a live process, with mallow or without. */
void mw_doctor_look_at_process(mw_doctor_t *doctor, const mw_process_t *process);

/* Mallow's libraries of gperftools' names. */
typedef enum mw_doctor_library {
	MW_DOCTOR_HEAP,     /* libtcmalloc.so.4 and the others with malloc */
	MW_DOCTOR_DEBUG,    /* libtcmalloc_debug.so.4 */
	MW_DOCTOR_PROFILER, /* libprofiler.so.0 */
	MW_DOCTOR_LIBRARIES
} mw_doctor_library_t;

/* Checks for environment variables of other allocators that have no effect.  `pid` 0: those of this
 * process.  loaded[i]: mw_doctor_library_t i is loaded. */
void mw_doctor_look_at_environment(mw_doctor_t *doctor, int pid,
				   const bool loaded[MW_DOCTOR_LIBRARIES]);

/* Checks the limits of a process that has this number of mappings.  `root` is "" except in
 * tests. */
void mw_doctor_look_at_limits(mw_doctor_t *doctor, int pid, size_t mappings, const char *root);

/* Lists modules whose functions have no names in a symbolized profile, and the package with
 * their debug information. */
void mw_doctor_look_at_symbols(mw_doctor_t *doctor, const mw_profile_t *profile);

/* Returns a variable of /proc/<pid>/environ, which the caller frees; NULL = it is not set or
 * cannot be read. */
char *mw_doctor_variable(int pid, const char *name);

/* Runs the subcommand.  Returns the exit status. */
int mw_cmd_doctor(const mw_arguments_t *arguments);

#endif
