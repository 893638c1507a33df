/* SPDX-License-Identifier: MIT
 * hooks.c -- MallocHook: calls functions of the program for each allocation, free and mapping.
 *
 * A hook costs nothing while none is added: libmallow.so calls `see` for each sample, and every
 * allocation is a sample while hooks are there. It calls `see_mapping` before and after each call
 * of mmap(2), munmap(2), mremap(2) and sbrk(2) that the program or a library makes. */
#include <gperftools/malloc_hook_c.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/heap_profiler.h"

/* Hooks of one kind, besides the one of Set...Hook(), which has the last place. */
#define HOOKS_MAX 7
typedef struct hooks {
	_Atomic uintptr_t at[HOOKS_MAX + 1];
} hooks_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users; /* mw_gp_user_t */
#define WATCHING_USERS (MW_GP_USER_PROFILER | MW_GP_USER_HOOKS)
#define RECORDING_USERS (WATCHING_USERS | MW_GP_USER_CHECKER)
static bool watches_mappings;
static hooks_t new_hooks, delete_hooks, other_hooks[6];
enum { PRE_MMAP, MMAP, MUNMAP, MREMAP, PRE_SBRK, SBRK };

static void see(const void *block, size_t bytes, bool freed) {
	mw_gp_profiler_see(bytes, freed);
	hooks_t *hooks = freed ? &delete_hooks : &new_hooks;
	for (unsigned i = 0; i <= HOOKS_MAX; i++) {
		uintptr_t hook = atomic_load_explicit(&hooks->at[i], memory_order_acquire);
		if (MW_LIKELY(hook == 0))
			continue;
		if (freed)
			((MallocHook_DeleteHook)hook)(block);
		else
			((MallocHook_NewHook)hook)(block, bytes);
	}
}

/* Calls each hook of the list with the arguments, as a function of this type. */
#define CALL_ALL(list, type, ...)                                                                  \
	do {                                                                                       \
		for (unsigned i = 0; i <= HOOKS_MAX; i++) {                                        \
			uintptr_t hook =                                                           \
				atomic_load_explicit(&(list)->at[i], memory_order_acquire);        \
			if (hook)                                                                  \
				((type)hook)(__VA_ARGS__);                                         \
		}                                                                                  \
	} while (0)

static void call_mapping_hooks(const mw_mapping_call_t *call) {
	const hooks_t *hooks = other_hooks;
	bool is_before = call->is_before;
	if (call->function == MW_CALL_MMAP && is_before)
		CALL_ALL(&hooks[PRE_MMAP], MallocHook_PreMmapHook, call->address, call->length,
			 call->protection, call->flags, call->file, call->offset);
	else if (call->function == MW_CALL_MMAP)
		CALL_ALL(&hooks[MMAP], MallocHook_MmapHook, call->result, call->address,
			 call->length, call->protection, call->flags, call->file, call->offset);
	else if (call->function == MW_CALL_MUNMAP && is_before)
		CALL_ALL(&hooks[MUNMAP], MallocHook_MunmapHook, call->address, call->length);
	else if (call->function == MW_CALL_MREMAP && !is_before)
		CALL_ALL(&hooks[MREMAP], MallocHook_MremapHook, call->result, call->address,
			 call->length, call->new_length, call->flags, call->new_address);
	else if (call->function == MW_CALL_SBRK && is_before)
		CALL_ALL(&hooks[PRE_SBRK], MallocHook_PreSbrkHook, call->offset);
	else if (call->function == MW_CALL_SBRK)
		CALL_ALL(&hooks[SBRK], MallocHook_SbrkHook, call->result, call->offset);
}

/* Mappings that a hook makes call no hook. */
static void see_mapping(const mw_mapping_call_t *call) {
	static MW_TLS bool is_inside;
	if (is_inside)
		return;
	is_inside = true;
	mw_gp_profiler_see_mapping(call);
	call_mapping_hooks(call);
	is_inside = false;
}

static bool has_any(const hooks_t *hooks);

/* With the lock. */
static void watch_mappings(void) {
	bool wanted = users & MW_GP_USER_MAPPING_LOG;
	for (unsigned i = 0; i < sizeof other_hooks / sizeof *other_hooks; i++)
		wanted |= has_any(&other_hooks[i]);
	if (wanted != watches_mappings)
		mw_gp_calls()->watch_mappings(wanted ? see_mapping : NULL);
	watches_mappings = wanted;
}

/* With the lock. */
static void set_user(mw_gp_user_t user, bool on) {
	unsigned before = users;
	users = on ? users | user : users & ~(unsigned)user;
	const mw_compat_calls_t *calls = mw_gp_calls();
	bool watches = users & WATCHING_USERS, records = users & RECORDING_USERS;
	if (watches && !(before & WATCHING_USERS))
		calls->watch(see);
	if (records != ((before & RECORDING_USERS) != 0))
		calls->record_all(records);
	if (!watches && before & WATCHING_USERS)
		calls->watch(NULL);
}

void mw_gp_record(mw_gp_user_t user, bool on) {
	pthread_mutex_lock(&lock);
	set_user(user, on);
	watch_mappings();
	pthread_mutex_unlock(&lock);
}

static bool has_any(const hooks_t *hooks) {
	for (unsigned i = 0; i <= HOOKS_MAX; i++)
		if (hooks->at[i])
			return true;
	return false;
}

/* Writes the hook into a free place, or clears its place. Returns 0: there is none. */
static int change(hooks_t *hooks, uintptr_t from, uintptr_t to) {
	int done = 0;
	pthread_mutex_lock(&lock);
	for (unsigned i = 0; i < HOOKS_MAX && !done; i++)
		if (hooks->at[i] == from) {
			atomic_store_explicit(&hooks->at[i], to, memory_order_release);
			done = 1;
		}
	set_user(MW_GP_USER_HOOKS, has_any(&new_hooks) || has_any(&delete_hooks));
	watch_mappings();
	pthread_mutex_unlock(&lock);
	return done;
}

static int add(hooks_t *hooks, uintptr_t hook) {
	return hook ? change(hooks, 0, hook) : 0;
}

static int take_away(hooks_t *hooks, uintptr_t hook) {
	return hook ? change(hooks, hook, 0) : 0;
}

static uintptr_t set(hooks_t *hooks, uintptr_t hook) {
	pthread_mutex_lock(&lock);
	uintptr_t before =
		atomic_exchange_explicit(&hooks->at[HOOKS_MAX], hook, memory_order_acq_rel);
	set_user(MW_GP_USER_HOOKS, has_any(&new_hooks) || has_any(&delete_hooks));
	watch_mappings();
	pthread_mutex_unlock(&lock);
	return before;
}

#define HOOK(kind, hooks)                                                                          \
	int MallocHook_Add##kind##Hook(MallocHook_##kind##Hook hook) {                             \
		return add(hooks, (uintptr_t)hook);                                                \
	}                                                                                          \
	int MallocHook_Remove##kind##Hook(MallocHook_##kind##Hook hook) {                          \
		return take_away(hooks, (uintptr_t)hook);                                          \
	}                                                                                          \
	MallocHook_##kind##Hook MallocHook_Set##kind##Hook(MallocHook_##kind##Hook hook) {         \
		return (MallocHook_##kind##Hook)set(hooks, (uintptr_t)hook);                       \
	}
HOOK(New, &new_hooks)
HOOK(Delete, &delete_hooks)
HOOK(PreMmap, &other_hooks[PRE_MMAP])
HOOK(Mmap, &other_hooks[MMAP])
HOOK(Munmap, &other_hooks[MUNMAP])
HOOK(Mremap, &other_hooks[MREMAP])
HOOK(PreSbrk, &other_hooks[PRE_SBRK])
HOOK(Sbrk, &other_hooks[SBRK])

/* mmap(2) cannot be replaced.  The result 0 says that nothing was set. */
int MallocHook_SetMmapReplacement(MallocHook_MmapReplacement hook) {
	(void)hook;
	return 0;
}

int MallocHook_RemoveMmapReplacement(MallocHook_MmapReplacement hook) {
	(void)hook;
	return 0;
}

int MallocHook_SetMunmapReplacement(MallocHook_MunmapReplacement hook) {
	(void)hook;
	return 0;
}

int MallocHook_RemoveMunmapReplacement(MallocHook_MunmapReplacement hook) {
	(void)hook;
	return 0;
}

/* MallocHook::UnhookedMMap() and UnhookedMUnmap() */
MW_EXPORT void *_ZN10MallocHook12UnhookedMMapEPvmiiil(void *start, size_t length, int protection,
						      int flags, int fd, off_t offset);
MW_EXPORT int _ZN10MallocHook14UnhookedMUnmapEPvm(void *start, size_t length);

void *_ZN10MallocHook12UnhookedMMapEPvmiiil(void *start, size_t length, int protection, int flags,
					    int fd, off_t offset) {
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel's answer is a number. */
	return (void *)syscall(SYS_mmap, start, length, protection, flags, fd, offset);
}

int _ZN10MallocHook14UnhookedMUnmapEPvm(void *start, size_t length) {
	return (int)syscall(SYS_munmap, start, length);
}
