/* SPDX-License-Identifier: MIT
 * test_doctor.c -- what `mallow doctor` thinks of machines that are made of files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/doctor/doctor.h"
#include "test.h"

static char root[] = "/tmp/mallow-doctor-XXXXXX";

static void write_file(const char *name, const char *text) {
	char path[256];
	snprintf(path, sizeof(path), "%s%s", root, name);
	for (char *at = path + strlen(root) + 1; (at = strchr(at, '/')) != NULL; at++) {
		*at = '\0';
		mkdir(path, 0700);
		*at = '/';
	}
	FILE *file = fopen(path, "w");
	CHECK(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* The health of the diagnosis that says `part`; -1: none does. */
static int health_of(const mw_doctor_t *doctor, const char *part) {
	for (size_t i = 0; i < doctor->count; i++)
		if (strstr(doctor->items[i].text, part) != NULL)
			return (int)doctor->items[i].health;
	return -1;
}

static void make_machine(void) {
	write_file("/dev/shm/x", "");
	write_file("/proc/1/stat", "1 (init)\n");
	write_file("/proc/sys/vm/overcommit_memory", "0\n");
	write_file("/proc/sys/vm/max_map_count", "65530\n");
	write_file("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
}

static void good_machine(void) {
	mw_doctor_t doctor = {.items = NULL};
	make_machine();
	mw_doctor_look_at_system(&doctor, root);
	CHECK_EQ(health_of(&doctor, "vm.overcommit_memory is 0"), MW_HEALTH_FINE);
	CHECK_EQ(health_of(&doctor, "vm.max_map_count is 65530"), MW_HEALTH_FINE);
	CHECK_EQ(health_of(&doctor, "transparent huge pages: madvise"), MW_HEALTH_FINE);
	CHECK_EQ(health_of(&doctor, "ptrace"), -1);
	mw_doctor_release(&doctor);
}

static void bad_machine(void) {
	mw_doctor_t doctor = {.items = NULL};
	make_machine();
	write_file("/proc/sys/vm/overcommit_memory", "2\n");
	write_file("/proc/meminfo", "MemTotal: 9 kB\nCommitLimit:   1048576 kB\n"
				    "Committed_AS:   1000000 kB\n");
	write_file("/proc/sys/vm/max_map_count", "1000\n");
	write_file("/proc/sys/kernel/yama/ptrace_scope", "3\n");
	write_file("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never\n");
	mw_doctor_look_at_system(&doctor, root);
	CHECK_EQ(
		health_of(&doctor, "vm.overcommit_memory is 2: malloc fails when another 47.4 MiB"),
		MW_HEALTH_FINDING);
	CHECK_EQ(health_of(&doctor, "vm.max_map_count is 1000"), MW_HEALTH_FINDING);
	CHECK_EQ(health_of(&doctor, "transparent huge pages: always"), MW_HEALTH_NOTE);
	CHECK_EQ(health_of(&doctor, "ptrace_scope is 3"), MW_HEALTH_NOTE);
	mw_doctor_release(&doctor);
}

static void no_machine_at_all(void) {
	mw_doctor_t doctor = {.items = NULL};
	unsetenv("XDG_RUNTIME_DIR");
	mw_doctor_look_at_system(&doctor, "/no/such/root");
	CHECK_EQ(health_of(&doctor, "/dev/shm cannot be written"), MW_HEALTH_FINDING);
	setenv("XDG_RUNTIME_DIR", "/", 1);
	mw_doctor_look_at_system(&doctor, "/no/such/root");
	CHECK_EQ(health_of(&doctor, "hides other users"), MW_HEALTH_NOTE);
	mw_doctor_release(&doctor);
}

/* Process 7 of that machine, with 100 mappings. */
static mw_doctor_t examine(const char *limit, const char *groups) {
	mw_doctor_t doctor = {.items = NULL};
	char limits[256];
	snprintf(limits, sizeof(limits),
		 "Limit                     Soft Limit           Hard Limit           Units     \n"
		 "Max address space         %-20s unlimited            bytes     \n",
		 limit);
	write_file("/proc/7/limits", limits);
	write_file("/proc/7/cgroup", groups);
	mw_doctor_look_at_limits(&doctor, 7, 100, root);
	return doctor;
}

static void address_space(void) {
	mw_doctor_t doctor = examine("unlimited", "0::/\n");
	CHECK_EQ(health_of(&doctor, "address space"), -1);
	mw_doctor_release(&doctor);
	doctor = examine("536870912", "0::/\n");
	CHECK_EQ(health_of(&doctor, "address space is limited to 512 MiB"), MW_HEALTH_FINDING);
	mw_doctor_release(&doctor);
	doctor = examine("8589934592", "0::/\n");
	CHECK_EQ(health_of(&doctor, "address space is limited to 8.00 GiB"), MW_HEALTH_NOTE);
	mw_doctor_release(&doctor);
}

static void mappings(void) {
	make_machine();
	mw_doctor_t doctor = examine("unlimited", "0::/\n");
	CHECK_EQ(health_of(&doctor, "100 of at most 65530 mappings"), MW_HEALTH_FINE);
	mw_doctor_release(&doctor);
	write_file("/proc/sys/vm/max_map_count", "110\n");
	doctor = examine("unlimited", "0::/\n");
	CHECK_EQ(health_of(&doctor,
			   "100 of at most 110 mappings: malloc fails above vm.max_map_count"),
		 MW_HEALTH_FINDING);
	mw_doctor_release(&doctor);
}

/* The limit of the group, of one above it, of the container; none; version 1; a group outside. */
static void control_groups(void) {
	write_file("/sys/fs/cgroup/memory.max", "1073741824\n");
	write_file("/sys/fs/cgroup/memory.current", "1048576\n");
	write_file("/sys/fs/cgroup/shop/memory.max", "104857600\n");
	write_file("/sys/fs/cgroup/shop/memory.current", "99614720\n");
	write_file("/sys/fs/cgroup/shop/web/memory.max", "max\n");
	write_file("/sys/fs/cgroup/shop/web/memory.current", "1024\n");
	mw_doctor_t doctor = examine("unlimited", "0::/shop/web\n");
	CHECK_EQ(doctor.count, 3); /* mappings too */
	CHECK_EQ(health_of(&doctor, "95.0 MiB of 100 MiB in use: above the limit the kernel kills"),
		 MW_HEALTH_FINDING);
	CHECK_EQ(health_of(&doctor, "1.00 MiB of 1.00 GiB in use"), MW_HEALTH_FINE);
	mw_doctor_release(&doctor);
	doctor = examine("unlimited", "0::/\n");
	CHECK_EQ(doctor.count, 2);
	CHECK_EQ(health_of(&doctor, "1.00 MiB of 1.00 GiB in use"), MW_HEALTH_FINE);
	mw_doctor_release(&doctor);
	write_file("/sys/fs/cgroup/memory/db/memory.limit_in_bytes", "2097152\n");
	write_file("/sys/fs/cgroup/memory/db/memory.usage_in_bytes", "2097152\n");
	write_file("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	write_file("/sys/fs/cgroup/memory/memory.usage_in_bytes", "4096\n");
	doctor = examine("unlimited", "9:cpu:/db\n4:memory:/db\n");
	CHECK_EQ(doctor.count, 2);
	CHECK_EQ(health_of(&doctor, "2.00 MiB of 2.00 MiB in use"), MW_HEALTH_FINDING);
	mw_doctor_release(&doctor);
	doctor = examine("unlimited", "0::/../other\n");
	CHECK_EQ(doctor.count, 1);
	mw_doctor_release(&doctor);
}

int main(void) {
	CHECK(mkdtemp(root) != NULL);
	RUN(good_machine);
	RUN(bad_machine);
	RUN(no_machine_at_all);
	RUN(address_space);
	RUN(mappings);
	RUN(control_groups);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command) != 0;
}
