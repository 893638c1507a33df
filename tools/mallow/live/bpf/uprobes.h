/* SPDX-License-Identifier: MIT
 * uprobes.h -- attaches programs to places in a file, as one process runs it.
 * Layer: live/bpf.  A probe ends with its descriptor, and so with this command. */
#ifndef MW_TOOL_LIVE_BPF_UPROBES_H
#define MW_TOOL_LIVE_BPF_UPROBES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/error.h"

/* A zeroed one is empty. */
typedef struct mw_uprobes {
	int *fds;
	size_t count, capacity;
} mw_uprobes_t;

typedef struct mw_uprobe_places {
	int file; /* descriptor of the file */
	const uint64_t *offsets;
	uint32_t count;
	int pid;
	bool at_return; /* perf events only: where the function returns */
} mw_uprobe_places_t;

/* Attaches a program by a link of this attach type, or with attach_type 0 by perf events, which
 * kernels before 6.6 have, too. */
int mw_uprobes_attach(mw_uprobes_t *probes, int program, uint32_t attach_type,
		      const mw_uprobe_places_t *places, mw_error_t *error);
void mw_uprobes_detach(mw_uprobes_t *probes);

#endif
