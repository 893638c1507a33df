/* SPDX-License-Identifier: MIT
 * broken_malloc.c -- a malloc with a bug on purpose, preloaded to see that workloads notice.  With
 * BROKEN=twice every 1000th block of a thread is one that the thread still holds; with
 * BROKEN=scribble every 1000th malloc writes one byte into the block before.  Nothing is freed, so
 * that the C library's own checks see nothing. */
#include <stddef.h>
#include <stdlib.h>

void *__libc_malloc(size_t bytes);

static _Thread_local struct {
	unsigned char *block;
	size_t bytes;
	unsigned calls;
} last;

static char bug(void) {
	const char *text = getenv("BROKEN");
	return text ? text[0] : 0;
}

void *malloc(size_t bytes) {
	static char kind;
	if (!kind)
		kind = bug();
	if (++last.calls % 1000 == 0 && last.block && last.bytes > 16) {
		if (kind == 't' && last.bytes >= bytes)
			return last.block;
		if (kind == 's')
			last.block[last.bytes - 1] ^= 1;
	}
	last.block = __libc_malloc(bytes);
	last.bytes = bytes;
	return last.block;
}

void free(void *block) {
	(void)block;
}
