/* SPDX-License-Identifier: MIT
 * bpf_call.c -- calls bpf(2) without a library. */
#include "live/bpf/bpf_call.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "model/memory.h"

/* Whose functions of the kernel are for free software only: bpf_probe_read_user(), and all that
 * kernel_types.h finds. */
#define LICENSE "Dual MIT/GPL"
#define LOG_BYTES (256u << 10)

/* Members of bpf_attr, by command.  The kernel takes shorter ones than its own. */
typedef struct map_create {
	uint32_t type, key_bytes, value_bytes, entries, flags, inner_fd, node;
	char name[16];
} map_create_t;

typedef struct map_entry {
	uint32_t map;
	uint32_t unused;
	uint64_t key, value, flags;
} map_entry_t;

typedef struct program_load {
	uint32_t type, count;
	uint64_t table, license;
	uint32_t log_level, log_bytes;
	uint64_t log;
	uint32_t version, flags;
	char name[16];
	uint32_t interface, attach_type;
} program_load_t;

typedef struct link_create {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, counters, cookies;
	uint32_t count, probe_flags, pid, unused;
} link_create_t;

static long call(int command, void *attributes, size_t bytes) {
	return syscall(SYS_bpf, command, attributes, bytes);
}

int mw_bpf_refused(const char *what, int number, mw_error_t *error) {
	if (number == EPERM || number == EACCES)
		return mw_error_set(error,
				    "%s: the kernel refuses it; --outside needs the capabilities "
				    "CAP_BPF and CAP_PERFMON: run it as root",
				    what);
	if (number == ENOSYS)
		return mw_error_set(error, "%s: this kernel has no BPF (CONFIG_BPF_SYSCALL)", what);
	return mw_error_set(error, "%s: %s", what, strerror(number));
}

int mw_bpf_map_new(const mw_bpf_map_shape_t *shape, mw_error_t *error) {
	map_create_t attributes = {
		.type = shape->type,
		.key_bytes = shape->key_bytes,
		.value_bytes = shape->value_bytes,
		.entries = shape->entries,
	};
	char what[64];
	snprintf(attributes.name, sizeof(attributes.name), "%s", shape->name);
	int fd = (int)call(BPF_MAP_CREATE, &attributes, sizeof(attributes));
	if (fd >= 0)
		return fd;
	snprintf(what, sizeof(what), "cannot make BPF map %s", shape->name);
	return mw_bpf_refused(what, errno, error);
}

bool mw_bpf_map_read(int map, const void *key, void *value) {
	map_entry_t entry = {
		.map = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value};
	return call(BPF_MAP_LOOKUP_ELEM, &entry, sizeof(entry)) == 0;
}

bool mw_bpf_map_write(int map, const void *key, const void *value) {
	map_entry_t entry = {
		.map = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)value};
	return call(BPF_MAP_UPDATE_ELEM, &entry, sizeof(entry)) == 0;
}

bool mw_bpf_map_next(int map, const void *key, void *next) {
	map_entry_t entry = {.map = (uint32_t)map, .key = (uintptr_t)key, .value = (uintptr_t)next};
	return call(BPF_MAP_GET_NEXT_KEY, &entry, sizeof(entry)) == 0;
}

const char *mw_bpf_verifier_reason(char *log) {
	char *reason = log;
	for (char *line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (strncmp(line, "processed ", 10) != 0 && strspn(line, " \t") != strlen(line))
			reason = line;
	return reason;
}

/* Loads it again with a log, because a log makes loading slow and may be too small. */
static int say_why(program_load_t *attributes, const char *name, mw_error_t *error) {
	char what[64], *log = mw_xcalloc(LOG_BYTES, 1);
	int number = errno;
	snprintf(what, sizeof(what), "cannot load BPF program %s", name);
	attributes->log_level = 1;
	attributes->log_bytes = LOG_BYTES;
	attributes->log = (uintptr_t)log;
	int fd = (int)call(BPF_PROG_LOAD, attributes, sizeof(*attributes));
	if (fd >= 0)
		close(fd);
	log[LOG_BYTES - 1] = '\0';
	const char *reason = mw_bpf_verifier_reason(log);
	if (number == EPERM || reason[0] == '\0')
		mw_bpf_refused(what, number, error);
	else
		mw_error_set(error, "%s: the kernel's verifier refuses it: %s (%s)", what, reason,
			     strerror(number));
	free(log);
	return -1;
}

int mw_bpf_program_load(mw_bpf_code_t *code, const char *name, uint32_t attach_type,
			mw_error_t *error) {
	if (!mw_bpf_finish(code))
		return mw_error_set(error, "cannot load BPF program %s: too long", name);
	program_load_t attributes = {
		.type = BPF_PROG_TYPE_KPROBE,
		.count = code->count,
		.table = (uintptr_t)code->table,
		.license = (uintptr_t)LICENSE,
		.attach_type = attach_type,
	};
	snprintf(attributes.name, sizeof(attributes.name), "%s", name);
	int fd = (int)call(BPF_PROG_LOAD, &attributes, sizeof(attributes));
	return fd >= 0 ? fd : say_why(&attributes, name, error);
}

int mw_bpf_link_uprobes(int program, uint32_t attach_type, const char *path,
			const uint64_t *offsets, uint32_t count, int pid) {
	link_create_t attributes = {
		.program = (uint32_t)program,
		.attach_type = attach_type,
		.path = (uintptr_t)path,
		.offsets = (uintptr_t)offsets,
		.count = count,
		.pid = (uint32_t)pid,
	};
	return (int)call(BPF_LINK_CREATE, &attributes, sizeof(attributes));
}
