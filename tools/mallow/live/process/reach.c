/* SPDX-License-Identifier: MIT
 * reach.c -- compares pid, start time and mappings with what was found before. */
#include "live/process/reach.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "live/process/maps.h"
#include "live/process/process.h"

static bool has_ended(int pidfd) {
	struct pollfd process = {.fd = pidfd, .events = POLLIN};
	return pidfd >= 0 && poll(&process, 1, 0) != 0;
}

static int say_other(const mw_process_key_t *key, mw_error_t *error) {
	int pid = key->pid;
	if (mw_process_is_closed(pid))
		return mw_error_set(error,
				    "pid %d: the process has more privileges than you by now, or "
				    "is not dumpable (prctl(2))",
				    pid);
	return mw_error_set(error, "pid %d: the process has %s", pid,
			    mw_process_end(pid, key->start_ticks));
}

bool mw_reach_holds(const mw_reach_t *reach) {
	const mw_process_key_t *key = &reach->key;
	bool is_same = mw_process_is_alive(key->pid, key->start_ticks) &&
		       (key->inode == 0 || mw_process_maps_file(key->pid, key->device, key->inode));
	/* Asked last: what was read before was of this process if that has not ended. */
	return is_same && !has_ended(reach->pidfd);
}

int mw_reach_open(const mw_process_key_t *key, mw_reach_t *out, mw_error_t *error) {
	int pidfd = (int)syscall(SYS_pidfd_open, key->pid, 0);
	*out = (mw_reach_t){.key = *key, .pidfd = pidfd};
	if (pidfd < 0 && errno == ESRCH)
		return say_other(key, error);
	if (mw_reach_holds(out))
		return 0;
	mw_reach_close(out);
	return say_other(key, error);
}

void mw_reach_close(mw_reach_t *reach) {
	if (reach->pidfd >= 0)
		close(reach->pidfd);
	reach->pidfd = -1;
}

bool mw_reach_has_thread(const mw_reach_t *reach, int thread) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d", reach->key.pid, thread);
	return access(path, F_OK) == 0 && !has_ended(reach->pidfd);
}

typedef struct rights {
	unsigned users[4], groups[4];  /* real, effective, saved, of files */
	uint64_t permitted, effective; /* capabilities */
} rights_t;

static bool read_rights(const char *pid, rights_t *out) {
	char path[64], line[256];
	int found = 0;
	snprintf(path, sizeof(path), "/proc/%s/status", pid);
	FILE *file = fopen(path, "re");
	while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
		unsigned *ids = strncmp(line, "Uid:", 4) == 0   ? out->users
				: strncmp(line, "Gid:", 4) == 0 ? out->groups
								: NULL;
		if (ids != NULL)
			found += sscanf(line + 4, "%u %u %u %u", &ids[0], &ids[1], &ids[2],
					&ids[3]) == 4;
		found += sscanf(line, "CapPrm: %" SCNx64, &out->permitted) == 1;
		found += sscanf(line, "CapEff: %" SCNx64, &out->effective) == 1;
	}
	if (file != NULL)
		fclose(file);
	return found == 4;
}

static bool are_all(const unsigned ids[4], unsigned id) {
	return ids[0] == id && ids[1] == id && ids[2] == id;
}

bool mw_thread_exceeds_command(int thread) {
	char name[32], link[64];
	rights_t theirs, ours;
	struct stat their_namespace, our_namespace;
	snprintf(name, sizeof(name), "%d", thread);
	snprintf(link, sizeof(link), "/proc/%d/ns/user", thread);
	if (!read_rights(name, &theirs) || !read_rights("self", &ours))
		return true;
	if (stat(link, &their_namespace) != 0 || stat("/proc/self/ns/user", &our_namespace) != 0)
		return true;
	if (their_namespace.st_ino != our_namespace.st_ino)
		return false;
	bool has_ids = ours.users[1] == 0 || (are_all(theirs.users, ours.users[1]) &&
					      are_all(theirs.groups, ours.groups[1]));
	return !has_ids || (theirs.permitted & ~ours.effective) != 0;
}
