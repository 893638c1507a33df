/* SPDX-License-Identifier: MIT
 * test_dlopen.c -- walks through libraries that are loaded and unloaded, one at the place of the
 * other.  Arguments: two plugins whose function has the same address and another frame size. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "os/platform/arch.h"
#include "os/platform/libc_calls.h"
#include "os/unwind/object_table.h"
#include "prof/unwind/rule/rule_cache.h"
#include "prof/unwind/unwind.h"
#include "test.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

enum { ROUNDS = 300, THREADS = 6 };

typedef void plugin_fn(void (*function)(void *), void *argument);

typedef struct captured {
	uint64_t pcs[MW_UNWIND_DEPTH_MAX];
	mw_unwind_result_t result;
	uint64_t recognised; /* what was noted with it, by the words of the stack alone */
} captured_t;

static const char *paths[2];
static __thread bool has_walk_cache;

static bool is_in(uint64_t pc, const void *function) {
	return pc - (uint64_t)(uintptr_t)function < 400;
}

/* As malloc does. */
static NOINLINE void enter(captured_t *stack) {
	mw_unwind_entry = (const uintptr_t *)__builtin_frame_address(0);
	stack->recognised = mw_unwind_recognise(0);
	stack->result = mw_unwind_capture_caller(stack->pcs, NULL, MW_UNWIND_DEPTH_MAX);
	mw_unwind_entry = NULL;
}

static NOINLINE void capture(void *argument) {
	enter(argument);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void call_plugin(plugin_fn *plugin, captured_t *stack) {
	plugin(capture, stack);
	__asm__ volatile("" ::: "memory");
}

typedef struct visited {
	uint64_t pc; /* in the plugin */
	uint64_t stamps;
} visited_t;

/* Loads the plugin, walks through it (table, cache, walk cache), unloads it. */
static visited_t visit(const char *path) {
	captured_t stack;
	uint64_t stamps = 0;
	plugin_fn *plugin;
	void *handle = dlopen(path, RTLD_NOW);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(handle != NULL);
	*(void **)&plugin = dlsym(handle, "plugin_call");
	CHECK(plugin != NULL);
	/* As a sample does that met an unknown object. */
	struct dl_find_object found;
	if (mw_libc_calls._dl_find_object(*(void **)&plugin, &found) != 0)
		mw_os_object_table_refresh();
	for (unsigned i = 0; i < 4; i++) {
		call_plugin(plugin, &stack);
		CHECK(!stack.result.truncated);
		CHECK(is_in(stack.pcs[0], (const void *)capture));
		CHECK(is_in(stack.pcs[1], (const void *)plugin));
		CHECK(is_in(stack.pcs[2], (const void *)call_plugin));
		CHECK(mw_cache_find((uintptr_t)stack.pcs[1] - 1) & MW_CACHE_GUARDED);
		CHECK(!(mw_cache_find((uintptr_t)stack.pcs[2] - 1) & MW_CACHE_GUARDED));
		CHECK(stack.result.is_stamped && stack.result.stamps != 0);
		CHECK(i == 0 || stack.result.stamps == stamps);
		stamps = stack.result.stamps;
		/* With a walk cache a walk comes to be the one before again, in this library. */
		CHECK(stack.result.cached_value != 0 || i < 3 || !has_walk_cache);
		CHECK(stack.result.cached_value == 0 || stack.result.cached_value == stamps);
		/* On machines with a link register the walk begins further in. */
		CHECK(stack.recognised != 0 || i < 3 || !has_walk_cache || MW_OS_HAS_LINK_REGISTER);
		CHECK(stack.recognised == 0 || stack.recognised == stamps);
		mw_unwind_remember(stack.result.generation, stamps, 0);
	}
	CHECK(dlclose(handle) == 0);
	return (visited_t){.pc = stack.pcs[1], .stamps = stamps};
}

static void test_one_after_the_other(void) {
	unsigned same_place = 0;
	visited_t last = {0};
	for (unsigned i = 0; i < ROUNDS; i++) {
		visited_t now = visit(paths[i % 2]);
		same_place += now.pc == last.pc;
		/* Or its stack would be taken for the other's. */
		CHECK(now.stamps != last.stamps);
		last = now;
	}
	printf("# %u of %u loads at the place of the one before\n", same_place, ROUNDS);
	/* Or nothing was tested. */
	CHECK(same_place > 0);
}

/* As a thread does that samples often. */
static void get_walk_cache(void) {
	for (unsigned i = 1; i < 1000; i++)
		mw_unwind_sampled(1000 * i, false);
	has_walk_cache = true;
}

static void *visit_often(void *argument) {
	get_walk_cache();
	for (unsigned i = 0; i < ROUNDS; i++)
		visit(paths[(i + (argument != NULL)) % 2]);
	mw_unwind_thread_end();
	return NULL;
}

static void test_threads(void) {
	pthread_t threads[THREADS];
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_create(&threads[i], NULL, visit_often, i % 2 ? paths : NULL) == 0);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(pthread_join(threads[i], NULL) == 0);
}

int main(int argc, char **argv) {
	CHECK_EQ(argc, 3);
	mw_unwind_start();
	paths[0] = argv[1];
	paths[1] = argv[2];
	RUN(test_one_after_the_other);
	get_walk_cache();
	RUN(test_one_after_the_other);
	RUN(test_threads);
	return 0;
}
