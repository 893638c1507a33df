/* SPDX-License-Identifier: MIT
 * ended.c -- a file with a line "<key> <time>" for each process. */
#include "agent/spool/ended.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "model/memory.h"

static const char file_name[] = "ended";

/* Files that were not seen for so long are gone: the library keeps them for a day. */
#define KEPT_SECONDS ((int64_t)2 * 86400)
/* Most lines that are read. */
#define ITEMS_MAX 100000u

/* Returns where the key is, or belongs. */
static size_t place_of(const mw_ended_t *ended, uint64_t key) {
	size_t low = 0, high = ended->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (ended->items[middle].key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static mw_ended_item_t *find(const mw_ended_t *ended, uint64_t key) {
	size_t place = place_of(ended, key);
	return place < ended->count && ended->items[place].key == key ? &ended->items[place] : NULL;
}

void mw_ended_add(mw_ended_t *ended, uint64_t key, int64_t now_s) {
	size_t place = place_of(ended, key);
	if (find(ended, key) != NULL)
		return;
	ended->items =
		mw_grow(ended->items, &ended->capacity, ended->count + 1, sizeof(*ended->items));
	memmove(&ended->items[place + 1], &ended->items[place],
		(ended->count - place) * sizeof(*ended->items));
	ended->items[place] = (mw_ended_item_t){.key = key, .seen_s = now_s};
	ended->count++;
	ended->is_changed = true;
}

bool mw_ended_has(mw_ended_t *ended, uint64_t key, int64_t now_s) {
	mw_ended_item_t *item = find(ended, key);
	if (item != NULL)
		item->seen_s = now_s;
	return item != NULL;
}

static void read_lines(mw_ended_t *out) {
	char line[128];
	int fd = openat(out->folder->fd, file_name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *file = fd >= 0 ? fdopen(fd, "r") : NULL;
	if (file == NULL && fd >= 0)
		close(fd);
	while (file != NULL && out->count < ITEMS_MAX && fgets(line, sizeof(line), file) != NULL) {
		uint64_t key;
		int64_t seen_s;
		if (sscanf(line, "%16" SCNx64 " %" SCNd64 "\n", &key, &seen_s) == 2)
			mw_ended_add(out, key, seen_s);
	}
	if (file != NULL)
		fclose(file);
}

void mw_ended_open(mw_ended_t *out, const mw_agent_folder_t *folder, mw_spool_t *spool,
		   int64_t now_s) {
	*out = (mw_ended_t){.folder = folder};
	read_lines(out);
	out->is_changed = false;
	size_t count;
	mw_spool_entry_t *entries = mw_spool_list(spool, &count);
	for (size_t i = 0; i < count; i++)
		if (entries[i].is_last && !entries[i].is_time)
			mw_ended_add(out, entries[i].key, now_s);
	free(entries);
}

void mw_ended_close(mw_ended_t *ended) {
	free(ended->items);
	*ended = (mw_ended_t){0};
}

/* A clock that was far ahead left times in the future: they count as now. */
static void forget_old(mw_ended_t *ended, int64_t now_s) {
	size_t kept = 0;
	for (size_t i = 0; i < ended->count; i++) {
		mw_ended_item_t item = ended->items[i];
		if (item.seen_s > now_s)
			item.seen_s = now_s;
		if (now_s - item.seen_s <= KEPT_SECONDS)
			ended->items[kept++] = item;
	}
	ended->count = kept;
}

int mw_ended_save(mw_ended_t *ended, int64_t now_s, mw_error_t *error) {
	if (!ended->is_changed)
		return 0;
	forget_old(ended, now_s);
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	for (size_t i = 0; out != NULL && i < ended->count; i++)
		fprintf(out, "%016" PRIx64 " %" PRId64 "\n", ended->items[i].key,
			ended->items[i].seen_s);
	int result = out != NULL && fclose(out) == 0
			     ? mw_agent_folder_write(ended->folder, file_name, text, length)
			     : -1;
	int why = errno;
	free(text);
	if (result != 0)
		return mw_error_set(error, "%s/%s: %s", ended->folder->path, file_name,
				    strerror(why));
	ended->is_changed = false;
	return 0;
}
