/* SPDX-License-Identifier: MIT
 * mapping_watcher.c -- a preloaded library that counts the program's calls of mmap(2) and its kin,
 * as libraries for network cards do that keep a table of what is mapped.  Its constructor waits
 * while the variable WATCHER_WAITS is set: the dynamic linker then holds its lock. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

enum { MMAP, MMAP64, MUNMAP, MREMAP, SHMAT, SHMDT, SBRK, PRCTL, KINDS };
int watcher_calls[KINDS];

void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset);
void *mmap64(void *start, size_t bytes, int protection, int flags, int file, off64_t offset);
int munmap(void *start, size_t bytes);
void *mremap(void *start, size_t bytes, size_t new_bytes, int flags, ...);
void *shmat(int segment, const void *start, int flags);
int shmdt(const void *start);
int prctl(int option, ...);

static void *count(int which, const char *name) {
	watcher_calls[which]++;
	return dlsym(RTLD_NEXT, name);
}

void *mmap(void *start, size_t bytes, int protection, int flags, int file, off_t offset) {
	void *(*next)(void *, size_t, int, int, int, off_t);
	*(void **)&next = count(MMAP, "mmap");
	return next(start, bytes, protection, flags, file, offset);
}

void *mmap64(void *start, size_t bytes, int protection, int flags, int file, off64_t offset) {
	void *(*next)(void *, size_t, int, int, int, off64_t);
	*(void **)&next = count(MMAP64, "mmap64");
	return next(start, bytes, protection, flags, file, offset);
}

int munmap(void *start, size_t bytes) {
	int (*next)(void *, size_t);
	*(void **)&next = count(MUNMAP, "munmap");
	return next(start, bytes);
}

void *mremap(void *start, size_t bytes, size_t new_bytes, int flags, ...) {
	void *(*next)(void *, size_t, size_t, int, ...);
	va_list list;
	va_start(list, flags);
	void *new_start = va_arg(list, void *);
	va_end(list);
	*(void **)&next = count(MREMAP, "mremap");
	return next(start, bytes, new_bytes, flags, new_start);
}

void *shmat(int segment, const void *start, int flags) {
	void *(*next)(int, const void *, int);
	*(void **)&next = count(SHMAT, "shmat");
	return next(segment, start, flags);
}

int shmdt(const void *start) {
	int (*next)(const void *);
	*(void **)&next = count(SHMDT, "shmdt");
	return next(start);
}

void *sbrk(intptr_t increment) {
	void *(*next)(intptr_t);
	*(void **)&next = count(SBRK, "sbrk");
	return next(increment);
}

int prctl(int option, ...) {
	int (*next)(int, ...);
	long arguments[4];
	va_list list;
	va_start(list, option);
	for (int i = 0; i < 4; i++)
		arguments[i] = va_arg(list, long);
	va_end(list);
	*(void **)&next = count(PRCTL, "prctl");
	return next(option, arguments[0], arguments[1], arguments[2], arguments[3]);
}

__attribute__((constructor)) static void wait_inside_the_linker(void) {
	const char *file = getenv("WATCHER_WAITS");
	if (!file)
		return;
	char byte = 0;
	if (write(atoi(file), &byte, 1) != 1)
		abort();
	for (;;)
		pause();
}
