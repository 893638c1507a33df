/* SPDX-License-Identifier: MIT
 * remote_bugs.h -- included before each source of the heap in the schedule tests: operations on the
 * remote word of a page (heap/layout/remote_word.h) with one precaution left out, when a test says
 * so. */
#ifndef SCHEDULE_REMOTE_BUGS_H
#define SCHEDULE_REMOTE_BUGS_H

#include "points.h"

#include "heap/layout/remote_word.h"

/* A push that takes the page clears the flags in a step of its own; a full page is given up though
 * a block came back; a page is listed though its last block came back. */
extern bool schedule_late_claims, schedule_full_unseen, schedule_last_unseen;

/* In the place of the functions of the same names. */
mw_remote_pushed_t schedule_push(mw_page_t *page, void *first, void *last, uint32_t count);
bool schedule_abandon_full(mw_page_t *page);
bool schedule_abandon_listed(mw_page_t *page, uint32_t used);

#ifndef SCHEDULE_BUGS_THEMSELVES
#define mw_remote_push(page, first, last, count) schedule_push(page, first, last, count)
#define mw_remote_abandon_full(page) schedule_abandon_full(page)
#define mw_remote_abandon_listed(page, used) schedule_abandon_listed(page, used)
#endif

#endif
