/* SPDX-License-Identifier: MIT
 * posix_names.c -- mimalloc's versions of functions that POSIX, BSD and Microsoft's C library have:
 * strings, and other names for sizes and resizing. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "base/bits.h"
#include "compat/mimalloc/mimalloc.h"
#include "os/platform/secure_environment.h"

/* ---- strings ---- */

static void *copy_of(const void *bytes, size_t count, size_t end_bytes) {
	char *copy = mw_mi_alloc(count + end_bytes, MW_BLOCK_ALIGN, false);
	if (!copy)
		return NULL;
	memcpy(copy, bytes, count);
	memset(copy + count, 0, end_bytes);
	return copy;
}

char *mi_strdup(const char *s) {
	return s ? copy_of(s, strlen(s), 1) : NULL;
}

char *mi_strndup(const char *s, size_t n) {
	return s ? copy_of(s, strnlen(s, n), 1) : NULL;
}

unsigned char *mi_mbsdup(const unsigned char *s) {
	return s ? copy_of(s, strlen((const char *)s), 1) : NULL;
}

unsigned short *mi_wcsdup(const unsigned short *s) {
	if (!s)
		return NULL;
	size_t units = 0;
	while (s[units] != 0)
		units++;
	return copy_of(s, units * sizeof *s, sizeof *s);
}

char *mi_realpath(const char *fname, char *resolved_name) {
	if (resolved_name)
		return realpath(fname, resolved_name);
	char path[PATH_MAX];
	return realpath(fname, path) ? mi_strdup(path) : NULL;
}

/* Stores the value of an environment variable, and its length. */
int mi_dupenv_s(char **buf, size_t *size, const char *name) {
	if (!buf || !name)
		return EINVAL;
	const char *value = mw_environment_for_program(name);
	*buf = mi_strdup(value);
	if (size)
		*size = *buf ? strlen(value) : 0;
	return value && !*buf ? ENOMEM : 0;
}

/* Linux has no environment of wide characters. */
int mi_wdupenv_s(unsigned short **buf, size_t *size, const unsigned short *name) {
	if (!buf || !name)
		return EINVAL;
	*buf = NULL;
	if (size)
		*size = 0;
	return EINVAL;
}

/* ---- sizes and resizing ---- */

size_t mi_malloc_size(const void *p) {
	return mw_mi_usable(p);
}

size_t mi_malloc_usable_size(const void *p) {
	return mw_mi_usable(p);
}

size_t mi_malloc_good_size(size_t size) {
	return mi_good_size(size);
}

void mi_cfree(void *p) {
	if (mi_is_in_heap_region(p))
		mw_mi_blocks()->free(p);
}

void *mi__expand(void *p, size_t newsize) {
	void *same = mi_expand(p, newsize);
	if (!same)
		errno = ENOMEM;
	return same;
}

void *mi_reallocarray(void *p, size_t count, size_t size) {
	return mi_reallocn(p, count, size);
}

int mi_reallocarr(void *p, size_t count, size_t size) {
	if (!p) {
		errno = EINVAL;
		return EINVAL;
	}
	void **place = p;
	void *resized = mi_reallocn(*place, count, size);
	if (!resized)
		return errno;
	*place = resized;
	return 0;
}
