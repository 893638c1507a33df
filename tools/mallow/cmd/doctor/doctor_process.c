/* SPDX-License-Identifier: MIT
 * doctor_process.c -- checks whether a live process runs mallow, and if not, why. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor/doctor.h"
#include "live/files/own_allocator.h"
#include "live/files/program.h"
#include "live/process/mallow_files.h"
#include "live/process/maps.h"
#include "live/process/process.h"
#include "model/memory.h"

/* Most bytes of an environment that are read.  The kernel allows 6 MiB. */
#define ENVIRONMENT_MAX ((size_t)8 << 20)

char *mw_doctor_variable(int pid, const char *name) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/environ", pid);
	FILE *file = fopen(path, "re");
	if (file == NULL)
		return NULL;
	char *entry = NULL, *value = NULL;
	size_t capacity = 0, total = 0, length = strlen(name);
	ssize_t got;
	while (value == NULL && total < ENVIRONMENT_MAX &&
	       (got = getdelim(&entry, &capacity, '\0', file)) > 0) {
		total += (size_t)got;
		if (strncmp(entry, name, length) == 0 && entry[length] == '=')
			value = mw_xstrdup(entry + length + 1);
	}
	free(entry);
	fclose(file);
	return value;
}

/* Libraries that a process has mapped. */
typedef struct mapped {
	size_t count;
	bool readable;
	bool has_mallow;     /* its state file is mapped, or its code */
	bool has_library;    /* mallow's library, beside the program */
	bool mallow_deleted; /* the library's file was replaced */
	bool gperftools[MW_DOCTOR_LIBRARIES];
	char allocator[128]; /* file of another allocator */
	char executable[256];
} mapped_t;

/* Returns whether the file is of another allocator, by its name. */
static bool is_named_as_other(const char *path) {
	static const char *const others[] = {"/libjemalloc", "/libtcmalloc", "/libmimalloc"};
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(path, others[i]) != NULL)
			return true;
	return false;
}

static void take_mapping(mapped_t *out, int pid, const mw_map_t *map) {
	static const char *const gperftools[MW_DOCTOR_LIBRARIES] = {
		[MW_DOCTOR_HEAP] = "/libgperftools_mallow",
		[MW_DOCTOR_DEBUG] = "/libgperftools_debug_mallow",
		[MW_DOCTOR_PROFILER] = "/mallow/compat/libprofiler",
	};
	const char *path = strchr(map->name, '/');
	out->count++;
	if (path == NULL)
		return;
	/* Whatever name the library has, or if the program is linked with the archive. */
	if (strstr(path, "/mallow-state") != NULL || strncmp(path, "/dev/shm/mallow-", 16) == 0)
		out->has_mallow = true;
	/* These are mallow's own files under jemalloc's name. */
	if (strstr(path, "/libmallow") != NULL || strstr(path, "/mallow/compat/") != NULL) {
		out->has_mallow = out->has_library = true;
		for (size_t i = 0; i < MW_DOCTOR_LIBRARIES; i++)
			out->gperftools[i] |= strstr(path, gperftools[i]) != NULL;
		out->mallow_deleted |= strstr(path, " (deleted)") != NULL;
		return;
	}
	bool is_other = is_named_as_other(path);
	if (mw_mallow_files_has(pid, map->device, map->inode)) {
		out->has_mallow = true;
		out->has_library |= strcmp(path, out->executable) != 0;
	} else if (is_other) {
		snprintf(out->allocator, sizeof(out->allocator), "%s", path);
	}
}

static mapped_t read_mapped(int pid) {
	mapped_t mapped = {.count = 0};
	mw_maps_t maps;
	mw_map_t map;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/exe", mw_process_thread(pid));
	ssize_t length = readlink(path, mapped.executable, sizeof(mapped.executable) - 1);
	mapped.executable[length > 0 ? length : 0] = '\0';
	mw_mallow_files_read(pid, MW_READ_APART);
	mapped.readable = mw_maps_open(&maps, pid);
	while (mapped.readable && mw_maps_next(&maps, "", &map))
		take_mapping(&mapped, pid, &map);
	if (mapped.readable)
		mw_maps_close(&maps);
	return mapped;
}

/* Says why a process runs without the library. */
static void look_at_other_allocator(mw_doctor_t *doctor, const mw_process_t *process,
				    const mapped_t *mapped) {
	char exe[64];
	snprintf(exe, sizeof(exe), "/proc/%d/exe", process->pid);
	const char *why = mw_program_refuses_preload(exe);
	char *preload = mw_doctor_variable(process->pid, "LD_PRELOAD");
	if (why != NULL)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "preload",
			      "%s does not run mallow, and LD_PRELOAD cannot change that: %s",
			      process->name, why);
	else if (preload != NULL && strstr(preload, "mallow") != NULL)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "preload",
			      "%s does not run mallow, although LD_PRELOAD is %.200s; check that "
			      "this path exists and is readable for the process",
			      process->name, preload);
	else
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "preload",
			      "%s does not run mallow; start it with 'mallow run PROGRAM', or with "
			      "LD_PRELOAD set to libmallow.so",
			      process->name);
	free(preload);
	if (mapped->allocator[0] != '\0')
		mw_doctor_say(
			doctor, MW_HEALTH_NOTE, "preload",
			"the allocator of the process is %.127s; %s", mapped->allocator,
			strstr(mapped->allocator, "jemalloc") != NULL
				? "'mallow run --as jemalloc PROGRAM' puts mallow in its place"
				: "a preloaded libmallow.so takes precedence over it");
}

static void look_at_loaded(mw_doctor_t *doctor, const mapped_t *mapped) {
	if (mapped->mallow_deleted)
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "library",
			      "the file of libmallow.so was replaced after the process started; "
			      "restart the process to use the new file");
	if (mapped->allocator[0] != '\0')
		mw_doctor_say(
			doctor, MW_HEALTH_NOTE, "library",
			"%.127s is loaded as well: mallow serves the functions that both define; "
			"the profile lacks what other functions of that library allocate",
			mapped->allocator);
}

void mw_doctor_look_at_executable(mw_doctor_t *doctor, const char *path, const char *name) {
	mw_own_allocator_t own;
	/* A stripped program that is linked with libmallow.a defines malloc, too. */
	if (mw_own_allocator_find(path, &own))
		mw_doctor_say(doctor,
			      strcmp(own.symbol, "malloc") == 0 ? MW_HEALTH_NOTE
								: MW_HEALTH_FINDING,
			      "allocator",
			      "%s brings %s (%s): what that allocates is in no profile of mallow; "
			      "build it to use libc's malloc, or link it with libmallow.a",
			      name, own.name, own.symbol);
	else if (own.is_unknown)
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "allocator",
			      "the file of %s cannot be read in time: whether it brings an "
			      "allocator of its own is not known",
			      name);
}

void mw_doctor_look_at_process(mw_doctor_t *doctor, const mw_process_t *process) {
	mapped_t mapped = read_mapped(process->pid);
	if (!mapped.readable) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "permissions",
			      "pid %d (%s) belongs to uid %u, and only that user and root can "
			      "examine it; run mallow as root",
			      process->pid, process->name, process->uid);
		return;
	}
	if (mapped.has_mallow) {
		look_at_loaded(doctor, &mapped);
		mw_doctor_look_at_environment(doctor, process->pid, mapped.gperftools);
	} else {
		look_at_other_allocator(doctor, process, &mapped);
		mw_doctor_look_at_attach(doctor, process);
	}
	char exe[64];
	snprintf(exe, sizeof(exe), "/proc/%d/exe", process->pid);
	/* With a state file and without a library, the executable's malloc is mallow's. */
	if (!mapped.has_mallow || mapped.has_library)
		mw_doctor_look_at_executable(doctor, exe, process->name);
	mw_doctor_look_at_limits(doctor, process->pid, mapped.count, "");
}
