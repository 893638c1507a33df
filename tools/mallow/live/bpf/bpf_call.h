/* SPDX-License-Identifier: MIT
 * bpf_call.h -- maps, programs and links by bpf(2).
 * Layer: live/bpf.  Everything that is made here is a descriptor: it ends with the last process
 * that has it, also when that is killed. */
#ifndef MW_TOOL_LIVE_BPF_BPF_CALL_H
#define MW_TOOL_LIVE_BPF_BPF_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "live/bpf/bpf_code.h"
#include "model/error.h"

/* Values of later headers than those of Linux 6.1. */
enum {
	MW_BPF_TRACE_UPROBE_MULTI = 48,
	MW_BPF_TRACE_UPROBE_SESSION = 57,
};

typedef struct mw_bpf_map_shape {
	const char *name; /* at most 15 letters, digits and '_' */
	uint32_t type;    /* BPF_MAP_TYPE_... */
	uint32_t key_bytes, value_bytes, entries;
} mw_bpf_map_shape_t;

/* Returns the descriptor, or -1. */
int mw_bpf_map_new(const mw_bpf_map_shape_t *shape, mw_error_t *error);
/* Reads, writes a value.  False: there is no such key, or the map is full. */
bool mw_bpf_map_read(int map, const void *key, void *value);
bool mw_bpf_map_write(int map, const void *key, const void *value);
/* Finds the key behind `key` (NULL: the first one).  False: there is none. */
bool mw_bpf_map_next(int map, const void *key, void *next);

/* Loads a program for uprobes; attach_type: 0 for perf events.  Returns the descriptor, or -1; the
 * error has the line in which the kernel's verifier says why. */
int mw_bpf_program_load(mw_bpf_code_t *code, const char *name, uint32_t attach_type,
			mw_error_t *error);

/* Attaches a program to the byte offsets of a file, in one process.  Returns the descriptor of the
 * link, or -1 with errno. */
int mw_bpf_link_uprobes(int program, uint32_t attach_type, const char *path,
			const uint64_t *offsets, uint32_t count, int pid);

/* What the kernel's verifier said last, of its whole log: one line, without the counts that end it.
 * Changes the log. */
const char *mw_bpf_verifier_reason(char *log);

/* Says which right is missing, if the kernel refused bpf(2) or perf_event_open(2) for that reason.
 */
int mw_bpf_refused(const char *what, int number, mw_error_t *error);

#endif
