/* SPDX-License-Identifier: MIT
 * replacements.c -- the functions that the program calls in place of its allocator's. A function
 * whose allocator's calls no other one ends in a jump. The others end the countdown's look while
 * they call: an allocator that serves calloc() by malloc(), through a slot of its own, would have
 * the block counted twice. */
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>

#include "attach/blob.h"
#include "attach/live_filter.h"
#include "attach/thread_records.h"
#include "os/platform/arch.h"

#define ORIGINAL(name, type) ((type *)mw_attach_work.original[MW_ATTACH_##name])

/* Counts the bytes. Returns false if the thread has to look at what is due, or its record is not at
 * its home. */
MW_ALWAYS_INLINE bool count(size_t bytes) {
	uintptr_t self = mw_os_thread_pointer();
	mw_attach_thread_t *thread = mw_attach_home_of(self);
	/* Relaxed: see owner_of(). */
	return MW_LIKELY(atomic_load_explicit(&thread->owner, memory_order_relaxed) == self) &&
	       MW_LIKELY((thread->until_look_bytes -= (int64_t)bytes) > 0);
}

/* A call of the allocator that may call other replacements. */
typedef struct shield {
	mw_attach_thread_t *thread; /* NULL: the thread has no record */
	int64_t until_look_bytes;
} shield_t;

MW_ALWAYS_INLINE shield_t raise_over(mw_attach_thread_t *thread, int64_t bytes) {
	shield_t shield = {thread, thread->until_look_bytes - bytes};
	thread->until_look_bytes = MW_ATTACH_NEVER;
	return shield;
}

static MW_COLD shield_t raise_slowly(size_t bytes, bool is_counted) {
	mw_attach_thread_t *thread = mw_attach_thread_while_on();
	bool is_home = thread == mw_attach_home_of(mw_os_thread_pointer());
	return thread ? raise_over(thread, is_counted && is_home ? 0 : (int64_t)bytes)
		      : (shield_t){NULL, 0};
}

MW_ALWAYS_INLINE shield_t raise_shield(size_t bytes) {
	uintptr_t self = mw_os_thread_pointer();
	mw_attach_thread_t *thread = mw_attach_home_of(self);
	if (MW_LIKELY(atomic_load_explicit(&thread->owner, memory_order_relaxed) == self))
		return raise_over(thread, (int64_t)bytes);
	return raise_slowly(bytes, false);
}

MW_ALWAYS_INLINE void lower_shield(shield_t shield, void *block, size_t bytes,
				   const uintptr_t *frame) {
	if (!shield.thread)
		return;
	shield.thread->until_look_bytes = shield.until_look_bytes;
	if (MW_UNLIKELY(shield.until_look_bytes <= 0))
		mw_attach_account(block, bytes, frame);
}

#define FRAME ((const uintptr_t *)__builtin_frame_address(0))

/* A function that ends in a jump. `call`: the allocator's function, with the parameters; `slowly`:
 * a call that does not throw. `mw_attach_##name##_slowly` counts after count() did. */
#define JUMPS(name, type, parameters, arguments, bytes, slowly)                                    \
	static MW_COLD void *name##_slowly parameters {                                            \
		shield_t shield = raise_slowly(bytes, true);                                       \
		void *block = slowly;                                                              \
		lower_shield(shield, block, bytes, FRAME);                                         \
		return block;                                                                      \
	}                                                                                          \
	MW_TAIL_CALLER void *mw_attach_##name parameters;                                          \
	void *mw_attach_##name parameters {                                                        \
		if (count(bytes))                                                                  \
			MW_TAIL_CALL ORIGINAL(name, type) arguments;                               \
		MW_TAIL_CALL name##_slowly arguments;                                              \
	}

typedef void *sized_t(size_t bytes);
JUMPS(malloc, sized_t, (size_t bytes), (bytes), bytes, ORIGINAL(malloc, sized_t)(bytes))

typedef void *flagged_t(size_t bytes, int flags);
JUMPS(mallocx, flagged_t, (size_t bytes, int flags), (bytes, flags), bytes,
      ORIGINAL(mallocx, flagged_t)(bytes, flags))

/* Operators that throw: an exception cannot pass the blob's frames. A sample is taken of what the
 * operator that returns NULL gives; if that is nothing, the program calls the one that throws. */
typedef void *nothrow_t(size_t bytes, const void *tag);
typedef void *aligned_new_t(size_t bytes, size_t align);
typedef void *aligned_nothrow_t(size_t bytes, size_t align, const void *tag);

#define THROWS(name, other, type, other_type, parameters, arguments, other_arguments)              \
	static MW_COLD void *name##_sampled parameters {                                           \
		shield_t shield = raise_slowly(bytes, true);                                       \
		void *block = ORIGINAL(other, other_type) other_arguments;                         \
		lower_shield(shield, block, bytes, FRAME);                                         \
		return block;                                                                      \
	}                                                                                          \
	static MW_COLD MW_TAIL_CALLER void *name##_slowly parameters {                             \
		void *block = ORIGINAL(other, other_type) ? name##_sampled arguments : NULL;       \
		if (block)                                                                         \
			return block;                                                              \
		MW_TAIL_CALL ORIGINAL(name, type) arguments;                                       \
	}                                                                                          \
	MW_TAIL_CALLER void *mw_attach_##name parameters;                                          \
	void *mw_attach_##name parameters {                                                        \
		if (count(bytes))                                                                  \
			MW_TAIL_CALL ORIGINAL(name, type) arguments;                               \
		MW_TAIL_CALL name##_slowly arguments;                                              \
	}

THROWS(new, new_n, sized_t, nothrow_t, (size_t bytes), (bytes), (bytes, ""))
THROWS(new_array, new_array_n, sized_t, nothrow_t, (size_t bytes), (bytes), (bytes, ""))
THROWS(new_a, new_an, aligned_new_t, aligned_nothrow_t, (size_t bytes, size_t align),
       (bytes, align), (bytes, align, ""))
THROWS(new_array_a, new_array_an, aligned_new_t, aligned_nothrow_t, (size_t bytes, size_t align),
       (bytes, align), (bytes, align, ""))

/* A function that returns here. */
#define RETURNS(name, type, parameters, arguments, bytes)                                          \
	void *mw_attach_##name parameters;                                                         \
	void *mw_attach_##name parameters {                                                        \
		shield_t shield = raise_shield(bytes);                                             \
		void *block = ORIGINAL(name, type) arguments;                                      \
		lower_shield(shield, block, bytes, FRAME);                                         \
		return block;                                                                      \
	}

typedef void *pair_t(size_t first, size_t second);
RETURNS(calloc, pair_t, (size_t count, size_t size), (count, size), count *size)
RETURNS(memalign, pair_t, (size_t align, size_t bytes), (align, bytes), bytes)
RETURNS(aligned_alloc, pair_t, (size_t align, size_t bytes), (align, bytes), bytes)
RETURNS(valloc, sized_t, (size_t bytes), (bytes), bytes)
RETURNS(pvalloc, sized_t, (size_t bytes), (bytes), bytes)
RETURNS(new_n, nothrow_t, (size_t bytes, const void *tag), (bytes, tag), bytes)
RETURNS(new_array_n, nothrow_t, (size_t bytes, const void *tag), (bytes, tag), bytes)
RETURNS(new_an, aligned_nothrow_t, (size_t bytes, size_t align, const void *tag),
	(bytes, align, tag), bytes)
RETURNS(new_array_an, aligned_nothrow_t, (size_t bytes, size_t align, const void *tag),
	(bytes, align, tag), bytes)

typedef int posix_memalign_t(void **block, size_t align, size_t bytes);
int mw_attach_posix_memalign(void **block, size_t align, size_t bytes);
int mw_attach_posix_memalign(void **block, size_t align, size_t bytes) {
	shield_t shield = raise_shield(bytes);
	int result = ORIGINAL(posix_memalign, posix_memalign_t)(block, align, bytes);
	lower_shield(shield, result == 0 ? *block : NULL, bytes, FRAME);
	return result;
}

/* The allocator frees the old block only if it succeeds; `bytes` of 0 may mean success, too. */
#define RESIZES(name, type, parameters, arguments)                                                 \
	void *mw_attach_##name parameters;                                                         \
	void *mw_attach_##name parameters {                                                        \
		uint32_t record = mw_attach_may_be_live(old) ? mw_attach_sample_at(old) : 0;       \
		shield_t shield = raise_shield(bytes);                                             \
		void *block = ORIGINAL(name, type) arguments;                                      \
		if (MW_UNLIKELY(record != 0) && (block || bytes == 0))                             \
			mw_attach_freed(old, record);                                              \
		lower_shield(shield, block, bytes, FRAME);                                         \
		return block;                                                                      \
	}

typedef void *realloc_t(void *old, size_t bytes);
typedef void *rallocx_t(void *old, size_t bytes, int flags);
RESIZES(realloc, realloc_t, (void *old, size_t bytes), (old, bytes))
RESIZES(rallocx, rallocx_t, (void *old, size_t bytes, int flags), (old, bytes, flags))

static MW_COLD void leave(const void *block) {
	uint32_t record = mw_attach_sample_at(block);
	if (record)
		mw_attach_freed(block, record);
}

#define FREES(name, type, parameters, arguments)                                                   \
	typedef void type parameters;                                                              \
	static MW_COLD MW_TAIL_CALLER void name##_slowly parameters {                              \
		leave(block);                                                                      \
		MW_TAIL_CALL ORIGINAL(name, type) arguments;                                       \
	}                                                                                          \
	MW_TAIL_CALLER void mw_attach_##name parameters;                                           \
	void mw_attach_##name parameters {                                                         \
		if (mw_attach_may_be_live(block))                                                  \
			MW_TAIL_CALL name##_slowly arguments;                                      \
		MW_TAIL_CALL ORIGINAL(name, type) arguments;                                       \
	}

FREES(free, free_t, (void *block), (block))
FREES(delete, delete_t, (void *block), (block))
FREES(delete_array, delete_array_t, (void *block), (block))
FREES(delete_n, delete_n_t, (void *block, const void *tag), (block, tag))
FREES(delete_array_n, delete_array_n_t, (void *block, const void *tag), (block, tag))
FREES(delete_s, delete_s_t, (void *block, size_t bytes), (block, bytes))
FREES(delete_array_s, delete_array_s_t, (void *block, size_t bytes), (block, bytes))
FREES(delete_a, delete_a_t, (void *block, size_t align), (block, align))
FREES(delete_array_a, delete_array_a_t, (void *block, size_t align), (block, align))
FREES(delete_sa, delete_sa_t, (void *block, size_t bytes, size_t align), (block, bytes, align))
FREES(delete_array_sa, delete_array_sa_t, (void *block, size_t bytes, size_t align),
      (block, bytes, align))
FREES(delete_an, delete_an_t, (void *block, size_t align, const void *tag), (block, align, tag))
FREES(delete_array_an, delete_array_an_t, (void *block, size_t align, const void *tag),
      (block, align, tag))
FREES(dallocx, dallocx_t, (void *block, int flags), (block, flags))
FREES(sdallocx, sdallocx_t, (void *block, size_t bytes, int flags), (block, bytes, flags))

/* The call is a jump: dlopen(3) uses the run paths and the namespace of the object that contains
 * its return address. The thread's next allocation looks for modules that came. */
typedef void *dlopen_t(const char *file, int mode);
MW_TAIL_CALLER void *mw_attach_dlopen(const char *file, int mode);
void *mw_attach_dlopen(const char *file, int mode) {
	mw_attach_thread_t *thread = mw_attach_thread_while_on();
	if (thread && !thread->is_inside) {
		thread->is_after_dlopen = true;
		thread->rest_bytes += thread->until_look_bytes;
		thread->until_look_bytes = 0;
	}
	MW_TAIL_CALL ORIGINAL(dlopen, dlopen_t)(file, mode);
}

/* A filter of system calls ends the program at a call that is not in its list. A process without
 * rights calls prctl(PR_SET_NO_NEW_PRIVS) before it sets one, by whatever call. */
typedef int prctl_t(int option, unsigned long a, unsigned long b, unsigned long c, unsigned long d);
MW_TAIL_CALLER int mw_attach_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
				   unsigned long d);
int mw_attach_prctl(int option, unsigned long a, unsigned long b, unsigned long c,
		    unsigned long d) {
	if (option == PR_SET_NO_NEW_PRIVS || option == PR_SET_SECCOMP)
		mw_attach_before_filter();
	MW_TAIL_CALL ORIGINAL(prctl, prctl_t)(option, a, b, c, d);
}

mw_attach_module_t mw_attach_modules[MW_ATTACH_MODULES_MAX] MW_SPARSE;
mw_attach_slot_t mw_attach_slots[MW_ATTACH_SLOTS_MAX] MW_SPARSE;

mw_attach_work_t mw_attach_work = {
	.version = MW_ATTACH_VERSION,
	.work_bytes = sizeof(mw_attach_work_t),
	.modules = (uintptr_t)mw_attach_modules,
	.slots = (uintptr_t)mw_attach_slots,
	.replacement =
		{
#define REPLACEMENT(name, symbol) [MW_ATTACH_##name] = (uintptr_t)&mw_attach_##name,
			MW_ATTACH_FUNCTIONS(REPLACEMENT)
#undef REPLACEMENT
		},
};
