/* SPDX-License-Identifier: MIT
 * doctor_system.c -- checks the machine's memory, file systems and kernel settings. */
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "cmd/doctor/doctor.h"
#include "report/text/units.h"

/* Bytes of the state file of a large program.  A container's /dev/shm has 64 MiB. */
#define ROOM_WANTED_BYTES ((int64_t)16 << 20)
/* The kernel's default for mappings.  A heap of 100 GB needs some thousand. */
#define MAPPINGS_WANTED 65530
/* Free bytes that the kernel's commit limit should leave. */
#define COMMIT_ROOM_BYTES ((int64_t)256 << 20)

static void look_at_state_files(mw_doctor_t *doctor, const char *root) {
	char path[PATH_MAX], room[32];
	struct statvfs info;
	snprintf(path, sizeof(path), "%s/dev/shm", root);
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	if (access(path, W_OK | X_OK) != 0) {
		bool has_other = runtime != NULL && access(runtime, W_OK | X_OK) == 0;
		mw_doctor_say(doctor, has_other ? MW_HEALTH_NOTE : MW_HEALTH_FINDING, "state files",
			      "/dev/shm cannot be written%s%s",
			      has_other ? "; state files go to " : "",
			      has_other ? runtime
					: ", so a profile ends with its process; make /dev/shm "
					  "writable, or set XDG_RUNTIME_DIR");
		return;
	}
	if (statvfs(path, &info) != 0)
		return;
	int64_t bytes = (int64_t)(info.f_bavail * info.f_frsize);
	mw_format_bytes(bytes, room, sizeof(room));
	if (bytes < ROOM_WANTED_BYTES)
		mw_doctor_say(doctor, MW_HEALTH_FINDING, "state files",
			      "only %s free in /dev/shm: when it is full, profiles are incomplete; "
			      "'mallow clean' removes profiles of ended processes, and 'mount -o "
			      "remount,size=256M /dev/shm' (docker run --shm-size=256m) makes room",
			      room);
	else
		mw_doctor_say(doctor, MW_HEALTH_FINE, "state files", "%s free in /dev/shm", room);
}

static void look_at_proc(mw_doctor_t *doctor, const char *root) {
	char text[64];
	if (!mw_doctor_read_setting(root, "/proc/1/stat", text, sizeof(text)))
		mw_doctor_say(doctor, MW_HEALTH_NOTE, "permissions",
			      "/proc hides other users' processes (hidepid); run mallow as root to "
			      "see theirs");
	else if (geteuid() != 0)
		mw_doctor_say(doctor, MW_HEALTH_FINE, "permissions",
			      "you can examine your own processes; examine other users' processes "
			      "as root");
	else
		mw_doctor_say(doctor, MW_HEALTH_FINE, "permissions",
			      "root can examine all processes");
	if (!mw_doctor_read_setting(root, "/proc/sys/kernel/yama/ptrace_scope", text, sizeof(text)))
		return;
	bool is_strict = text[0] == '3' || (text[0] != '0' && geteuid() != 0);
	mw_doctor_say(doctor, is_strict ? MW_HEALTH_NOTE : MW_HEALTH_FINE, "permissions",
		      is_strict
			      ? "kernel.yama.ptrace_scope is %.8s: requests reach a process only "
				"when it allocates (cpu, leaks, set, stop, ...); run mallow as "
				"root, or the process with MALLOW_CONF=background_thread:true"
			      : "kernel.yama.ptrace_scope is %.8s: processes that do not allocate "
				"can be woken",
		      text);
}

/* Finds a row "Name: 123 kB" of /proc/meminfo, in bytes. */
static bool find_memory(const char *text, const char *name, int64_t *bytes) {
	const char *row = strstr(text, name);
	if (row == NULL)
		return false;
	*bytes = strtoll(row + strlen(name), NULL, 10) * 1024;
	return true;
}

static void look_at_overcommit(mw_doctor_t *doctor, const char *root) {
	char mode[16], text[8192], room[32];
	int64_t limit, committed;
	if (!mw_doctor_read_setting(root, "/proc/sys/vm/overcommit_memory", mode, sizeof(mode)))
		return;
	if (mode[0] != '2' || !mw_doctor_read_setting(root, "/proc/meminfo", text, sizeof(text)) ||
	    !find_memory(text, "CommitLimit:", &limit) ||
	    !find_memory(text, "Committed_AS:", &committed)) {
		mw_doctor_say(doctor, MW_HEALTH_FINE, "kernel", "vm.overcommit_memory is %.8s",
			      mode);
		return;
	}
	bool is_scarce = limit - committed < COMMIT_ROOM_BYTES;
	mw_format_bytes(limit > committed ? limit - committed : 0, room, sizeof(room));
	mw_doctor_say(
		doctor, is_scarce ? MW_HEALTH_FINDING : MW_HEALTH_NOTE, "kernel",
		"vm.overcommit_memory is 2: malloc fails when another %s are committed%s", room,
		is_scarce ? "; raise vm.overcommit_ratio, or set vm.overcommit_memory to 0" : "");
}

static void look_at_mappings(mw_doctor_t *doctor, const char *root) {
	char text[32];
	if (!mw_doctor_read_setting(root, "/proc/sys/vm/max_map_count", text, sizeof(text)))
		return;
	bool is_low = strtoll(text, NULL, 10) < MAPPINGS_WANTED;
	mw_doctor_say(doctor, is_low ? MW_HEALTH_FINDING : MW_HEALTH_FINE, "kernel",
		      "vm.max_map_count is %.20s%s", text,
		      is_low ? ": large heaps may run out of mappings; 'sysctl "
			       "vm.max_map_count=65530' is the kernel's default"
			     : "");
}

static void look_at_huge_pages(mw_doctor_t *doctor, const char *root) {
	char text[64];
	if (!mw_doctor_read_setting(root, "/sys/kernel/mm/transparent_hugepage/enabled", text,
				    sizeof(text)))
		return;
	char *chosen = strchr(text, '[');
	chosen = chosen != NULL ? chosen + 1 : text;
	chosen[strcspn(chosen, "] ")] = '\0';
	bool always = strcmp(chosen, "always") == 0;
	mw_doctor_say(doctor, always ? MW_HEALTH_NOTE : MW_HEALTH_FINE, "kernel",
		      "transparent huge pages: %s%s", chosen,
		      always ? "; faster, but sparse heaps stay larger; the option thp:never "
			       "avoids them for the heap"
			     : "");
}

void mw_doctor_look_at_system(mw_doctor_t *doctor, const char *root) {
	look_at_state_files(doctor, root);
	look_at_proc(doctor, root);
	look_at_overcommit(doctor, root);
	look_at_mappings(doctor, root);
	look_at_huge_pages(doctor, root);
}
