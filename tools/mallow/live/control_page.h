/* SPDX-License-Identifier: MIT
 * control_page.h -- the control page of a live process, open: for control.c and sampling_lease.c.
 * Layer: live. */
#ifndef MW_TOOL_LIVE_CONTROL_PAGE_H
#define MW_TOOL_LIVE_CONTROL_PAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "live/control.h"
#include "live/process/reach.h"
#include "live/sampling_lease.h"
#include "model/error.h"
#include "state/layout.h"

typedef struct mw_control_page {
	mw_state_control_t *control;
	const mw_state_live_t *live;
	const mw_target_t *target;
	const mw_reach_t *reach; /* NULL: the process cannot be seen from here */
	const char *shown;
	int fd;
	uint64_t control_at, live_at; /* offsets in the file */
	bool hangs;                   /* it cannot be had to answer (MW_ENTRY_HANGS) */
} mw_control_page_t;

/* Returns -1, with an error, if the process is attached to and the request asks for what only
 * mallow as its allocator can do. */
static inline int mw_page_check_request(const mw_control_page_t *page, const mw_request_t *request,
					mw_error_t *error) {
	const char *what = NULL;
	if (request->kind == MW_REQUEST_LEAK_CHECK)
		what = "search for leaks";
	else if (request->kind == MW_REQUEST_TRIM)
		what = "give memory back";
	else if ((request->kind == MW_REQUEST_CPU && request->cpu_hz != 0) ||
		 (request->kind == MW_REQUEST_LEASE && request->lease->is_cpu))
		what = "sample CPU time";
	if (what == NULL || (page->live->flags & MW_STATE_ATTACHED) == 0)
		return 0;
	return mw_error_set(error,
			    "pid %d: it cannot %s, because mallow is not its allocator but "
			    "attached to it; start it with 'mallow run'",
			    page->target->pid, what);
}

/* Writes the words of the lease of MW_REQUEST_LEASE or MW_REQUEST_LEASE_END; other requests change
 * none. Called with the page's lock. Returns 1 if the process need not be told, -1 with an error.
 */
int mw_lease_change(const mw_control_page_t *page, const mw_request_t *request, mw_error_t *error);
/* Returns whether the process follows a lease that it has been told of. */
bool mw_lease_is_followed(const mw_control_page_t *page, const mw_lease_t *lease);

#endif
