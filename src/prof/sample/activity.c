/* SPDX-License-Identifier: MIT
 * activity.c -- switches sampling for single threads; the default for new threads. */
#include "prof/sample/activity.h"

MW_TLS unsigned mw_prof_ignoring;
MW_TLS unsigned mw_prof_exempting;
MW_TLS mw_prof_activity_t mw_prof_thread_activity;

_Atomic bool mw_prof_threads_start_inactive;

void mw_prof_set_threads_start_active(bool active) {
	atomic_store_explicit(&mw_prof_threads_start_inactive, !active, memory_order_relaxed);
}

void mw_prof_set_thread_active(bool active) {
	mw_prof_thread_activity = active ? MW_PROF_THREAD_ACTIVE : MW_PROF_THREAD_INACTIVE;
}
