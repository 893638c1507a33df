/* SPDX-License-Identifier: MIT
 * remote_bugs.c -- the remote word's operations as they are, or with a bug. */
#define SCHEDULE_BUGS_THEMSELVES
#include "remote_bugs.h"
#include "heap/layout/page.h"
#include "heap/layout/remote_word.h"

bool schedule_late_claims, schedule_full_unseen, schedule_last_unseen;

mw_remote_pushed_t schedule_push(mw_page_t *page, void *first, void *last, uint32_t count) {
	mw_remote_pushed_t pushed = mw_remote_push(page, first, last, count);
	if (schedule_late_claims && pushed != MW_REMOTE_SENT) {
		/* As if the push had left the flags; no other thread ran since. */
		*SCHEDULE_PLAIN(&page->remote) |=
			pushed == MW_REMOTE_TOOK ? MW_REMOTE_ABANDONED : MW_REMOTE_FLAGS;
		atomic_fetch_and_explicit(&page->remote, ~MW_REMOTE_FLAGS, memory_order_relaxed);
	}
	return pushed;
}

bool schedule_abandon_full(mw_page_t *page) {
	if (!schedule_full_unseen)
		return mw_remote_abandon_full(page);
	atomic_store_explicit(&page->remote, MW_REMOTE_ABANDONED, memory_order_relaxed);
	return true;
}

bool schedule_abandon_listed(mw_page_t *page, uint32_t used) {
	if (mw_remote_abandon_listed(page, used))
		return true;
	if (!schedule_last_unseen)
		return false;
	atomic_fetch_or_explicit(&page->remote, MW_REMOTE_FLAGS, memory_order_relaxed);
	return true;
}
