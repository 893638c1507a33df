/* SPDX-License-Identifier: MIT
 * doctor_limits.c -- checks the limits of a live process: mappings, address space, control
 * groups. */
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/doctor/doctor.h"
#include "report/text/units.h"

/* Share of a limit from which on the limit is reported. */
#define NEARLY 0.9
/* Bytes of address space that a limit should leave free. */
#define ADDRESS_SPACE_WANTED ((uint64_t)1 << 30)

static bool read_proc(const char *root, int pid, const char *name, char *text, size_t size) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return mw_doctor_read_setting(root, path, text, size);
}

static void look_at_mappings(mw_doctor_t *doctor, const char *root, size_t count) {
	char text[32];
	if (!mw_doctor_read_setting(root, "/proc/sys/vm/max_map_count", text, sizeof(text)))
		return;
	long long limit = strtoll(text, NULL, 10);
	bool nearly = limit > 0 && (double)count >= NEARLY * (double)limit;
	mw_doctor_say(doctor, nearly ? MW_HEALTH_FINDING : MW_HEALTH_FINE, "mappings",
		      "the process has %zu of at most %lld mappings%s", count, limit,
		      nearly ? ": malloc fails above vm.max_map_count; raise it with sysctl" : "");
}

static void look_at_address_limit(mw_doctor_t *doctor, const char *root, int pid) {
	char text[4096], bytes[32];
	static const char row[] = "Max address space";
	if (!read_proc(root, pid, "limits", text, sizeof(text)))
		return;
	const char *found = strstr(text, row);
	uint64_t limit = found != NULL ? strtoull(found + strlen(row), NULL, 10) : 0;
	if (limit == 0) /* "unlimited" is no number */
		return;
	mw_format_bytes((int64_t)(limit & INT64_MAX), bytes, sizeof(bytes));
	mw_doctor_say(doctor, limit < ADDRESS_SPACE_WANTED ? MW_HEALTH_FINDING : MW_HEALTH_NOTE,
		      "limits",
		      "the address space is limited to %s (ulimit -v), and reserved addresses "
		      "count; limit memory with a control group or with hard_limit instead",
		      bytes);
}

static bool read_bytes(const char *directory, const char *name, int64_t *bytes) {
	char path[2 * PATH_MAX + 64], text[32], *end;
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	if (!mw_doctor_read(path, text, sizeof(text)))
		return false;
	*bytes = strtoll(text, &end, 10); /* "max" is no number */
	/* Control groups of version 1 express "no limit" as a huge number of pages. */
	return end != text && *bytes < INT64_MAX / 2;
}

static void look_at_group(mw_doctor_t *doctor, const char *directory, const char *limit_name,
			  const char *usage_name) {
	int64_t limit, usage;
	char limit_text[32], usage_text[32];
	if (!read_bytes(directory, limit_name, &limit) ||
	    !read_bytes(directory, usage_name, &usage))
		return;
	bool nearly = (double)usage >= NEARLY * (double)limit;
	mw_doctor_say(doctor, nearly ? MW_HEALTH_FINDING : MW_HEALTH_FINE, "control group",
		      "%s of %s in use%s", mw_format_bytes(usage, usage_text, sizeof(usage_text)),
		      mw_format_bytes(limit, limit_text, sizeof(limit_text)),
		      nearly ? ": above the limit the kernel kills the process; 'mallow set PID "
			       "soft_limit_percent=80 dump_resident_percent=80' gives memory back "
			       "and writes a profile before that"
			     : "");
}

/* Checks a group's directory and the directories above.  Each may have a limit.  In a container the
 * topmost directory is the container's own. */
static void look_at_groups(mw_doctor_t *doctor, const char *top, const char *group,
			   const char *limit_name, const char *usage_name) {
	char directory[2 * PATH_MAX];
	size_t shortest = strlen(top);
	snprintf(directory, sizeof(directory), "%s%s", top, strcmp(group, "/") != 0 ? group : "");
	for (;;) {
		look_at_group(doctor, directory, limit_name, usage_name);
		if (strlen(directory) <= shortest)
			return;
		*strrchr(directory, '/') = '\0';
	}
}

static void look_at_control_group(mw_doctor_t *doctor, const char *root, int pid) {
	char text[8192], top[PATH_MAX];
	if (!read_proc(root, pid, "cgroup", text, sizeof(text)))
		return;
	char *rest;
	for (char *line = strtok_r(text, "\n", &rest); line != NULL;
	     line = strtok_r(NULL, "\n", &rest)) {
		char *controllers = strchr(line, ':');
		char *group = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
		/* A group outside of this namespace's root has no name here. */
		if (group == NULL || strncmp(group + 1, "/..", 3) == 0)
			continue;
		*group++ = '\0';
		bool is_first_version = controllers[1] != '\0';
		if (is_first_version && strcmp(controllers + 1, "memory") != 0)
			continue;
		snprintf(top, sizeof(top), "%s/sys/fs/cgroup%s", root,
			 is_first_version ? "/memory" : "");
		look_at_groups(doctor, top, group,
			       is_first_version ? "memory.limit_in_bytes" : "memory.max",
			       is_first_version ? "memory.usage_in_bytes" : "memory.current");
	}
}

void mw_doctor_look_at_limits(mw_doctor_t *doctor, int pid, size_t mappings, const char *root) {
	look_at_mappings(doctor, root, mappings);
	look_at_address_limit(doctor, root, pid);
	look_at_control_group(doctor, root, pid);
}
