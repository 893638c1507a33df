/* SPDX-License-Identifier: MIT
 * spool.c -- names, order and bound of the entries. */
#include "agent/spool/spool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "model/memory.h"

/* "<20 digits>.<16 hexadecimal digits>.<live|last>.<heap|time>.pb.gz" */
static void make_name(mw_spool_entry_t *entry) {
	snprintf(entry->name, sizeof(entry->name), "%020" PRIu64 ".%016" PRIx64 ".%s.%s.pb.gz",
		 entry->time_ns, entry->key, entry->is_last ? "last" : "live",
		 entry->is_time ? "time" : "heap");
}

/* Reads a name.  False: the file is none of the agent's. */
static bool parse_name(const char *name, mw_spool_entry_t *out) {
	char fate[5], part[5];
	*out = (mw_spool_entry_t){0};
	if (strlen(name) >= sizeof(out->name) ||
	    sscanf(name, "%20" SCNu64 ".%16" SCNx64 ".%4[a-z].%4[a-z].pb.gz", &out->time_ns,
		   &out->key, fate, part) != 4)
		return false;
	out->is_last = strcmp(fate, "last") == 0;
	out->is_time = strcmp(part, "time") == 0;
	make_name(out);
	return strcmp(out->name, name) == 0;
}

static int compare_entries(const void *a, const void *b) {
	return strcmp(((const mw_spool_entry_t *)a)->name, ((const mw_spool_entry_t *)b)->name);
}

mw_spool_entry_t *mw_spool_list(mw_spool_t *spool, size_t *count) {
	mw_spool_entry_t *entries = mw_xcalloc(1, sizeof(*entries)), entry;
	size_t capacity = 1;
	*count = 0;
	spool->bytes = 0;
	int fd = openat(spool->ready, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
	if (names == NULL && fd >= 0)
		close(fd);
	const struct dirent *found;
	struct stat info;
	while (names != NULL && (found = readdir(names)) != NULL) {
		if (!parse_name(found->d_name, &entry) ||
		    fstatat(spool->ready, found->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
			continue;
		entry.bytes = (uint64_t)info.st_size;
		spool->bytes += entry.bytes;
		entries = mw_grow(entries, &capacity, *count + 1, sizeof(*entries));
		entries[(*count)++] = entry;
	}
	if (names != NULL)
		closedir(names);
	qsort(entries, *count, sizeof(*entries), compare_entries);
	spool->count = *count;
	return entries;
}

static void empty_folder(int folder) {
	int fd = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *names = fd >= 0 ? fdopendir(fd) : NULL;
	if (names == NULL && fd >= 0)
		close(fd);
	const struct dirent *found;
	while (names != NULL && (found = readdir(names)) != NULL)
		if (strcmp(found->d_name, ".") != 0 && strcmp(found->d_name, "..") != 0)
			unlinkat(folder, found->d_name, 0);
	if (names != NULL)
		closedir(names);
}

int mw_spool_open(mw_spool_t *out, const mw_agent_folder_t *folder, uint64_t limit_bytes,
		  mw_error_t *error) {
	*out = (mw_spool_t){.folder = folder, .fresh = -1, .ready = -1, .limit_bytes = limit_bytes};
	out->fresh = mw_agent_folder_part(folder, "new", error);
	out->ready = out->fresh >= 0 ? mw_agent_folder_part(folder, "ready", error) : -1;
	if (out->ready < 0) {
		mw_spool_close(out);
		return -1;
	}
	empty_folder(out->fresh);
	size_t count;
	mw_spool_entry_t *entries = mw_spool_list(out, &count);
	out->last_ns = count > 0 ? entries[count - 1].time_ns : 0;
	free(entries);
	return 0;
}

void mw_spool_close(mw_spool_t *spool) {
	if (spool->fresh >= 0)
		close(spool->fresh);
	if (spool->ready >= 0)
		close(spool->ready);
	*spool = (mw_spool_t){.fresh = -1, .ready = -1};
}

static const char ending[] = ".pb.gz";
static const char time_ending[] = ".time.pb.gz";

static void new_name(uint64_t key, bool is_time, char name[MW_SPOOL_NAME_BYTES]) {
	snprintf(name, MW_SPOOL_NAME_BYTES, "%016" PRIx64 "%s", key,
		 is_time ? time_ending : ending);
}

void mw_spool_new_path(const mw_spool_t *spool, uint64_t key, char *path, size_t size) {
	char name[MW_SPOOL_NAME_BYTES];
	new_name(key, false, name);
	snprintf(path, size, "%s/new/%s", spool->folder->path, name);
}

void mw_spool_time_path(const char *path, char *time_path, size_t size) {
	snprintf(time_path, size, "%.*s%s", (int)(strlen(path) - (sizeof(ending) - 1)), path,
		 time_ending);
}

void mw_spool_discard(const mw_spool_t *spool, uint64_t key) {
	char name[MW_SPOOL_NAME_BYTES];
	for (int is_time = 0; is_time < 2; is_time++) {
		new_name(key, is_time, name);
		unlinkat(spool->fresh, name, 0);
	}
}

void mw_spool_path(const mw_spool_t *spool, const mw_spool_entry_t *entry, char *path,
		   size_t size) {
	snprintf(path, size, "%s/ready/%s", spool->folder->path, entry->name);
}

int mw_spool_remove(mw_spool_t *spool, const mw_spool_entry_t *entry) {
	if (mw_agent_folder_step(spool->folder, "unlink") != 0 ||
	    unlinkat(spool->ready, entry->name, 0) != 0)
		return -1;
	spool->bytes -= entry->bytes < spool->bytes ? entry->bytes : spool->bytes;
	spool->count -= spool->count > 0;
	return 0;
}

static void add_loss(mw_spool_loss_t *loss, const mw_spool_entry_t *entry) {
	if (loss->count++ == 0 || entry->time_ns < loss->first_ns)
		loss->first_ns = entry->time_ns;
	if (entry->time_ns > loss->last_ns)
		loss->last_ns = entry->time_ns;
	loss->bytes += entry->bytes;
}

/* Removes the oldest entries until the others keep to the bound.  The counts in memory may be
 * behind the sender: they are taken anew first. */
static void drop_oldest(mw_spool_t *spool, mw_spool_loss_t *loss) {
	size_t count;
	if (spool->bytes <= spool->limit_bytes)
		return;
	mw_spool_entry_t *entries = mw_spool_list(spool, &count);
	for (size_t i = 0; i < count && spool->bytes > spool->limit_bytes; i++)
		if (mw_spool_remove(spool, &entries[i]) == 0)
			add_loss(loss, &entries[i]);
	free(entries);
}

/* Commits one of the two entries.  -1 with errno; ENOENT: it is not there. */
static int commit(mw_spool_t *spool, mw_spool_entry_t *entry, uint64_t now_ns) {
	char name[MW_SPOOL_NAME_BYTES];
	struct stat info;
	entry->time_ns = now_ns > spool->last_ns ? now_ns : spool->last_ns + 1;
	make_name(entry);
	new_name(entry->key, entry->is_time, name);
	if (fstatat(spool->fresh, name, &info, AT_SYMLINK_NOFOLLOW) != 0 ||
	    mw_agent_folder_step(spool->folder, "commit") != 0 ||
	    renameat(spool->fresh, name, spool->ready, entry->name) != 0)
		return -1;
	spool->last_ns = entry->time_ns;
	spool->bytes += (uint64_t)info.st_size;
	spool->count++;
	return 0;
}

int mw_spool_commit(mw_spool_t *spool, uint64_t key, bool is_last, uint64_t now_ns,
		    mw_spool_loss_t *loss, mw_error_t *error) {
	mw_spool_entry_t heap = {.key = key, .is_last = is_last};
	mw_spool_entry_t cpu = {.key = key, .is_last = is_last, .is_time = true};
	/* The heap's entry says that the process was pushed: it comes last. */
	if ((commit(spool, &cpu, now_ns) != 0 && errno != ENOENT) ||
	    commit(spool, &heap, now_ns) != 0)
		return mw_error_set(error, "%s/ready: %s", spool->folder->path, strerror(errno));
	drop_oldest(spool, loss);
	return 0;
}

void mw_spool_limit(mw_spool_t *spool, uint64_t limit_bytes, mw_spool_loss_t *loss) {
	spool->limit_bytes = limit_bytes;
	drop_oldest(spool, loss);
}
