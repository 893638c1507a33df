/* SPDX-License-Identifier: MIT
 * test_proc.c -- what /proc says, also of processes with names made to confuse. */
#include "os/file/proc.h"
#include "os/file/proc_maps.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static void start_ticks_survive_odd_names(void) {
	uint64_t plain = mw_os_start_ticks();
	CHECK(plain > 0);
	static const char *const names[] = {") 1 2 3 4", "a b c", "((((", ")))", ""};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		CHECK(prctl(PR_SET_NAME, names[i]) == 0);
		CHECK_EQ(mw_os_start_ticks(), plain);
	}
	/* The same number as the kernel's own tools read. */
	char command[128];
	snprintf(command, sizeof command, "sed 's/.*) //' /proc/%d/stat | cut -d' ' -f20",
		 (int)getpid());
	FILE *pipe = popen(command, "r");
	unsigned long long ticks = 0;
	CHECK(pipe && fscanf(pipe, "%llu", &ticks) == 1);
	pclose(pipe);
	CHECK_EQ(plain, ticks);
}

static void resident_follows_use(void) {
	uint64_t files = 0, before = mw_os_resident_bytes(&files);
	CHECK(before > 0);
	CHECK(files > 0 && files < before);
	size_t bytes = (size_t)32 << 20;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(memory != MAP_FAILED);
	memset(memory, 1, bytes);
	uint64_t files_after = 0, after = mw_os_resident_bytes(&files_after);
	CHECK(after >= before + bytes * 9 / 10);
	CHECK(files_after < files + bytes / 10);
	munmap(memory, bytes);
	CHECK(mw_os_resident_bytes(NULL) < after - bytes * 9 / 10);
	/* The kernel counts pages of each processor on its own, in steps. */
	CHECK(mw_os_resident_most_bytes() >= after - bytes / 10);
	CHECK(mw_os_resident_most_bytes() < after + bytes);
}

static void names_itself(void) {
	char path[512], want[512] = "", args[512];
	CHECK(mw_os_executable(path, sizeof path) > 0);
	CHECK(readlink("/proc/self/exe", want, sizeof want - 1) > 0);
	CHECK_STR(path, want);
	char cut[8];
	CHECK_EQ(mw_os_executable(cut, sizeof cut), 7);
	CHECK(strncmp(cut, want, 7) == 0 && cut[7] == '\0');
	CHECK(mw_os_arguments(args, sizeof args) > 0);
	CHECK(strstr(args, "test_proc"));
}

static void limits_are_read(void) {
	CHECK(mw_os_address_space_limit() == UINT64_MAX);
	struct rlimit limit;
	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0);
	limit.rlim_cur = 12345;
	CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK_EQ(mw_os_file_size_limit(), 12345);
}

typedef struct look {
	uintptr_t address, previous;
	mw_os_mapping_t found;
	int seen;
} search_t;

static bool visit(void *context, const mw_os_mapping_t *mapping) {
	search_t *search = context;
	search->seen++;
	CHECK(mapping->start >= search->previous && mapping->limit > mapping->start);
	search->previous = mapping->limit;
	if (search->address < mapping->start || search->address >= mapping->limit)
		return true;
	search->found = *mapping;
	return false;
}

static void mappings_are_walked(void) {
	search_t search = {.address = (uintptr_t)visit};
	mw_os_visit_mappings(visit, &search);
	CHECK(search.found.executable && search.found.file_offset % 4096 == 0);
	CHECK(strstr(search.found.path, "test_proc"));
	search = (search_t){.address = (uintptr_t)&search};
	mw_os_visit_mappings(visit, &search);
	CHECK(!search.found.executable);
	CHECK_STR(search.found.path, "[stack]");
}

/* Hundreds of mappings and a path longer than any buffer: what comes after is still found. */
static void long_paths_are_cut(void) {
	char path[4096] = "/tmp/mallow-test-maps";
	mkdir(path, 0700);
	size_t roots = strlen(path);
	for (int i = 0; i < 12; i++) {
		strcat(path, "/");
		memset(path + strlen(path), 'x', 200);
		CHECK(mkdir(path, 0700) == 0);
	}
	strcat(path, "/file");
	int file = open(path, O_RDWR | O_CREAT, 0600);
	CHECK(file >= 0 && ftruncate(file, 1 << 20) == 0);
	char *pages[200];
	for (int i = 0; i < 200; i++) {
		pages[i] = mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_SHARED, file,
				8192 * i % 65536);
		CHECK(pages[i] != MAP_FAILED);
	}
	for (int i = 0; i < 200; i += 17) {
		search_t search = {.address = (uintptr_t)pages[i]};
		mw_os_visit_mappings(visit, &search);
		CHECK_EQ(search.found.start, (uintptr_t)pages[i]);
		CHECK_EQ(search.found.file_offset, 8192 * i % 65536);
		CHECK_EQ(strlen(search.found.path), sizeof search.found.path - 1);
		CHECK(strncmp(search.found.path, path, sizeof search.found.path - 1) == 0);
	}
	search_t search = {.address = (uintptr_t)&search};
	mw_os_visit_mappings(visit, &search);
	CHECK_STR(search.found.path, "[stack]");
	close(file);
	unlink(path);
	for (char *slash; (slash = strrchr(path, '/')) && (size_t)(slash - path) >= roots;) {
		*slash = '\0';
		rmdir(path);
	}
}

int main(void) {
	RUN(start_ticks_survive_odd_names);
	RUN(resident_follows_use);
	RUN(names_itself);
	RUN(mappings_are_walked);
	RUN(long_paths_are_cut);
	RUN(limits_are_read);
	return 0;
}
