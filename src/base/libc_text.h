/* SPDX-License-Identifier: MIT
 * libc_text.h -- functions on texts and bytes that libc has, too, under libc's names with mw_
 * before. Layer: base.  The library calls these: a preloaded library may replace libc's, and
 * allocate in them or hold a lock (os/platform/system_call.h).  Contracts are libc's.  Texts here
 * are short paths, names and options; these functions take a byte at a time. */
#ifndef MW_BASE_LIBC_TEXT_H
#define MW_BASE_LIBC_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Keeps compilers from making a call of libc's function of the loop. */
#define MW_KEEP_LOOP(pointer) __asm__("" : "+r"(pointer))

static inline size_t mw_strnlen(const char *text, size_t most) {
	size_t length = 0;
	while (length < most && text[length] != '\0') {
		length++;
		MW_KEEP_LOOP(length);
	}
	return length;
}

static inline size_t mw_strlen(const char *text) {
	return mw_strnlen(text, SIZE_MAX);
}

static inline int mw_strncmp(const char *a, const char *b, size_t most) {
	for (; most > 0; a++, b++, most--) {
		MW_KEEP_LOOP(a);
		if (*a != *b || *a == '\0')
			return (int)(unsigned char)*a - (int)(unsigned char)*b;
	}
	return 0;
}

static inline int mw_strcmp(const char *a, const char *b) {
	return mw_strncmp(a, b, SIZE_MAX);
}

static inline char *mw_strchrnul(const char *text, int character) {
	while (*text != '\0' && *text != (char)character) {
		text++;
		MW_KEEP_LOOP(text);
	}
	return (char *)(uintptr_t)text;
}

static inline char *mw_strchr(const char *text, int character) {
	char *found = mw_strchrnul(text, character);
	return *found == (char)character ? found : NULL;
}

static inline char *mw_strrchr(const char *text, int character) {
	const char *found = NULL;
	for (;; text++) {
		MW_KEEP_LOOP(text);
		if (*text == (char)character)
			found = text;
		if (*text == '\0')
			return (char *)(uintptr_t)found;
	}
}

static inline size_t mw_strcspn(const char *text, const char *characters) {
	size_t length = 0;
	while (text[length] != '\0' && mw_strchr(characters, text[length]) == NULL)
		length++;
	return length;
}

static inline size_t mw_strspn(const char *text, const char *characters) {
	size_t length = 0;
	while (text[length] != '\0' && mw_strchr(characters, text[length]) != NULL)
		length++;
	return length;
}

static inline char *mw_strstr(const char *text, const char *part) {
	size_t length = mw_strlen(part);
	for (;; text++) {
		if (mw_strncmp(text, part, length) == 0)
			return (char *)(uintptr_t)text;
		if (*text == '\0')
			return NULL;
	}
}

static inline void *mw_memchr(const void *bytes, int byte, size_t count) {
	const unsigned char *at = bytes;
	for (; count > 0; at++, count--) {
		MW_KEEP_LOOP(at);
		if (*at == (unsigned char)byte)
			return (void *)(uintptr_t)at;
	}
	return NULL;
}

static inline void mw_memmove(void *to, const void *from, size_t count) {
	unsigned char *target = to;
	const unsigned char *source = from;
	bool is_down = (uintptr_t)to <= (uintptr_t)from;
	for (size_t i = 0; i < count; i++) {
		size_t at = is_down ? i : count - 1 - i;
		MW_KEEP_LOOP(at);
		target[at] = source[at];
	}
}

#endif
