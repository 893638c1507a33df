/* SPDX-License-Identifier: MIT
 * arenas.c -- arenas that a program makes, with memory from functions of its own, as RocksDB, folly
 * and memkind use them.  Written for both libraries, as api.c. */
#include <errno.h>
#include <jemalloc/jemalloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

static uint64_t arena_word(unsigned arena, const char *field) {
	char name[128];
	uint64_t value = 0, epoch = 1;
	size_t length = sizeof value;
	CHECK_EQ(mallctl("epoch", NULL, NULL, &epoch, sizeof epoch), 0);
	snprintf(name, sizeof name, "stats.arenas.%u.%s", arena, field);
	CHECK_EQ(mallctl(name, &value, &length, NULL, 0), 0);
	return value;
}

static int arena_call(unsigned arena, const char *verb) {
	char name[64];
	snprintf(name, sizeof name, "arena.%u.%s", arena, verb);
	return mallctl(name, NULL, NULL, NULL, 0);
}

static unsigned create(extent_hooks_t *hooks) {
	unsigned arena = 0;
	size_t length = sizeof arena;
	CHECK_EQ(mallctl("arenas.create", &arena, &length, hooks ? (void *)&hooks : NULL,
			 hooks ? sizeof hooks : 0),
		 0);
	return arena;
}

static unsigned arena_of(void *block) {
	unsigned arena = 0;
	size_t length = sizeof arena;
	CHECK_EQ(mallctl("arenas.lookup", &arena, &length, (void *)&block, sizeof block), 0);
	return arena;
}

/* ---- hooks that hand on what the arena's own would do, and remember it ---- */

enum { EXTENTS = 4096 };
static struct {
	extent_hooks_t own;
	extent_hooks_t *original;
	struct {
		char *base;
		size_t bytes;
	} extents[EXTENTS];
	int live, purges;
	bool refuse;
} hooked;

static int find(const void *block) {
	for (int i = 0; i < EXTENTS; i++)
		if (hooked.extents[i].base && (const char *)block >= hooked.extents[i].base &&
		    (const char *)block < hooked.extents[i].base + hooked.extents[i].bytes)
			return i;
	return -1;
}

static void remember(void *base, size_t bytes) {
	int i = 0;
	while (hooked.extents[i].base)
		i++;
	hooked.extents[i].base = base;
	hooked.extents[i].bytes = bytes;
	hooked.live++;
}

static void *hook_alloc(extent_hooks_t *hooks, void *wanted, size_t bytes, size_t align, bool *zero,
			bool *commit, unsigned arena) {
	CHECK(hooks == &hooked.own && arena > 0);
	if (hooked.refuse)
		return NULL;
	void *base =
		hooked.original->alloc(hooked.original, wanted, bytes, align, zero, commit, arena);
	if (base) {
		CHECK(((uintptr_t)base & (align - 1)) == 0);
		CHECK_EQ(madvise(base, bytes, MADV_DONTDUMP), 0);
		remember(base, bytes);
		free(malloc(100)); /* a hook may allocate */
	}
	return base;
}

static void forget(const void *base, size_t bytes) {
	int i = find(base);
	CHECK(i >= 0 && hooked.extents[i].base == base);
	CHECK_EQ(hooked.extents[i].bytes, bytes);
	hooked.extents[i].base = NULL;
	hooked.live--;
}

static bool hook_dalloc(extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
			unsigned arena) {
	(void)hooks;
	CHECK(find(base) >= 0);
	/* jemalloc's own refuses: it keeps what it got. */
	bool refused = hooked.original->dalloc(hooked.original, base, bytes, committed, arena);
	if (!refused)
		forget(base, bytes);
	return refused;
}

static void hook_destroy(extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
			 unsigned arena) {
	(void)hooks;
	forget(base, bytes);
	hooked.original->destroy(hooked.original, base, bytes, committed, arena);
}

static bool hook_purge(extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
		       size_t length, unsigned arena) {
	CHECK(find(base) >= 0 && offset + length <= bytes);
	(void)hooks;
	hooked.purges++;
	return hooked.original->purge_forced(hooked.original, base, bytes, offset, length, arena);
}

static bool no_cut(extent_hooks_t *hooks, void *base, size_t bytes, size_t first, size_t second,
		   bool committed, unsigned arena) {
	(void)hooks, (void)base, (void)bytes, (void)first, (void)second;
	(void)committed, (void)arena;
	return true;
}

static bool no_join(extent_hooks_t *hooks, void *first, size_t first_bytes, void *second,
		    size_t second_bytes, bool committed, unsigned arena) {
	(void)hooks, (void)first, (void)first_bytes, (void)second, (void)second_bytes;
	(void)committed, (void)arena;
	return true;
}

/* RocksDB's way: an arena like any other, whose hooks are read, copied, changed and set. */
static unsigned create_hooked(void) {
	unsigned arena = create(NULL);
	char name[64];
	size_t length = sizeof hooked.original;
	snprintf(name, sizeof name, "arena.%u.extent_hooks", arena);
	CHECK_EQ(mallctl(name, (void *)&hooked.original, &length, NULL, 0), 0);
	CHECK(hooked.original && hooked.original->alloc && hooked.original->dalloc);
	hooked.own = *hooked.original;
	hooked.own.alloc = hook_alloc;
	hooked.own.dalloc = hook_dalloc;
	hooked.own.destroy = hook_destroy;
	hooked.own.purge_lazy = hooked.own.purge_forced = hook_purge;
	hooked.own.decommit = NULL;
	hooked.own.split = no_cut;
	hooked.own.merge = no_join;
	extent_hooks_t *own = &hooked.own, *before = NULL;
	CHECK_EQ(mallctl(name, (void *)&before, &length, (void *)&own, sizeof own), 0);
	CHECK(before == hooked.original);
	CHECK_EQ(mallctl(name, (void *)&before, &length, NULL, 0), 0);
	CHECK(before == own);
	return arena;
}

static bool is_mallow(void) {
	const char *version = "";
	size_t length = sizeof version;
	CHECK_EQ(mallctl("version", (void *)&version, &length, NULL, 0), 0);
	return strstr(version, "mallow") != NULL;
}

static bool is_zero(const char *block, size_t bytes) {
	while (bytes-- > 0)
		if (block[bytes])
			return false;
	return true;
}

static void memory_comes_from_hooks(void) {
	unsigned arena = create_hooked();
	int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
	static const size_t sizes[] = {1, 8, 100, 3000, 20000, 70000, 1000000, 3000000, 20000000};
	enum { SIZES = sizeof sizes / sizeof *sizes, ROUNDS = 20 };
	static char *blocks[ROUNDS][SIZES];
	for (int turn = 0; turn < 3; turn++) {
		for (int r = 0; r < ROUNDS; r++)
			for (int s = 0; s < SIZES; s++) {
				int more = r % 2 ? MALLOCX_ZERO : MALLOCX_ALIGN(4096);
				char *block = blocks[r][s] = mallocx(sizes[s], flags | more);
				CHECK(block && find(block) >= 0);
				CHECK(find(block + sizes[s] - 1) == find(block));
				CHECK(r % 2 == 0 || is_zero(block, sizes[s]));
				CHECK(r % 2 || ((uintptr_t)block & 4095) == 0);
				CHECK_EQ(arena_of(block), arena);
				CHECK(sallocx(block, 0) >= sizes[s]);
				memset(block, r + s, sizes[s]);
			}
		for (int r = 0; r < ROUNDS; r++)
			for (int s = 0; s < SIZES; s++) {
				char *block = blocks[r][s];
				CHECK(block[0] == (char)(r + s) &&
				      block[sizes[s] - 1] == (char)(r + s));
				if (r % 3 == 0)
					free(block);
				else
					dallocx(block, MALLOCX_TCACHE_NONE);
			}
	}
	/* jemalloc's free() has put some into the thread's cache, for any malloc(). */
	CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	void *volatile other = malloc(100);
	CHECK(find(other) < 0);
	CHECK_EQ(arena_of(other), 0);
	CHECK_EQ(arena_call(arena, "purge"), 0);
	CHECK(hooked.purges > 0 || hooked.live == 0);
	/* What a hook refuses is refused to the program, and nothing else. */
	hooked.refuse = true;
	CHECK(mallocx((size_t)100 << 20, flags) == NULL);
	hooked.refuse = false;
	void *again = mallocx((size_t)100 << 20, flags);
	CHECK(again && find(again) >= 0);
	void *moved = rallocx(other, 5000, flags);
	CHECK(moved && find(moved) >= 0);
	CHECK_EQ(arena_call(arena, "destroy"), 0);
	/* jemalloc keeps some for good. */
	CHECK(hooked.live == 0 || !is_mallow());
}

static void statistics_are_the_arenas_own(void) {
	unsigned arena = create(NULL);
	uint64_t rest = arena_word(0, "small.allocated") + arena_word(0, "large.allocated");
	enum { COUNT = 1000 };
	static void *blocks[COUNT];
	for (int i = 0; i < COUNT; i++)
		blocks[i] = mallocx(3000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
	void *large = mallocx(500000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
	uint64_t want = COUNT * nallocx(3000, 0);
	/* The hardened library's blocks hold a little more. */
	CHECK_NEAR((double)arena_word(arena, "small.allocated"), (double)want, (double)want / 20);
	CHECK_EQ(arena_word(arena, "small.nmalloc"), COUNT);
	CHECK_NEAR((double)arena_word(arena, "large.allocated"), (double)sallocx(large, 0), 20000);
	CHECK(arena_word(arena, "pactive") >= (want + 500000) / 4096);
	CHECK_NEAR((double)(arena_word(0, "small.allocated") + arena_word(0, "large.allocated")),
		   (double)rest, 100000);
	CHECK(arena_word(4096, "small.allocated") >= want);
	for (int i = 0; i < COUNT; i++)
		dallocx(blocks[i], MALLOCX_TCACHE_NONE);
	dallocx(large, MALLOCX_TCACHE_NONE);
	CHECK_EQ(arena_word(arena, "small.allocated"), 0);
	CHECK_EQ(arena_word(arena, "small.ndalloc"), COUNT);
	CHECK_EQ(arena_word(arena, "large.allocated"), 0);
	CHECK_EQ(arena_call(arena, "purge"), 0);
	CHECK_EQ(arena_word(arena, "pdirty"), 0);
}

static void reset_frees_all(void) {
	unsigned arena = create(NULL);
	int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
	for (int turn = 0; turn < 20; turn++) {
		for (size_t size = 1; size < (size_t)8 << 20; size = size * 2 + 1)
			memset(mallocx(size, flags), 1, size);
		CHECK(arena_word(arena, "small.allocated") > 10000);
		CHECK(arena_word(arena, "large.allocated") > 8000000);
		CHECK_EQ(arena_call(arena, "reset"), 0);
		CHECK_EQ(arena_word(arena, "small.allocated"), 0);
		CHECK_EQ(arena_word(arena, "large.allocated"), 0);
	}
	CHECK(arena_word(arena, "mapped") + arena_word(arena, "retained") < (size_t)120 << 20);
	CHECK_EQ(arena_call(0, "reset"), EFAULT);
	CHECK_EQ(arena_call(0, "destroy"), EFAULT);
	CHECK_EQ(arena_call(arena, "destroy"), 0);
	/* The number is given again. */
	CHECK_EQ(create(NULL), arena);
}

static void *bound_thread(void *number) {
	unsigned arena = *(unsigned *)number, before = 99;
	size_t length = sizeof before;
	void *early = malloc(100);
	CHECK_EQ(mallctl("thread.arena", &before, &length, &arena, sizeof arena), 0);
	CHECK_EQ(mallctl("thread.tcache.flush", NULL, NULL, NULL, 0), 0);
	CHECK(arena_of(early) != arena);
	for (int turn = 0; turn < 3; turn++) {
		char *blocks[200];
		for (int i = 0; i < 200; i++) {
			size_t size = (size_t)1 << (i % 20);
			blocks[i] = i % 3 == 0   ? calloc(1, size)
				    : i % 3 == 1 ? malloc(size)
						 : aligned_alloc(256, size);
			CHECK_EQ(arena_of(blocks[i]), arena);
			CHECK(i % 3 != 0 || is_zero(blocks[i], size));
			memset(blocks[i], 1, size);
		}
		CHECK_EQ(arena_call(arena, "destroy"), EFAULT);
		for (int i = 0; i < 200; i++)
			free(blocks[i]);
	}
	free(early);
	CHECK_EQ(mallctl("thread.arena", &arena, &length, &before, sizeof before), 0);
	for (int i = 0; i < 100; i++) {
		void *volatile block = malloc(100);
		CHECK(i < 90 || arena_of(block) == before);
	}
	CHECK_EQ(mallctl("thread.arena", NULL, NULL, &arena, sizeof arena), 0);
	return NULL;
}

static void threads_are_bound(void) {
	unsigned arena = create(NULL);
	for (int i = 0; i < 3; i++) {
		pthread_t thread;
		CHECK_EQ(pthread_create(&thread, NULL, bound_thread, &arena), 0);
		pthread_join(thread, NULL);
	}
	/* The threads that were bound have ended. */
	CHECK_EQ(arena_call(arena, "destroy"), 0);
}

enum { THREADS = 4, PLACES = 64 };
static struct {
	unsigned arena;
	_Atomic(char *) places[PLACES];
} shared;

/* Blocks are freed by whichever thread finds them. */
static void *exchange(void *seed) {
	unsigned state = (unsigned)(uintptr_t)seed;
	for (int i = 0; i < 20000; i++) {
		state = state * 1103515245 + 12345;
		size_t size = 1 + (state >> 8) % 9000;
		char *block = mallocx(size, MALLOCX_ARENA(shared.arena) | MALLOCX_TCACHE_NONE);
		CHECK(block);
		block[0] = block[size - 1] = 1;
		char *old = atomic_exchange(&shared.places[(state >> 4) % PLACES], block);
		if (old)
			dallocx(old, MALLOCX_TCACHE_NONE);
	}
	return NULL;
}

static void threads_share_an_arena(void) {
	pthread_t threads[THREADS];
	shared.arena = create(NULL);
	for (uintptr_t i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&threads[i], NULL, exchange, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	uint64_t live = arena_word(shared.arena, "small.nmalloc") -
			arena_word(shared.arena, "small.ndalloc");
	CHECK(live <= PLACES);
	for (int i = 0; i < PLACES; i++)
		if (shared.places[i])
			dallocx(shared.places[i], MALLOCX_TCACHE_NONE);
	CHECK_EQ(arena_word(shared.arena, "small.allocated"), 0);
	CHECK_EQ(arena_call(shared.arena, "destroy"), 0);
}

/* Hooks that keep what they gave: it is used again, whole or in part, and destroyed at the end. */
static bool keep_all(extent_hooks_t *hooks, void *base, size_t bytes, bool committed,
		     unsigned arena) {
	(void)hooks, (void)committed, (void)arena;
	int i = find(base);
	CHECK(i >= 0 && hooked.extents[i].base == base && hooked.extents[i].bytes == bytes);
	return true;
}

static void refused_extents_are_used_again(void) {
	unsigned arena = create_hooked();
	hooked.own.dalloc = keep_all;
	int before = hooked.live, flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
	for (size_t size = (size_t)64 << 20; size > (size_t)40 << 20; size -= 1234567) {
		char *block = mallocx(size, flags | MALLOCX_ZERO);
		CHECK(block && is_zero(block, size));
		memset(block, 1, size);
		sdallocx(block, size, MALLOCX_TCACHE_NONE);
	}
	CHECK(hooked.live - before <= 3 || !is_mallow());
	CHECK_EQ(arena_call(arena, "destroy"), 0);
	CHECK(hooked.live == before || !is_mallow());
}

static void fork_takes_arenas_along(void) {
	unsigned arena = create(NULL);
	int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
	char *block = mallocx(1000, flags);
	strcpy(block, "parent's");
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		CHECK(strcmp(block, "parent's") == 0);
		dallocx(block, MALLOCX_TCACHE_NONE);
		for (size_t size = 1; size < (size_t)8 << 20; size *= 3)
			dallocx(memset(mallocx(size, flags), 1, size), MALLOCX_TCACHE_NONE);
		CHECK_EQ(arena_call(arena, "destroy"), 0);
		CHECK_EQ(create(NULL), arena);
		_exit(0);
	}
	int status;
	CHECK_EQ(waitpid(child, &status, 0), child);
	CHECK_EQ(status, 0);
	CHECK(strcmp(block, "parent's") == 0);
	CHECK_EQ(arena_call(arena, "destroy"), 0);
}

static atomic_bool stopping;

static void *purge_all(void *unused) {
	while (!stopping)
		CHECK_EQ(arena_call(4096, "purge"), 0);
	return unused;
}

static extent_hooks_t slow, *fast;

/* Long enough for somebody else to destroy the arena. */
static bool purge_slowly(extent_hooks_t *hooks, void *base, size_t bytes, size_t offset,
			 size_t length, unsigned arena) {
	(void)hooks;
	usleep(100);
	return fast->purge_forced(fast, base, bytes, offset, length, arena);
}

static void *make_and_destroy(void *unused) {
	for (int i = 0; i < 300; i++) {
		unsigned arena = create(&slow);
		int flags = MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE;
		char *kept = mallocx(1000, flags);
		strcpy(kept, "mine");
		dallocx(memset(mallocx(300000, flags), 1, 300000), MALLOCX_TCACHE_NONE);
		CHECK(strcmp(kept, "mine") == 0);
		CHECK_EQ(arena_of(kept), arena);
		usleep(50); /* somebody has begun to purge it */
		CHECK_EQ(arena_call(arena, "destroy"), 0);
	}
	return unused;
}

/* Each has its own while all are purged. */
static void arenas_come_and_go(void) {
	pthread_t purger, makers[3];
	size_t length = sizeof fast;
	CHECK_EQ(mallctl("arena.0.extent_hooks", (void *)&fast, &length, NULL, 0), 0);
	slow = *fast;
	slow.purge_forced = purge_slowly;
	CHECK_EQ(pthread_create(&purger, NULL, purge_all, NULL), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(pthread_create(&makers[i], NULL, make_and_destroy, NULL), 0);
	for (int i = 0; i < 3; i++)
		pthread_join(makers[i], NULL);
	stopping = true;
	pthread_join(purger, NULL);
}

static void settings(void) {
	unsigned arena = create(NULL);
	char name[64];
	int64_t decay = -1, old = 0;
	size_t length = sizeof old;
	snprintf(name, sizeof name, "arena.%u.dirty_decay_ms", arena);
	CHECK_EQ(mallctl(name, &old, &length, &decay, sizeof decay), 0);
	CHECK(old >= 0);
	CHECK_EQ(mallctl(name, &old, &length, NULL, 0), 0);
	CHECK_EQ(old, -1);
	dallocx(mallocx(1000000, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE), MALLOCX_TCACHE_NONE);
	CHECK_EQ(arena_call(arena, "decay"), 0);
	CHECK(arena_word(arena, "pdirty") > 0);
	decay = 0;
	CHECK_EQ(mallctl(name, NULL, NULL, &decay, sizeof decay), 0);
	CHECK_EQ(arena_word(arena, "pdirty"), 0);
	decay = -2;
	CHECK_EQ(mallctl(name, NULL, NULL, &decay, sizeof decay), EFAULT);
	char old_name[64];
	char *to = old_name;
	const char *wanted = "blobs";
	size_t pointer = sizeof to;
	snprintf(name, sizeof name, "arena.%u.name", arena);
	if (mallctl(name, NULL, NULL, (void *)&wanted, sizeof wanted) == 0) { /* since 5.3.1 */
		CHECK_EQ(mallctl(name, (void *)&to, &pointer, NULL, 0), 0);
		CHECK(strcmp(old_name, "blobs") == 0);
	}
	CHECK_EQ(arena_call(arena, "destroy"), 0);
}

static bool is_initialized(unsigned arena) {
	char name[64];
	bool initialized;
	size_t length = sizeof initialized;
	snprintf(name, sizeof name, "arena.%u.initialized", arena);
	CHECK_EQ(mallctl(name, &initialized, &length, NULL, 0), 0);
	return initialized;
}

/* Runs first: no arena was destroyed yet. */
static void destroyed_arenas_are_counted(void) {
	enum { COUNT = 100 };
	CHECK(!is_initialized(MALLCTL_ARENAS_DESTROYED));
	unsigned arena = create(NULL);
	for (int i = 0; i < COUNT; i++)
		mallocx(100, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
	mallocx(1 << 20, MALLOCX_ARENA(arena) | MALLOCX_TCACHE_NONE);
	CHECK_EQ(arena_call(arena, "destroy"), 0);
	CHECK(is_initialized(MALLCTL_ARENAS_DESTROYED));
	CHECK_EQ(arena_word(MALLCTL_ARENAS_DESTROYED, "small.nmalloc"), COUNT);
	CHECK_EQ(arena_word(MALLCTL_ARENAS_DESTROYED, "large.nmalloc"), 1);
	CHECK_EQ(arena_word(MALLCTL_ARENAS_DESTROYED, "small.allocated"), 0);
	CHECK_EQ(arena_word(MALLCTL_ARENAS_DESTROYED, "large.allocated"), 0);
}

/* What is not that of several arenas at once. */
static void sums_have_no_settings(void) {
	static const char *const refused[] = {"dirty_decay_ms", "muzzy_decay_ms",
					      "oversize_threshold", "retain_grow_limit"};
	char name[64];
	int64_t value;
	size_t length;
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		snprintf(name, sizeof name, "arena.%d.%s", MALLCTL_ARENAS_ALL, refused[i]);
		length = sizeof value;
		CHECK_EQ(mallctl(name, &value, &length, NULL, 0), EFAULT);
	}
	length = sizeof value;
	CHECK_EQ(mallctl("experimental.arenas.4096.pactivep", &value, &length, NULL, 0), EFAULT);
	CHECK_EQ((int64_t)arena_word(MALLCTL_ARENAS_ALL, "dirty_decay_ms"), -1);
	CHECK_EQ((int64_t)arena_word(MALLCTL_ARENAS_ALL, "muzzy_decay_ms"), -1);
	CHECK(strcmp((const char *)arena_word(MALLCTL_ARENAS_ALL, "dss"), "N/A") == 0);
}

int main(void) {
	RUN(destroyed_arenas_are_counted);
	RUN(sums_have_no_settings);
	RUN(memory_comes_from_hooks);
	RUN(statistics_are_the_arenas_own);
	RUN(reset_frees_all);
	RUN(threads_are_bound);
	RUN(threads_share_an_arena);
	RUN(refused_extents_are_used_again);
	RUN(fork_takes_arenas_along);
	if (is_mallow()) /* jemalloc may be told to purge while nobody destroys */
		RUN(arenas_come_and_go);
	RUN(settings);
	return 0;
}
