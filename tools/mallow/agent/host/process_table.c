/* SPDX-License-Identifier: MIT
 * process_table.c -- merges sorted lists. */
#include "agent/host/process_table.h"

#include <stdlib.h>
#include <string.h>

#include "agent/rules/stable_hash.h"
#include "model/memory.h"

/* Takes what was found anew; what is known of the process stays. */
static void renew(mw_agent_process_t *process, mw_found_process_t *found) {
	mw_search_free(&process->found);
	process->found = *found;
}

void mw_processes_merge(mw_agent_processes_t *processes, mw_search_list_t *list) {
	mw_agent_process_t *old = processes->items;
	size_t old_count = processes->count, i = 0, k = 0, count = 0;
	mw_agent_process_t *items = mw_xcalloc(old_count + list->count + 1, sizeof(*items));
	free(processes->gone);
	processes->gone = mw_xcalloc(old_count + 1, sizeof(*processes->gone));
	processes->gone_count = 0;
	while (i < old_count || k < list->count) {
		bool is_old = k == list->count ||
			      (i < old_count && old[i].found.key < list->items[k].key);
		bool is_new = i == old_count ||
			      (k < list->count && list->items[k].key < old[i].found.key);
		if (is_new) {
			items[count++].found = list->items[k++];
		} else if (!is_old || old[i].is_busy) {
			if (!is_old)
				renew(&old[i], &list->items[k++]);
			items[count++] = old[i++];
		} else {
			processes->gone[processes->gone_count++] = old[i].found.key;
			mw_search_free(&old[i++].found);
		}
	}
	free(old);
	free(list->items);
	*list = (mw_search_list_t){0};
	processes->items = items;
	processes->count = count;
}

mw_agent_process_t *mw_processes_find(const mw_agent_processes_t *processes, uint64_t key) {
	size_t low = 0, high = processes->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (processes->items[middle].found.key < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low < processes->count && processes->items[low].found.key == key
		       ? &processes->items[low]
		       : NULL;
}

void mw_processes_release(mw_agent_processes_t *processes) {
	for (size_t i = 0; i < processes->count; i++)
		mw_search_free(&processes->items[i].found);
	free(processes->items);
	free(processes->gone);
	*processes = (mw_agent_processes_t){0};
}

bool mw_processes_is_news(mw_agent_process_t *process, const char *message) {
	uint64_t hash = mw_stable_hash(MW_STABLE_HASH_SEED, message, strlen(message)) | 1;
	bool is_news = process->said != hash;
	process->said = hash;
	return is_news;
}
