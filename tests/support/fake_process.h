/* SPDX-License-Identifier: MIT
 * fake_process.h -- a state file and the process's side of its control page, without the library.
 * For tests of tools/mallow/live: the file has a header, a control and a live page, and one empty
 * page for each other section. */
#ifndef MW_TEST_FAKE_PROCESS_H
#define MW_TEST_FAKE_PROCESS_H

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "state/layout.h"
#include "state/stats.h"
#include "test.h"

typedef struct fake_state {
	mw_state_header_t *header;
	mw_state_control_t *control;
	mw_state_live_t *live;
	char path[512];
	int lock; /* opening that holds the file, as a live process does; -1: nobody */
} fake_state_t;

/* The pid namespace that the name of a file says. */
static inline unsigned long fake_state_namespace(void) {
	struct stat info;
	CHECK(stat("/proc/self/ns/pid", &info) == 0);
	return (unsigned long)info.st_ino;
}

/* From now on the process that made it lives, as long as anybody has this opening. */
static inline void fake_state_hold(fake_state_t *state) {
	struct flock lock = {.l_type = F_WRLCK,
			     .l_whence = SEEK_SET,
			     .l_start = MW_STATE_ALIVE_LOCK,
			     .l_len = 1};
	state->lock = open(state->path, O_RDWR | O_CLOEXEC);
	CHECK(state->lock >= 0 && fcntl(state->lock, F_OFD_SETLK, &lock) == 0);
}

static inline fake_state_t fake_state_create(const char *path, uint32_t pid, uint64_t start_ticks) {
	fake_state_t state;
	size_t bytes = MW_STATE_PAGE_BYTES * (MW_SECTION_COUNT + 1);
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0);
	char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(base != MAP_FAILED);
	close(fd);
	snprintf(state.path, sizeof(state.path), "%s", path);
	state.lock = -1;
	state.header = (mw_state_header_t *)base;
	state.control = (mw_state_control_t *)(base + MW_STATE_PAGE_BYTES);
	state.live = (mw_state_live_t *)(base + 2 * MW_STATE_PAGE_BYTES);
	*state.header = (mw_state_header_t){
		.magic = MW_STATE_MAGIC,
		.layout_version = MW_STATE_VERSION,
		.header_bytes = sizeof(mw_state_header_t),
		.file_bytes = bytes,
		.pid = pid,
		.uid = getuid(),
		.start_ticks = start_ticks,
		.pid_namespace = fake_state_namespace(),
		.section_count = MW_SECTION_COUNT,
		.program = "fake",
	};
	for (unsigned i = 0; i < MW_SECTION_COUNT; i++) {
		mw_state_section_t *section = &state.header->sections[i];
		section->offset_bytes = MW_STATE_PAGE_BYTES * (i + 1);
		section->stride_bytes = (uint32_t)mw_state_stride((mw_state_section_id_t)i);
		section->capacity =
			i < MW_SECTION_MODULES ? 1 : MW_STATE_PAGE_BYTES / section->stride_bytes;
	}
	state.live->mean_bytes = 524288;
	state.live->stat_count = MW_STAT_COUNT;
	state.control->want_mean_bytes = 524288;
	return state;
}

static inline void fake_state_remove(fake_state_t *state) {
	if (state->lock >= 0)
		close(state->lock);
	unlink(state->path);
	munmap(state->header, MW_STATE_PAGE_BYTES * (MW_SECTION_COUNT + 1));
}

/* What a refill does when it finds the sequence changed. */
static inline void fake_state_poll(fake_state_t *state) {
	mw_state_control_t *control = state->control;
	mw_state_live_t *live = state->live;
	uint32_t sequence = control->sequence;
	if (sequence == live->sequence_seen)
		return;
	if (control->want_active > 1 || control->want_mean_bytes == 0 ||
	    control->want_mean_bytes > MW_STATE_MEAN_BYTES_MAX) {
		live->rejected_sequence = sequence;
	} else {
		uint32_t active = control->want_active | control->lease_active;
		if (live->active != active)
			live->changed_realtime_ns = 1700000000000000000u + sequence;
		live->active = active;
		live->standing_active = control->want_active;
		live->heap_lease = control->lease_active;
		live->standing_cpu_hz = control->want_cpu_hz;
		live->cpu_lease_hz = control->lease_cpu_hz;
		live->cpu_hz = control->lease_cpu_hz ? control->lease_cpu_hz : control->want_cpu_hz;
		live->mean_bytes = control->want_mean_bytes;
		live->resets_done = control->want_resets;
		live->dumps_done = control->want_dumps;
		for (size_t i = 0; i < MW_SETTING_COUNT; i++)
			live->settings[i] = control->want_settings[i];
		memcpy(live->dump_name, control->want_dump_name, sizeof(live->dump_name));
	}
	/* Pairs with the acquire of the tool that waits. */
	atomic_store_explicit(&live->sequence_seen, sequence, memory_order_release);
}

/* A process that does nothing but look at its control page; ends when killed. */
static inline pid_t fake_process_start(fake_state_t *state) {
	pid_t pid = fork();
	CHECK(pid >= 0);
	while (pid == 0) {
		fake_state_poll(state);
		usleep(500);
	}
	return pid;
}

static inline void fake_process_end(pid_t pid) {
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
