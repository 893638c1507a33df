/* SPDX-License-Identifier: MIT
 * test_doctor.c -- what `mallow doctor` thinks of machines that are made of files. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/doctor.h"
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
	CHECK_EQ(health_of(&doctor, "vm.overcommit_memory is 2, and 47.4 MiB"), MW_HEALTH_FINDING);
	CHECK_EQ(health_of(&doctor, "vm.max_map_count is 1000"), MW_HEALTH_FINDING);
	CHECK_EQ(health_of(&doctor, "transparent huge pages: always"), MW_HEALTH_NOTE);
	CHECK_EQ(health_of(&doctor, "ptrace_scope is 3"), MW_HEALTH_FINE);
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

int main(void) {
	CHECK(mkdtemp(root) != NULL);
	RUN(good_machine);
	RUN(bad_machine);
	RUN(no_machine_at_all);
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command) != 0;
}
