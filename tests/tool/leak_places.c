/* SPDX-License-Identifier: MIT
 * leak_places.c PLACE -- holds 100 blocks by pointers in one place alone, prints "ready", and
 * allocates until its input ends.  dontfork, wipeonfork: memory that madvise(2) keeps out of copies
 * of the process; shared: memory shared with children; filter, filter-outside: its system
 * calls are filtered, and it holds the blocks in its data; large: that many blocks of 16 bytes,
 * too. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BLOCKS = 100, BYTES = 200, LARGE_BLOCKS = 20000000 };

static void *data[BLOCKS];
static void *volatile *volatile list;

static void **map(int flags, int advice) {
	void *memory = mmap(NULL, BLOCKS * sizeof(void *), PROT_READ | PROT_WRITE,
			    MAP_ANONYMOUS | flags, -1, 0);
	if (memory == MAP_FAILED ||
	    (advice != 0 && madvise(memory, BLOCKS * sizeof(void *), advice) != 0))
		_exit(3);
	return memory;
}

static void filter_calls(const char *place) {
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_process_vm_readv, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof code / sizeof *code, code};
	/* The library's prctl() sees the filter; the system call alone is as if the filter had been
	 * there before the program. */
	bool is_seen = strcmp(place, "filter") == 0;
	if (is_seen ? prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0
		    : syscall(SYS_prctl, PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
			      syscall(SYS_prctl, PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) !=
				      0)
		_exit(3);
}

/* A long list, which takes the search its time. */
static __attribute__((noinline)) void make_list(void) {
	for (int i = 0; i < LARGE_BLOCKS; i++) {
		void *volatile *block = malloc(16);
		if (!block)
			_exit(3);
		*block = (void *)list;
		list = block;
	}
}

static __attribute__((noinline)) void fill(void **pointers) {
	for (int i = 0; i < BLOCKS; i++)
		pointers[i] = memset(malloc(BYTES), 'x', BYTES);
}

static __attribute__((noinline)) void clean_stack(void) {
	char bytes[4096];
	memset(bytes, 0, sizeof bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

int main(int argc, char **argv) {
	const char *place = argc > 1 ? argv[1] : "";
	bool has_filter = strncmp(place, "filter", 6) == 0;
	void **pointers = data;
	if (strcmp(place, "dontfork") == 0)
		pointers = map(MAP_PRIVATE, MADV_DONTFORK);
	else if (strcmp(place, "wipeonfork") == 0)
		pointers = map(MAP_PRIVATE, MADV_WIPEONFORK);
	else if (strcmp(place, "shared") == 0)
		pointers = map(MAP_SHARED, 0);
	else if (strcmp(place, "large") == 0)
		make_list();
	else if (!has_filter)
		return 2;
	fill(pointers);
	clean_stack();
	if (has_filter)
		filter_calls(place);
	if (write(1, "ready\n", 6) != 6)
		return 1;
	struct pollfd input = {.fd = 0, .events = POLLIN};
	while (poll(&input, 1, 20) <= 0)
		for (size_t i = 0; i < 300; i++) {
			char *volatile block = malloc(2000 + i);
			free(block);
		}
	return 0;
}
