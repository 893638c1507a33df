/* SPDX-License-Identifier: MIT
 * planter.c DIRECTORY MODEL PID DOOR -- puts a state file into DIRECTORY that says of itself that
 * it belongs to process PID: a copy of file MODEL with the name, the numbers and the lock that
 * PID's own file would have. Each word of its live section that may be an address of a library is
 * DOOR. Prints "planted", and holds the lock until its input ends. With 0 for PID, the file is the
 * planter's own, which maps it and filters its system calls; a child keeps the lock, and answers
 * requests once the planter has ended. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "state/layout.h"

static char bytes[1 << 24];

static uint64_t start_ticks(const char *pid) {
	char path[64], text[1024] = "";
	unsigned long long ticks = 0;
	snprintf(path, sizeof(path), "/proc/%s/stat", pid);
	FILE *file = fopen(path, "r");
	if (file == NULL || fread(text, 1, sizeof(text) - 1, file) == 0)
		exit(2);
	char *field = strrchr(text, ')');
	for (int number = 2; number < 22; number++)
		field = strchr(field, ' ') + 1;
	sscanf(field, "%llu", &ticks);
	fclose(file);
	return ticks;
}

/* Returns the number of bytes. */
static size_t copy_model(const char *model) {
	int fd = open(model, O_RDONLY);
	ssize_t got = fd >= 0 ? read(fd, bytes, sizeof(bytes)) : -1;
	if (got < (ssize_t)MW_STATE_FIRSTS_BYTES)
		exit(3);
	close(fd);
	return (size_t)got;
}

static void change_addresses(uint64_t door) {
	const mw_state_section_t *live =
		&((mw_state_header_t *)(void *)bytes)->sections[MW_SECTION_LIVE];
	uint64_t at = live->first_entries > 0 ? live->first_offset_bytes : live->offset_bytes;
	for (uint64_t i = 0; i + sizeof(uint64_t) <= live->stride_bytes; i += sizeof(uint64_t)) {
		uint64_t *word = (uint64_t *)(void *)(bytes + at + i);
		if (*word >> 40 >= 0x55 && *word >> 40 <= 0x7f)
			*word = door;
	}
}

static void filter_calls(void) {
	struct sock_filter code[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
	struct sock_fprog program = {1, code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		exit(4);
}

/* Maps the file as a process maps its own, and leaves a child that has the lock, too. */
static void be_its_process(int fd) {
	char *file = mmap(NULL, MW_STATE_FIRSTS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	mw_state_header_t *header = (mw_state_header_t *)(void *)file;
	pid_t parent = getpid();
	if (file == MAP_FAILED)
		exit(4);
	const mw_state_section_t *sections = header->sections;
	mw_state_control_t *control =
		(void *)(file + sections[MW_SECTION_CONTROL].first_offset_bytes);
	mw_state_live_t *live = (void *)(file + sections[MW_SECTION_LIVE].first_offset_bytes);
	if (fork() == 0)
		for (;; usleep(1000))
			if (getppid() != parent)
				live->sequence_seen = control->sequence;
	filter_calls();
}

int main(int argc, char **argv) {
	struct stat namespace;
	char name[4096];
	if (argc != 5 || stat("/proc/self/ns/pid", &namespace) != 0)
		return 2;
	size_t length = copy_model(argv[2]);
	bool is_own = strcmp(argv[3], "0") == 0;
	char number[16];
	snprintf(number, sizeof(number), "%d", getpid());
	const char *pid = is_own ? number : argv[3];
	mw_state_header_t *header = (mw_state_header_t *)(void *)bytes;
	header->pid = (uint32_t)strtoul(pid, NULL, 10);
	header->start_ticks = start_ticks(pid);
	change_addresses(strtoull(argv[4], NULL, 16));
	snprintf(name, sizeof(name), "%s/%s.%llu.%llu", argv[1], pid,
		 (unsigned long long)header->start_ticks, (unsigned long long)namespace.st_ino);
	mkdir(argv[1], 0700);
	int fd = open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
	struct flock lock = {.l_type = F_WRLCK, .l_start = MW_STATE_ALIVE_LOCK, .l_len = 1};
	if (fd < 0 || write(fd, bytes, length) != (ssize_t)length ||
	    ftruncate(fd, (off_t)header->file_bytes) != 0 || fcntl(fd, F_OFD_SETLK, &lock) != 0)
		return 3;
	if (is_own)
		be_its_process(fd);
	puts("planted");
	fflush(stdout);
	while (read(0, name, 1) > 0)
		continue;
	unlink(name);
	return 0;
}
