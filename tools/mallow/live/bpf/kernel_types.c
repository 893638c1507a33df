/* SPDX-License-Identifier: MIT
 * kernel_types.c -- walks through BTF.  Format: Documentation/bpf/btf.rst of Linux. */
#include "live/bpf/kernel_types.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

#define KERNEL_BTF "/sys/kernel/btf/vmlinux"
/* Ten times that of a kernel with all of its modules built in. */
#define BTF_BYTES_MAX ((size_t)128 << 20)

typedef struct btf_header {
	uint16_t magic; /* 0xeb9f in the byte order of the machine */
	uint8_t version, flags;
	uint32_t header_bytes;
	uint32_t types_at, types_bytes, strings_at, strings_bytes; /* behind the header */
} btf_header_t;

typedef struct btf_type {
	uint32_t name; /* offset in the strings */
	uint32_t info; /* bits 0-15: number of members, 24-28: kind */
	uint32_t size_or_type;
} btf_type_t;

#define MAGIC 0xeb9fu
#define KIND_FUNCTION 12u

/* Bytes behind a type of this kind: fixed ones, and for each member. */
static const struct {
	uint8_t fixed, each;
} behind[] = {
	[1] = {4, 0},   /* int */
	[3] = {12, 0},  /* array */
	[4] = {0, 12},  /* struct */
	[5] = {0, 12},  /* union */
	[6] = {0, 8},   /* enum */
	[13] = {0, 8},  /* function prototype */
	[14] = {4, 0},  /* variable */
	[15] = {0, 12}, /* section of data */
	[17] = {4, 0},  /* tag of a declaration */
	[19] = {0, 12}, /* enum of 64 bits */
};

static bool has_name(const char *strings, uint32_t bytes, uint32_t at, const char *name) {
	size_t length = strlen(name) + 1;
	return at < bytes && length <= bytes - at && memcmp(strings + at, name, length) == 0;
}

uint32_t mw_btf_find_function(const void *btf, size_t bytes, const char *name) {
	btf_header_t header;
	if (bytes < sizeof(header))
		return 0;
	memcpy(&header, btf, sizeof(header));
	size_t rest = header.header_bytes <= bytes ? bytes - header.header_bytes : 0;
	if (header.magic != MAGIC || header.types_at > rest ||
	    header.types_bytes > rest - header.types_at || header.strings_at > rest ||
	    header.strings_bytes > rest - header.strings_at)
		return 0;
	const char *start = (const char *)btf + header.header_bytes;
	const char *at = start + header.types_at, *end = at + header.types_bytes;
	for (uint32_t number = 1; (size_t)(end - at) >= sizeof(btf_type_t); number++) {
		btf_type_t type;
		memcpy(&type, at, sizeof(type));
		unsigned kind = type.info >> 24 & 31;
		size_t more = 0;
		if (kind < sizeof(behind) / sizeof(behind[0]))
			more = behind[kind].fixed +
			       (size_t)behind[kind].each * (type.info & 0xffff);
		if (kind == KIND_FUNCTION &&
		    has_name(start + header.strings_at, header.strings_bytes, type.name, name))
			return number;
		if (more > (size_t)(end - at) - sizeof(type))
			return 0;
		at += sizeof(type) + more;
	}
	return 0;
}

uint32_t mw_kernel_function(const char *name) {
	size_t capacity = 0, used = 0;
	char *btf = NULL;
	ssize_t got = 0;
	int fd = open(KERNEL_BTF, O_RDONLY | O_CLOEXEC);
	do {
		used += (size_t)got;
		btf = mw_grow(btf, &capacity, used + ((size_t)1 << 20), 1);
		got = fd >= 0 && used < BTF_BYTES_MAX ? read(fd, btf + used, capacity - used) : 0;
	} while (got > 0);
	if (fd >= 0)
		close(fd);
	uint32_t found = got == 0 ? mw_btf_find_function(btf, used, name) : 0;
	free(btf);
	return found;
}
