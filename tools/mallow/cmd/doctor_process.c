/* SPDX-License-Identifier: MIT
 * doctor_process.c -- one live process: does it run mallow, if not why, and what limits it. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/doctor.h"
#include "live/program.h"
#include "model/alloc.h"
#include "report/report.h"

/* Of a limit, from which on it is named. */
#define NEARLY 0.9
/* Environments of more are cut: the kernel allows 6 MiB. */
#define ENVIRONMENT_MAX ((size_t)8 << 20)
/* Address space that a limit should leave. */
#define ADDRESS_SPACE_WANTED ((uint64_t)1 << 30)

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

/* What a process has mapped. */
typedef struct mapped {
	size_t count;
	bool readable;
	bool has_mallow;
	bool mallow_deleted; /* another file has its name now */
	char allocator[128]; /* another one's file */
} mapped_t;

static void take_mapping(mapped_t *out, char *line) {
	static const char *const others[] = {"/libjemalloc", "/libtcmalloc", "/libmimalloc"};
	line[strcspn(line, "\n")] = '\0';
	const char *path = strchr(line, '/');
	out->count++;
	if (path == NULL)
		return;
	/* Mallow's own under jemalloc's name. */
	if (strstr(path, "/libmallow") != NULL || strstr(path, "/mallow/compat/") != NULL) {
		out->has_mallow = true;
		out->mallow_deleted |= strstr(path, " (deleted)") != NULL;
		return;
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (strstr(path, others[i]) != NULL)
			snprintf(out->allocator, sizeof(out->allocator), "%s", path);
}

static mapped_t read_mapped(int pid) {
	mapped_t mapped = {.count = 0};
	char path[64], *line = NULL;
	size_t capacity = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	FILE *maps = fopen(path, "re");
	mapped.readable = maps != NULL;
	while (maps != NULL && getline(&line, &capacity, maps) > 0)
		take_mapping(&mapped, line);
	free(line);
	if (maps != NULL)
		fclose(maps);
	return mapped;
}

static void look_at_mappings(mw_doctor_t *doctor, const mapped_t *mapped) {
	char text[32];
	if (!mw_doctor_read("/proc/sys/vm/max_map_count", text, sizeof(text)))
		return;
	long long limit = strtoll(text, NULL, 10);
	bool nearly = limit > 0 && (double)mapped->count >= NEARLY * (double)limit;
	mw_doctor_say(doctor, nearly ? MW_HEALTH_FINDING : MW_HEALTH_FINE, "mappings",
		      "%zu of %lld%s", mapped->count, limit,
		      nearly ? ": beyond vm.max_map_count malloc fails; raise it with sysctl" : "");
}

static void look_at_address_limit(mw_doctor_t *doctor, int pid) {
	char text[4096], bytes[32];
	static const char row[] = "Max address space";
	if (!mw_doctor_read_proc(pid, "limits", text, sizeof(text)))
		return;
	const char *found = strstr(text, row);
	uint64_t limit = found != NULL ? strtoull(found + strlen(row), NULL, 10) : 0;
	if (limit == 0) /* "unlimited" is no number */
		return;
	mw_format_bytes((int64_t)(limit & INT64_MAX), bytes, sizeof(bytes));
	mw_doctor_say(doctor, limit < ADDRESS_SPACE_WANTED ? MW_HEALTH_FINDING : MW_HEALTH_NOTE,
		      "limits",
		      "address space is limited to %s (ulimit -v), which counts reserved addresses "
		      "too; limit memory by a control group, or with hard_limit",
		      bytes);
}

static bool read_bytes(const char *folder, const char *name, int64_t *bytes) {
	char path[PATH_MAX + 64], text[32], *end;
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (!mw_doctor_read(path, text, sizeof(text)))
		return false;
	*bytes = strtoll(text, &end, 10); /* "max" is no number */
	/* Version 1 says the largest number of pages for no limit. */
	return end != text && *bytes < INT64_MAX / 2;
}

static void look_at_group(mw_doctor_t *doctor, const char *folder, const char *limit_name,
			  const char *usage_name) {
	int64_t limit, usage;
	char limit_text[32], usage_text[32];
	if (!read_bytes(folder, limit_name, &limit) || !read_bytes(folder, usage_name, &usage))
		return;
	bool nearly = (double)usage >= NEARLY * (double)limit;
	mw_doctor_say(doctor, nearly ? MW_HEALTH_FINDING : MW_HEALTH_FINE, "control group",
		      "%s of %s in use%s", mw_format_bytes(usage, usage_text, sizeof(usage_text)),
		      mw_format_bytes(limit, limit_text, sizeof(limit_text)),
		      nearly ? ": the kernel kills beyond it; 'mallow set PID "
			       "soft_limit_percent=80 dump_resident_percent=80' gives memory back "
			       "and writes a profile before"
			     : "");
}

/* The group's folder and those above it: each may have a limit. */
static void look_at_groups(mw_doctor_t *doctor, const char *root, const char *group,
			   const char *limit_name, const char *usage_name) {
	char folder[PATH_MAX];
	snprintf(folder, sizeof(folder), "%s%s", root, group);
	while (strlen(folder) > strlen(root)) {
		look_at_group(doctor, folder, limit_name, usage_name);
		*strrchr(folder, '/') = '\0';
	}
}

static void look_at_control_group(mw_doctor_t *doctor, int pid) {
	char text[8192];
	if (!mw_doctor_read_proc(pid, "cgroup", text, sizeof(text)))
		return;
	char *rest;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *controllers = strchr(line, ':');
		char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		/* A group outside our namespace's root has no name here. */
		if (group == NULL || strncmp(group + 1, "/..", 3) == 0)
			continue;
		*group++ = '\0';
		if (controllers[1] == '\0')
			look_at_groups(doctor, "/sys/fs/cgroup", group, "memory.max",
				       "memory.current");
		else if (strcmp(controllers + 1, "memory") == 0)
			look_at_groups(doctor, "/sys/fs/cgroup/memory", group,
				       "memory.limit_in_bytes", "memory.usage_in_bytes");
	}
}

/* Why a process is without the library. */
static void look_at_stranger(mw_doctor_t *doctor, const mw_process_t *process,
			     const mapped_t *mapped) {
	char exe[64];
	snprintf(exe, sizeof(exe), "/proc/%d/exe", process->pid);
	const char *why = mw_program_refuses_preload(exe);
	char *preload = mw_doctor_variable(process->pid, "LD_PRELOAD");
	if (why != NULL)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "preload",
			      "%s does not run mallow and cannot with LD_PRELOAD: %s; link it with "
			      "libmallow.a (-lmallow) instead",
			      process->name, why);
	else if (preload != NULL && strstr(preload, "mallow") != NULL)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "preload",
			      "%s does not run mallow though LD_PRELOAD is %.200s: is that path "
			      "there as the process sees it, and readable?",
			      process->name, preload);
	else
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "preload",
			      "%s does not run mallow; start it with 'mallow run PROGRAM', or with "
			      "LD_PRELOAD set to libmallow.so",
			      process->name);
	free(preload);
	if (mapped->allocator[0] != '\0')
		mw_doctor_say(
			doctor, MW_HEALTH_NOTE, "preload", "its allocator is %.127s; %s",
			mapped->allocator,
			strstr(mapped->allocator, "jemalloc") != NULL
				? "'mallow run --as jemalloc PROGRAM' puts mallow in its place"
				: "a preloaded libmallow.so comes before it");
}

static void look_at_loaded(mw_doctor_t *doctor, const mapped_t *mapped) {
	if (mapped->mallow_deleted)
		mw_doctor_say(
			doctor, MW_HEALTH_NOTE, "library",
			"the process runs a library whose file was replaced since; it has the "
			"new one after a restart");
	if (mapped->allocator[0] != '\0')
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "library",
			      "%.127s is loaded as well: mallow serves the names that both have; "
			      "what is allocated by names of its own is not in the profile",
			      mapped->allocator);
}

void mw_doctor_look_at_process(mw_doctor_t *doctor, const mw_process_t *process) {
	mapped_t mapped = read_mapped(process->pid);
	if (!mapped.readable) {
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "permissions",
			      "pid %d (%s) belongs to uid %u: only that user and root can look at "
			      "it; run this as root",
			      process->pid, process->name, process->uid);
		return;
	}
	if (mapped.has_mallow)
		look_at_loaded(doctor, &mapped);
	else
		look_at_stranger(doctor, process, &mapped);
	look_at_mappings(doctor, &mapped);
	look_at_address_limit(doctor, process->pid);
	look_at_control_group(doctor, process->pid);
}
