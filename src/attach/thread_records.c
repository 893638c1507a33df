/* SPDX-License-Identifier: MIT
 * thread_records.c -- claims records, and finds the thread-local variables in them. */
#include "attach/thread_records.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "attach/blob.h"
#include "os/file/proc.h"
#include "os/platform/arch.h"
#include "os/platform/system_call.h"
#include "prof/sample/sampler.h"
#include "prof/unwind/unwind.h"

/* Records that a thread may have, behind its home. */
#define PROBES 16u
#define PREPARING ((uintptr_t)1)

mw_attach_wiped_t mw_attach_wiped MW_SPARSE;

/* Record of a thread that was entered and found none. The entry code lets one thread in. */
static mw_attach_thread_t spare;

static mw_attach_thread_t *at(const mw_attach_thread_t *home, unsigned probe) {
	size_t index = (size_t)(home - mw_attach_wiped.threads) + probe;
	return &mw_attach_wiped.threads[index % MW_ATTACH_THREADS];
}

static uintptr_t owner_of(mw_attach_thread_t *record) {
	/* Relaxed: only the owner compares it with its own thread pointer. */
	return atomic_load_explicit(&record->owner, memory_order_relaxed);
}

static mw_attach_thread_t *find(uintptr_t self) {
	mw_attach_thread_t *home = mw_attach_home_of(self);
	for (unsigned i = 0; i < PROBES; i++) {
		mw_attach_thread_t *record = at(home, i);
		if ((owner_of(record) & ~PREPARING) == self)
			return record;
	}
	return NULL;
}

/* Name and signature are the compiler's: it asks for the block of the variables that are marked
 * MW_TLS (base/compiler.h). */
void *__tls_get_addr(const void *unused);
void *__tls_get_addr(const void *unused) {
	(void)unused;
	uintptr_t self = mw_os_thread_pointer();
	mw_attach_thread_t *record = mw_attach_home_of(self);
	if (MW_UNLIKELY((owner_of(record) & ~PREPARING) != self))
		record = find(self);
	return record ? record->tls : spare.tls;
}

/* The record is the calling thread's. */
static void prepare(mw_attach_thread_t *record) {
	mw_unwind_thread_end();
	memset(record->tls, 0, sizeof record->tls);
	memset(&record->hooks, 0, sizeof record->hooks);
	record->thread_id = mw_os_thread_id();
	record->until_look_bytes = record->rest_bytes = 0;
	record->draw_generation = 0;
	record->is_inside = record->is_after_dlopen = false;
	mw_sampler_start(mw_sampler_of(&record->hooks));
	mw_sampler_of(&record->hooks)->thread_id = record->thread_id;
}

static bool take(mw_attach_thread_t *record, uintptr_t before, uintptr_t self) {
	/* Acquire: the record is read after it is taken. */
	if (!atomic_compare_exchange_strong_explicit(&record->owner, &before, self | PREPARING,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	prepare(record);
	atomic_signal_fence(memory_order_seq_cst);
	atomic_store_explicit(&record->owner, self, memory_order_release);
	return true;
}

/* How many calls found no free record, between two searches for threads that have ended. */
#define CALLS_BETWEEN_SEARCHES 1024u
static _Atomic uint32_t refused;

static bool is_over(uint32_t thread_id) {
	return mw_enter_kernel(SYS_tgkill, mw_os_process_id(), thread_id, 0, 0, 0, 0) == -ESRCH;
}

static mw_attach_thread_t *claim(uintptr_t self) {
	mw_attach_thread_t *home = mw_attach_home_of(self);
	for (unsigned i = 0; i < PROBES; i++)
		if (owner_of(at(home, i)) == 0 && take(at(home, i), 0, self))
			return at(home, i);
	if (atomic_fetch_add_explicit(&refused, 1, memory_order_relaxed) % CALLS_BETWEEN_SEARCHES)
		return NULL;
	for (unsigned i = 0; i < PROBES; i++) {
		mw_attach_thread_t *record = at(home, i);
		uintptr_t owner = owner_of(record);
		if (!(owner & PREPARING) && is_over(record->thread_id) && take(record, owner, self))
			return record;
	}
	return NULL;
}

mw_attach_thread_t *mw_attach_thread(void) {
	uintptr_t self = mw_os_thread_pointer();
	mw_attach_thread_t *record = find(self);
	if (record)
		/* A signal handler interrupted claim(). */
		return MW_LIKELY(owner_of(record) == self) ? record : NULL;
	if (mw_attach_is_parent())
		return claim(self);
	/* A forked child: the allocator's functions are called directly from now on, but for the
	 * replacements' few instructions. */
	record = mw_attach_home_of(self);
	record->thread_id = 0;
	record->until_look_bytes = MW_ATTACH_NEVER;
	atomic_store_explicit(&record->owner, self, memory_order_relaxed);
	return record;
}

mw_attach_thread_t *mw_attach_thread_while_on(void) {
	if (mw_attach_state() == MW_ATTACH_ON)
		return mw_attach_thread();
	uintptr_t self = mw_os_thread_pointer();
	mw_attach_thread_t *record = mw_attach_home_of(self);
	if (owner_of(record) == self)
		record->until_look_bytes = MW_ATTACH_NEVER;
	return NULL;
}

mw_attach_thread_t *mw_attach_entered_thread(void) {
	mw_attach_thread_t *record = mw_attach_thread();
	return record ? record : &spare;
}

bool mw_attach_begin(mw_attach_thread_t *record) {
	bool is_own = record->thread_id == mw_os_thread_id();
	/* A thread that ended inside has left its record like that. */
	if (record->is_inside && is_own)
		return false;
	record->is_inside = true;
	atomic_signal_fence(memory_order_seq_cst);
	if (MW_UNLIKELY(!is_own)) {
		prepare(record);
		record->is_inside = true;
	}
	return true;
}

void mw_attach_wake_threads(void) {
	for (unsigned i = 0; i < MW_ATTACH_THREADS; i++) {
		mw_attach_thread_t *record = &mw_attach_wiped.threads[i];
		if (owner_of(record) != 0)
			*(volatile int64_t *)&record->until_look_bytes = 0;
	}
}

bool mw_attach_threads_start(void) {
	char *start = (char *)&mw_attach_wiped;
	if (mw_system_call(SYS_madvise, start, sizeof mw_attach_wiped, MADV_DONTNEED) != 0 ||
	    mw_system_call(SYS_madvise, start, sizeof mw_attach_wiped, MADV_WIPEONFORK) != 0)
		return false;
	mw_attach_wiped.is_parent = true;
	return true;
}
