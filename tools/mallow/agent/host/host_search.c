/* SPDX-License-Identifier: MIT
 * host_search.c -- the search, and the list in a file. */
#include "agent/host/host_search.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "agent/rules/stable_hash.h"
#include "model/memory.h"

/* One place in the list's file.  The place's two paths follow the record, without a NUL. */
typedef struct record {
	uint64_t key;
	mw_place_t place;
	uint32_t path_bytes, shown_bytes;
} record_t;

typedef struct file_head {
	uint64_t count, left_out, closed_count;
	uid_t closed[16];
} file_head_t;

/* Most bytes of a list: each entry has two paths. */
#define LIST_BYTES_MAX                                                                             \
	((off_t)MW_SEARCH_MAX * (off_t)(sizeof(record_t) + 2 * (PATH_MAX + NAME_MAX)))

uint64_t mw_host_search_key(const char *boot, uint64_t device, uint64_t inode) {
	uint64_t hash = mw_stable_hash(MW_STABLE_HASH_SEED, boot, strlen(boot));
	hash = mw_stable_hash(hash, &device, sizeof(device));
	return mw_stable_hash_spread(mw_stable_hash(hash, &inode, sizeof(inode)));
}

static void read_boot_id(char id[64]) {
	int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
	ssize_t got = fd >= 0 ? read(fd, id, 63) : 0;
	id[got > 0 ? got : 0] = '\0';
	id[strcspn(id, "\n")] = '\0';
	if (fd >= 0)
		close(fd);
}

/* Users other than this one that have state files; root reads all. */
static void find_closed(file_head_t *head) {
	DIR *entries = geteuid() != 0 ? opendir("/dev/shm") : NULL;
	const struct dirent *entry;
	while (entries != NULL && (entry = readdir(entries)) != NULL) {
		char *end;
		struct stat info;
		if (strncmp(entry->d_name, "mallow-", 7) != 0 || entry->d_name[7] < '0' ||
		    entry->d_name[7] > '9')
			continue;
		unsigned long uid = strtoul(entry->d_name + 7, &end, 10);
		if (*end == '\0' && uid <= UINT_MAX && (uid_t)uid != geteuid() &&
		    fstatat(dirfd(entries), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISDIR(info.st_mode) && info.st_uid == (uid_t)uid &&
		    head->closed_count < sizeof(head->closed) / sizeof(head->closed[0]))
			head->closed[head->closed_count++] = (uid_t)uid;
	}
	if (entries != NULL)
		closedir(entries);
}

int mw_host_search(int file) {
	char boot[64];
	mw_places_t places = {0};
	file_head_t head = {0};
	FILE *out = fdopen(file, "w");
	if (out == NULL)
		return -1;
	read_boot_id(boot);
	mw_places_add_all(&places);
	head.count = places.count < MW_SEARCH_MAX ? places.count : MW_SEARCH_MAX;
	head.left_out = places.count - head.count;
	find_closed(&head);
	fwrite(&head, sizeof(head), 1, out);
	for (size_t i = 0; i < head.count; i++) {
		const mw_place_t *place = &places.items[i];
		record_t record = {.key = mw_host_search_key(boot, place->device, place->inode),
				   .place = *place,
				   .path_bytes = (uint32_t)strlen(place->path),
				   .shown_bytes = (uint32_t)strlen(place->shown)};
		fwrite(&record, sizeof(record), 1, out);
		fwrite(place->path, 1, record.path_bytes, out);
		fwrite(place->shown, 1, record.shown_bytes, out);
	}
	mw_places_release(&places);
	return fclose(out) == 0 ? 0 : -1;
}

/* The bytes of a file that are not read yet. */
typedef struct rest {
	const char *at;
	size_t bytes;
} rest_t;

static bool take(rest_t *rest, void *to, size_t bytes) {
	if (rest->bytes < bytes)
		return false;
	memcpy(to, rest->at, bytes);
	rest->at += bytes;
	rest->bytes -= bytes;
	return true;
}

static char *take_path(rest_t *rest, uint32_t bytes) {
	if (rest->bytes < bytes)
		return NULL;
	char *path = mw_xcalloc((size_t)bytes + 1, 1);
	take(rest, path, bytes);
	return path;
}

static int compare_found(const void *a, const void *b) {
	uint64_t left = ((const mw_found_process_t *)a)->key,
		 right = ((const mw_found_process_t *)b)->key;
	return (left > right) - (left < right);
}

/* Two names of one file, or a file that was seen twice, count once. */
static void drop_doubles(mw_search_list_t *list) {
	size_t kept = 0;
	for (size_t i = 0; i < list->count; i++) {
		if (kept > 0 && list->items[kept - 1].key == list->items[i].key)
			mw_search_free(&list->items[i]);
		else
			list->items[kept++] = list->items[i];
	}
	list->count = kept;
}

static int read_list(rest_t rest, mw_search_list_t *out, mw_error_t *error) {
	file_head_t head;
	if (!take(&rest, &head, sizeof(head)) || head.count > MW_SEARCH_MAX ||
	    head.closed_count > sizeof(head.closed) / sizeof(head.closed[0]))
		return mw_error_set(error, "the search has left no list");
	out->items = mw_xcalloc(head.count + 1, sizeof(*out->items));
	out->left_out = head.left_out;
	out->closed_count = head.closed_count;
	memcpy(out->closed, head.closed, sizeof(out->closed));
	for (uint64_t i = 0; i < head.count; i++) {
		record_t record;
		if (!take(&rest, &record, sizeof(record)))
			return mw_error_set(error, "the search has not ended its list");
		mw_found_process_t *found = &out->items[out->count++];
		*found = (mw_found_process_t){.key = record.key, .place = record.place};
		found->place.path = take_path(&rest, record.path_bytes);
		found->place.shown = take_path(&rest, record.shown_bytes);
		if (found->place.path == NULL || found->place.shown == NULL)
			return mw_error_set(error, "the search has not ended its list");
	}
	qsort(out->items, out->count, sizeof(*out->items), compare_found);
	drop_doubles(out);
	return 0;
}

int mw_host_search_read(int file, mw_search_list_t *out, mw_error_t *error) {
	struct stat info;
	*out = (mw_search_list_t){0};
	if (fstat(file, &info) != 0 || info.st_size > LIST_BYTES_MAX)
		return mw_error_set(error, "the search has left no list");
	size_t bytes = (size_t)info.st_size, done = 0;
	char *text = mw_xcalloc(bytes + 1, 1);
	ssize_t got = 1;
	while (done < bytes && got > 0) {
		got = pread(file, text + done, bytes - done, (off_t)done);
		done += got > 0 ? (size_t)got : 0;
	}
	int result = read_list((rest_t){.at = text, .bytes = done}, out, error);
	free(text);
	if (result != 0)
		mw_host_search_release(out);
	return result;
}

void mw_search_free(mw_found_process_t *found) {
	free(found->place.path);
	free(found->place.shown);
	found->place.path = found->place.shown = NULL;
}

void mw_host_search_release(mw_search_list_t *list) {
	for (size_t i = 0; i < list->count; i++)
		mw_search_free(&list->items[i]);
	free(list->items);
	*list = (mw_search_list_t){0};
}
