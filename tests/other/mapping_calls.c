/* SPDX-License-Identifier: MIT
 * mapping_calls.c [patch | child LIBRARY] -- calls each function that maps memory, and prctl(2),
 * and requires that each call was seen:
 *   without argument  by mapping_watcher.c, which is preloaded
 *   patch             by a jump that the program writes over the code of libc's mmap(2), as some
 *                     libraries do
 *   child LIBRARY     by nobody: in a child that was forked while the dynamic linker's lock was
 *                     held, where looking up a function would wait forever */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 8192, KINDS = 8, CHILD_SECONDS = 60 };

#define REQUIRE(condition)                                                                         \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);    \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

static void call_each(void) {
	const int protection = PROT_READ | PROT_WRITE, flags = MAP_PRIVATE | MAP_ANONYMOUS;
	char *memory = mmap(NULL, BYTES, protection, flags, -1, 0);
	REQUIRE(memory != MAP_FAILED);
	memory[0] = 5;
	memory = mremap(memory, BYTES, (size_t)16 * BYTES, MREMAP_MAYMOVE);
	REQUIRE(memory != MAP_FAILED && memory[0] == 5);
	/* With a fifth argument: to the place of another mapping. */
	char *other = mmap64(NULL, BYTES, protection, flags, -1, 0);
	REQUIRE(other != MAP_FAILED);
	REQUIRE(mremap(memory, BYTES, BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, other) == other);
	REQUIRE(other[0] == 5);
	REQUIRE(munmap(other, BYTES) == 0 && munmap(memory, (size_t)16 * BYTES) == 0);
	int segment = shmget(IPC_PRIVATE, BYTES, IPC_CREAT | 0600);
	REQUIRE(segment >= 0);
	void *attached = shmat(segment, NULL, 0);
	REQUIRE(shmctl(segment, IPC_RMID, NULL) == 0);
	REQUIRE(attached != (void *)-1 && shmdt(attached) == 0);
	char *end = sbrk(BYTES);
	REQUIRE(end != (void *)-1 && sbrk(-BYTES) == end + BYTES);
	REQUIRE(prctl(PR_GET_DUMPABLE) == 1);
	/* Refusals keep their errors. */
	errno = 0;
	REQUIRE(mmap(NULL, 0, protection, flags, -1, 0) == MAP_FAILED && errno == EINVAL);
	errno = 0;
	REQUIRE(munmap((void *)1, BYTES) == -1 && errno == EINVAL);
}

/* mmap, mmap64, munmap, mremap, shmat, shmdt, sbrk, prctl. */
static void ask_watcher(void) {
	int before[KINDS];
	static const int expected[KINDS] = {2, 1, 3, 2, 1, 1, 2, 1};
	const int *calls = dlsym(RTLD_DEFAULT, "watcher_calls");
	REQUIRE(calls != NULL);
	memcpy(before, calls, sizeof before);
	call_each();
	for (int i = 0; i < KINDS; i++)
		if (calls[i] - before[i] != expected[i]) {
			fprintf(stderr, "function %d: %d calls of %d were seen\n", i,
				calls[i] - before[i], expected[i]);
			exit(1);
		}
}

#ifdef __x86_64__
static int seen;

static void *see_mmap(void *start, size_t bytes, int protection, int flags, int file,
		      off_t offset) {
	seen++;
	return (void *)syscall(SYS_mmap, start, bytes, protection, flags, file, offset);
}

/* movabs $see_mmap, %rax; jmp *%rax.  mmap() and mmap64() are one function of libc. */
static void patch_libc(void) {
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	REQUIRE(libc != NULL);
	unsigned char *code = dlsym(libc, "mmap"), jump[12] = {0x48, 0xb8};
	void *target = (void *)see_mmap;
	memcpy(jump + 2, &target, sizeof target);
	jump[10] = 0xff;
	jump[11] = 0xe0;
	uintptr_t page = (uintptr_t)code & ~(uintptr_t)4095;
	REQUIRE(mprotect((void *)page, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC) == 0);
	memcpy(code, jump, sizeof jump);
}

static void ask_patch(void) {
	patch_libc();
	int before = seen;
	call_each();
	REQUIRE(seen - before == 3);
}
#else
static void ask_patch(void) {
	call_each();
}
#endif

static void *load(void *library) {
	dlopen(library, RTLD_NOW); /* never returns */
	return NULL;
}

static void call_in_child(char *library) {
	int ends[2], status;
	char byte, number[16];
	pthread_t thread;
	alarm(CHILD_SECONDS);
	REQUIRE(pipe(ends) == 0);
	snprintf(number, sizeof number, "%d", ends[1]);
	setenv("WATCHER_WAITS", number, 1);
	REQUIRE(pthread_create(&thread, NULL, load, library) == 0);
	REQUIRE(read(ends[0], &byte, 1) == 1);
	pid_t child = fork();
	REQUIRE(child >= 0);
	if (child == 0) {
		alarm(CHILD_SECONDS);
		call_each();
		_exit(0);
	}
	REQUIRE(waitpid(child, &status, 0) == child && status == 0);
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "patch") == 0)
		ask_patch();
	else if (argc > 2 && strcmp(argv[1], "child") == 0)
		call_in_child(argv[2]);
	else
		ask_watcher();
	/* The thread that waits inside the dynamic linker keeps exit(3) waiting. */
	_exit(0);
}
