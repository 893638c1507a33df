/* SPDX-License-Identifier: MIT
 * uprobes.c -- links of bpf(2), and perf events of the kind "uprobe". */
#include "live/bpf/uprobes.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/bpf/bpf_call.h"
#include "model/memory.h"

#define UPROBE_TYPE "/sys/bus/event_source/devices/uprobe/type"

static void keep(mw_uprobes_t *probes, int fd) {
	probes->fds = mw_grow(probes->fds, &probes->capacity, probes->count + 1, sizeof(int));
	probes->fds[probes->count++] = fd;
}

void mw_uprobes_detach(mw_uprobes_t *probes) {
	for (size_t i = 0; i < probes->count; i++)
		close(probes->fds[i]);
	free(probes->fds);
	*probes = (mw_uprobes_t){.fds = NULL};
}

/* Returns the number of this kind of perf events; -1: the kernel has none. */
static int uprobe_type(void) {
	int type = -1;
	FILE *file = fopen(UPROBE_TYPE, "re");
	if (file == NULL || fscanf(file, "%d", &type) != 1)
		type = -1;
	if (file != NULL)
		fclose(file);
	return type;
}

static int attach_event(int program, int type, const char *path, uint64_t offset,
			const mw_uprobe_places_t *places) {
	struct perf_event_attr event = {
		.size = sizeof(event),
		.type = (uint32_t)type,
		.config = places->at_return,
		.uprobe_path = (uintptr_t)path,
		.probe_offset = offset,
	};
	int fd = (int)syscall(SYS_perf_event_open, &event, places->pid, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -1;
	if (ioctl(fd, PERF_EVENT_IOC_SET_BPF, program) == 0 &&
	    ioctl(fd, PERF_EVENT_IOC_ENABLE, 0) == 0)
		return fd;
	int number = errno;
	close(fd);
	errno = number;
	return -1;
}

int mw_uprobes_attach(mw_uprobes_t *probes, int program, uint32_t attach_type,
		      const mw_uprobe_places_t *places, mw_error_t *error) {
	char path[64];
	/* Not the name of the file, which another file may have by now. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", places->file);
	if (places->count == 0)
		return 0;
	if (attach_type != 0) {
		int fd = mw_bpf_link_uprobes(program, attach_type, path, places->offsets,
					     places->count, places->pid);
		if (fd < 0)
			return mw_bpf_refused("uprobes", errno, error);
		keep(probes, fd);
		return 0;
	}
	int type = uprobe_type();
	if (type < 0)
		return mw_error_set(error, "uprobes: this kernel has none (CONFIG_UPROBES)");
	for (uint32_t i = 0; i < places->count; i++) {
		int fd = attach_event(program, type, path, places->offsets[i], places);
		if (fd < 0)
			return mw_bpf_refused("uprobes", errno, error);
		keep(probes, fd);
	}
	return 0;
}
