/* SPDX-License-Identifier: MIT
 * test_attach.c -- the blob of `mallow attach` in this process, whose malloc is libc's: what it
 * counts is compared with what the functions of the section attach_leaf allocated. */
#include "attach_host.h"

#include <errno.h>
#include <malloc.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <time.h>

#include "own_state.h"
#include "state/layout.h"
#include "state_entry.h"

#define LEAF __attribute__((noinline, section("attach_leaf")))
#define KEEP(block) __asm__ volatile("" : "+r"(block) : : "memory")
extern const char __start_attach_leaf[], __stop_attach_leaf[];

static LEAF void *leaf_malloc(size_t bytes) {
	void *block = malloc(bytes);
	KEEP(block);
	return block;
}

static LEAF void *leaf_calloc(size_t bytes) {
	void *block = calloc(1, bytes);
	KEEP(block);
	return block;
}

static LEAF void *leaf_aligned(size_t bytes) {
	void *block = aligned_alloc(64, bytes);
	KEEP(block);
	return block;
}

static LEAF void *leaf_posix(size_t bytes) {
	void *block = NULL;
	CHECK(posix_memalign(&block, 256, bytes) == 0);
	KEEP(block);
	return block;
}

static LEAF void *leaf_realloc(void *old, size_t bytes) {
	void *block = realloc(old, bytes);
	KEEP(block);
	return block;
}

/* ---- what the state file says ---- */

typedef struct sums {
	int64_t alloc_bytes, live_bytes, live_samples;
	uint64_t samples;
} sums_t;

static uintptr_t leaf_of(const char *state, const mw_state_stack_t *stack) {
	const uint64_t *node = state_entry(state, MW_SECTION_NODES, stack->node);
	const uint64_t *frame = state_entry(state, MW_SECTION_FRAMES, *node >> MW_NODE_FRAME_SHIFT);
	uint64_t module = *frame >> MW_FRAME_MODULE_SHIFT & MW_FRAME_MODULE_MAX;
	uint64_t address = *frame & MW_FRAME_ADDRESS_MASK;
	if (module != 0)
		address += ((const mw_state_module_t *)state_entry(state, MW_SECTION_MODULES,
								   module - 1))
				   ->bias;
	return address;
}

static const mw_state_live_t *live_of(const char *state) {
	return state_entry(state, MW_SECTION_LIVE, 0);
}

/* Over the stacks whose leaf is a function of the section. */
static sums_t sums_of(const char *state) {
	sums_t sums = {0};
	for (uint64_t i = 1; i < live_of(state)->stacks_used; i++) {
		const mw_state_stack_t *stack = state_entry(state, MW_SECTION_STACKS, i);
		uintptr_t leaf = stack->hash ? leaf_of(state, stack) : 0;
		if (leaf <= (uintptr_t)__start_attach_leaf || leaf > (uintptr_t)__stop_attach_leaf)
			continue;
		sums.alloc_bytes += stack->alloc_bytes;
		sums.live_bytes += stack->live_bytes;
		sums.live_samples += (int64_t)stack->live_samples;
	}
	sums.samples = live_of(state)->samples;
	return sums;
}

/* What attached to a process cannot see that it ends, so the file stays. */
static void remove_state_file(void) {
	char pattern[64];
	glob_t found;
	snprintf(pattern, sizeof pattern, "/dev/shm/mallow-%u/%d.*", geteuid(), (int)getpid());
	if (glob(pattern, 0, NULL, &found) != 0)
		return;
	for (size_t i = 0; i < found.gl_pathc; i++)
		unlink(found.gl_pathv[i]);
	globfree(&found);
}

static void detach(void) {
	CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
	CHECK_EQ(host.work->state, MW_ATTACH_OFF);
}

/* The dynamic linker may bind an unbound slot between two calls of the blob. */
static void check_slots(bool replaced) {
	for (uint64_t i = 0; i < host.work->slot_count; i++) {
		const mw_attach_slot_t *slot = &host.slots[i];
		uint64_t value = *(const uint64_t *)slot->address;
		if (replaced)
			CHECK_EQ(value, host.work->replacement[slot->function]);
		else if (value != host.work->original[slot->function])
			CHECK_EQ(value, slot->original);
	}
}

/* ---- exact ---- */

static void exact_counts_are_true(void) {
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	CHECK_EQ(host.work->slots_refused, 0);
	CHECK(host.work->slots_replaced == host.work->slot_count && host.work->slot_count > 5);
	check_slots(true);
	char *state = own_state_map();
	CHECK_EQ(live_of(state)->flags & MW_STATE_ATTACHED, MW_STATE_ATTACHED);
	CHECK(live_of(state)->attached_realtime_ns == host.work->attached_realtime_ns);
	CHECK_EQ(live_of(state)->attach_slots, host.work->slots_replaced);
	enum { BLOCKS = 3000 };
	static void *blocks[BLOCKS];
	int64_t allocated = 0, live = 0;
	for (size_t i = 0; i < BLOCKS; i++) {
		size_t bytes = i * 7 % 5000;
		switch (i % 5) {
		case 0:
			blocks[i] = leaf_malloc(bytes);
			break;
		case 1:
			blocks[i] = leaf_calloc(bytes);
			break;
		case 2:
			blocks[i] = leaf_aligned((bytes + 63) & ~(size_t)63);
			break;
		case 3:
			blocks[i] = leaf_posix(bytes);
			break;
		default:
			blocks[i] = leaf_malloc(100);
			allocated += (int64_t)malloc_usable_size(blocks[i]);
			blocks[i] = leaf_realloc(blocks[i], bytes + 1);
		}
		allocated += (int64_t)malloc_usable_size(blocks[i]);
		live += (int64_t)malloc_usable_size(blocks[i]);
	}
	sums_t sums = sums_of(state);
	CHECK_EQ(sums.alloc_bytes, allocated);
	CHECK_EQ(sums.live_bytes, live);
	CHECK_EQ(sums.live_samples, BLOCKS);
	for (size_t i = 0; i < BLOCKS; i++)
		free(blocks[i]);
	sums = sums_of(state);
	CHECK_EQ(sums.alloc_bytes, allocated);
	CHECK_EQ(sums.live_bytes, 0);
	detach();
	check_slots(false);
	CHECK_EQ(live_of(state)->flags & MW_STATE_DETACHED, MW_STATE_DETACHED);
	CHECK_EQ(live_of(state)->active, 0);
	free(leaf_malloc(1000));
	CHECK_EQ(sums_of(state).alloc_bytes, allocated);
}

/* A block of an earlier attach is not known to the next one. */
static void attaches_again(void) {
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	uint32_t generation = host.work->generation;
	char *state = own_state_map();
	void *before = leaf_malloc(777);
	CHECK_EQ(sums_of(state).live_samples, 1);
	/* The slots of this time are restored by the list of this time. */
	host.work->mean_bytes = 1;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_VALUE);
	check_slots(true);
	detach();
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	CHECK_EQ(host.work->generation, generation + 1);
	CHECK_EQ(live_of(state)->flags & MW_STATE_DETACHED, 0);
	CHECK_EQ(sums_of(state).alloc_bytes, 0);
	free(before);
	void *after = leaf_malloc(500);
	CHECK_EQ(sums_of(state).live_samples, 1);
	free(after);
	CHECK_EQ(sums_of(state).live_bytes, 0);
	detach();
}

/* ---- sampled, with threads ---- */

#define MEAN_BYTES 65536
/* The limit on the cost of samples doubles T up to this often. */
#define DOUBLINGS 9
enum { THREADS = 4, ROUNDS = 40000, HELD = 512 };

typedef struct load {
	uint64_t random;
	double true_bytes, variance[DOUBLINGS]; /* of the estimate, for each T */
	void *held[HELD];
} load_t;

static uint64_t next_random(load_t *load) {
	load->random ^= load->random << 13;
	load->random ^= load->random >> 7;
	return load->random ^= load->random << 17;
}

static void add_variance(load_t *load, double bytes, double usable) {
	for (int i = 0; i < DOUBLINGS; i++) {
		double p = -expm1(-bytes / (MEAN_BYTES << i));
		load->variance[i] += usable * usable * (1 - p) / p;
	}
}

/* Sizes over four orders of magnitude. Each object is counted with probability p, and its bytes by
 * 1/p. */
static void *run_load(void *argument) {
	load_t *load = argument;
	for (int i = 0; i < ROUNDS; i++) {
		size_t bytes = 1 + (next_random(load) >> 48 >> next_random(load) % 16);
		void **place = &load->held[next_random(load) % HELD];
		bool resizes = i % 4 == 0 && *place;
		if (!resizes)
			free(*place);
		*place = resizes ? leaf_realloc(*place, bytes)
			 : i % 3 ? leaf_malloc(bytes)
				 : leaf_calloc(bytes);
		double usable = (double)malloc_usable_size(*place);
		load->true_bytes += usable;
		add_variance(load, (double)bytes, usable);
	}
	return NULL;
}

static void samples_are_unbiased(void) {
	static load_t loads[THREADS];
	CHECK_EQ(host_attach(MEAN_BYTES), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	pthread_t threads[THREADS];
	for (int i = 0; i < THREADS; i++) {
		loads[i].random = 88172645463325252u * (unsigned)(2 * i + 1);
		CHECK(pthread_create(&threads[i], NULL, run_load, &loads[i]) == 0);
	}
	double true_bytes = 0, variance = 0;
	for (int i = 0; i < THREADS; i++) {
		CHECK(pthread_join(threads[i], NULL) == 0);
		true_bytes += loads[i].true_bytes;
	}
	sums_t sums = sums_of(state);
	for (int i = 0; i < THREADS; i++)
		variance += loads[i].variance[live_of(state)->doublings];
	fprintf(stderr, "%.0f bytes, estimated %lld: %.2f sigma; doublings %u\n", true_bytes,
		(long long)sums.alloc_bytes,
		((double)sums.alloc_bytes - true_bytes) / sqrt(variance),
		live_of(state)->doublings);
	/* One run in 16,000 is further away. */
	CHECK_NEAR((double)sums.alloc_bytes, true_bytes, 4 * sqrt(variance));
	CHECK(sums.live_samples > 0);
	/* Another thread than the one that allocated frees: no free is missed. */
	for (int i = 0; i < THREADS; i++)
		for (int k = 0; k < HELD; k++)
			free(loads[i].held[k]);
	CHECK_EQ(sums_of(state).live_bytes, 0);
	detach();
	check_slots(false);
}

static void *one_block(void *unused) {
	(void)unused;
	return leaf_malloc(64);
}

/* Threads that follow each other have the same thread pointer, and more threads than there are
 * records come. */
static void short_threads_are_counted(void) {
	enum { SHORT = 6000 };
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	int64_t allocated = 0;
	for (int i = 0; i < SHORT; i += 2) {
		pthread_t pair[2];
		void *blocks[2];
		for (int k = 0; k < 2; k++)
			CHECK(pthread_create(&pair[k], NULL, one_block, NULL) == 0);
		for (int k = 0; k < 2; k++)
			CHECK(pthread_join(pair[k], &blocks[k]) == 0);
		for (int k = 0; k < 2; k++)
			allocated += (int64_t)malloc_usable_size(blocks[k]);
		free(blocks[0]);
		free(blocks[1]);
	}
	sums_t sums = sums_of(state);
	CHECK_EQ(sums.alloc_bytes, allocated);
	CHECK_EQ(sums.live_bytes, 0);
	detach();
}

/* ---- fork ---- */

static void child_is_not_profiled(void) {
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	void *before = leaf_malloc(3000);
	sums_t sums = sums_of(state);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		free(before);
		for (int i = 0; i < 1000; i++)
			free(leaf_malloc(100));
		/* The child's own attach. */
		CHECK_EQ(host_request(MW_ATTACH_STOP), MW_ATTACH_REASON_NONE);
		check_slots(false);
		CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
		state = own_state_map();
		CHECK_EQ(((mw_state_header_t *)(void *)state)->pid, getpid());
		CHECK_EQ(sums_of(state).alloc_bytes, 0);
		void *block = leaf_malloc(100);
		CHECK_EQ(sums_of(state).live_bytes, (int64_t)malloc_usable_size(block));
		free(block);
		CHECK_EQ(sums_of(state).live_bytes, 0);
		detach();
		remove_state_file();
		_exit(0);
	}
	int status;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK_EQ(status, 0);
	CHECK_EQ(sums_of(state).alloc_bytes, sums.alloc_bytes);
	CHECK_EQ(sums_of(state).live_bytes, sums.live_bytes);
	free(before);
	CHECK_EQ(sums_of(state).live_bytes, 0);
	detach();
}

/* ---- modules that come later ---- */

static void later_modules_are_found(void) {
	char path[4096];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 64);
	CHECK(length > 0);
	path[length] = '\0';
	strcpy(strrchr(path, '/'), "/attach_module.so");
	CHECK_EQ(host_attach(1), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	uint64_t slots = host.work->slot_count;
	void *module = dlopen(path, RTLD_LAZY);
	if (!module)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(module);
	void *(*allocate)(size_t) = (void *(*)(size_t))dlsym(module, "module_allocate");
	void (*release)(void *) = (void (*)(void *))dlsym(module, "module_release");
	CHECK(allocate && release);
	free(leaf_malloc(1));
	CHECK(host.work->slot_count > slots);
	CHECK_EQ(host.work->modules_later, 1);
	CHECK_EQ(live_of(state)->attach_modules_later, 1);
	int64_t before = live_of(state)->alloc_bytes, live = live_of(state)->live_bytes;
	enum { BLOCKS = 500 };
	void *blocks[BLOCKS];
	int64_t allocated = 0;
	for (int i = 0; i < BLOCKS; i++) {
		blocks[i] = allocate(100);
		allocated += (int64_t)malloc_usable_size(blocks[i]);
	}
	CHECK_EQ(live_of(state)->alloc_bytes - before, allocated);
	for (int i = 0; i < BLOCKS; i++)
		release(blocks[i]);
	CHECK_EQ(live_of(state)->live_bytes, live);
	/* Its slots are restored although the module is gone. */
	dlclose(module);
	detach();
}

/* ---- errors inside ---- */

static uintptr_t symbol_of_blob(const char *wanted) {
	const char *elf = host_read_blob();
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)elf;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(elf + header->e_shoff);
	for (unsigned i = 0; i < header->e_shnum; i++) {
		if (sections[i].sh_type != SHT_SYMTAB)
			continue;
		const Elf64_Sym *symbols = (const Elf64_Sym *)(elf + sections[i].sh_offset);
		const char *names = elf + sections[sections[i].sh_link].sh_offset;
		for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++)
			if (strcmp(names + symbols[k].st_name, wanted) == 0)
				return (uintptr_t)host.base + symbols[k].st_value;
	}
	return 0;
}

static volatile int nested;

/* The blob calls it inside of the profiler, as a signal handler would run there. */
static size_t allocating_usable_size(void *block) {
	nested = nested + 1;
	free(leaf_malloc(50));
	return malloc_usable_size(block);
}

static void nested_calls_are_skipped(void) {
	host_list();
	host.work->malloc_usable_size = (uintptr_t)allocating_usable_size;
	host.work->mean_bytes = 1;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	nested = 0;
	void *block = leaf_malloc(100);
	CHECK_EQ(nested, 1);
	CHECK_EQ(sums_of(state).live_samples, 1);
	CHECK_EQ(sums_of(state).alloc_bytes, (int64_t)malloc_usable_size(block));
	free(block);
	CHECK_EQ(sums_of(state).live_bytes, 0);
	detach();
}

/* A thread that is inside enters to attach: nothing is done, and the operation goes on. */
static volatile uint32_t answer;

static size_t entering_usable_size(void *block) {
	nested = nested + 1;
	if (nested == 1)
		answer = host_request(MW_ATTACH_START);
	return malloc_usable_size(block);
}

static void busy_thread_is_left_alone(void) {
	host_list();
	host.work->malloc_usable_size = (uintptr_t)entering_usable_size;
	host.work->mean_bytes = 1;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	nested = 0;
	void *block = leaf_malloc(100);
	int64_t allocated = (int64_t)malloc_usable_size(block);
	free(block);
	CHECK(nested > 0);
	CHECK_EQ(answer, MW_ATTACH_REASON_BUSY);
	CHECK_EQ(host.work->state, MW_ATTACH_ON);
	CHECK_EQ(sums_of(state).alloc_bytes, allocated);
	CHECK_EQ(sums_of(state).live_bytes, 0);
	detach();
}

static void detaches_by_itself(void) {
	host_list();
	host.work->mean_bytes = 1;
	host.work->detach_after_ns = 20000000;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
	while (host.work->state == MW_ATTACH_ON)
		free(leaf_malloc(100));
	CHECK_EQ(host.work->state, MW_ATTACH_OFF);
	CHECK_EQ(host.work->reason, MW_ATTACH_REASON_DETACH_TIME);
	check_slots(false);
	host.work->detach_after_ns = 0;
}

static void (*fatal)(const char *format, ...);

static size_t failing_usable_size(void *block) {
	fatal("planted in %s", "a test");
	return malloc_usable_size(block);
}

/* Last: afterwards the blob stays off. */
static void error_switches_off(void) {
	fatal = (void (*)(const char *, ...))symbol_of_blob("mw_fatal");
	CHECK(fatal);
	host_list();
	host.work->malloc_usable_size = (uintptr_t)failing_usable_size;
	host.work->mean_bytes = 1;
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_NONE);
	char *state = own_state_map();
	void *block = leaf_malloc(100);
	CHECK(block);
	memset(block, 1, 100);
	CHECK_EQ(host.work->state, MW_ATTACH_FAILED);
	CHECK_EQ(host.work->reason, MW_ATTACH_REASON_ASSERTION);
	CHECK_STR(host.work->message, "planted in a test");
	check_slots(false);
	CHECK_EQ(live_of(state)->attach_reason, MW_ATTACH_REASON_ASSERTION);
	CHECK_EQ(live_of(state)->flags & MW_STATE_DETACHED, MW_STATE_DETACHED);
	free(block);
	host_list();
	CHECK_EQ(host_request(MW_ATTACH_START), MW_ATTACH_REASON_VALUE);
	check_slots(false);
}

/* ---- a kernel that refuses ---- */

static bool is_planted_at(long number) {
	return number == SYS_mmap || number == SYS_madvise || number == SYS_openat ||
	       number == SYS_ftruncate || number == SYS_fallocate || number == SYS_mprotect ||
	       number == SYS_fstat || number == SYS_mkdirat || number == SYS_fcntl;
}

/* Attaches, allocates and detaches. Whatever was refused, the program's blocks are right, and it
 * runs on. */
static _Noreturn void run_refused(void) {
	CHECK(ptrace(PTRACE_TRACEME, 0, NULL, NULL) == 0);
	raise(SIGSTOP);
	uint32_t reason = host_attach(1);
	CHECK((reason == MW_ATTACH_REASON_NONE) == (host.work->state == MW_ATTACH_ON));
	for (size_t i = 1; i < 300; i++) {
		unsigned char *block = leaf_malloc(i);
		memset(block, (int)i & 0xff, i);
		block = leaf_realloc(block, 2 * i);
		CHECK_EQ(block[i - 1], i & 0xff);
		free(block);
	}
	if (host.work->state == MW_ATTACH_ON)
		detach();
	for (uint64_t i = 0; i < host.work->slot_count; i++) {
		const mw_attach_slot_t *slot = &host.slots[i];
		uint64_t value = *(const uint64_t *)slot->address;
		/* mprotect(2) was refused: the slot leads through the blob, which is off. */
		CHECK(value == slot->original || value == host.work->original[slot->function] ||
		      value == host.work->replacement[slot->function]);
	}
	remove_state_file();
	_exit(0);
}

/* Refuses the call with this number, of those that the blob makes. Returns whether there was one.
 */
static bool survives_refusal(unsigned number) {
	fflush(stdout);
	pid_t child = fork();
	CHECK(child >= 0);
	if (child == 0)
		run_refused();
	int status;
	unsigned calls = 0;
	bool is_entry = true, is_refused = false;
	CHECK(waitpid(child, &status, 0) == child && WIFSTOPPED(status));
	CHECK(ptrace(PTRACE_SETOPTIONS, child, NULL, (void *)PTRACE_O_TRACESYSGOOD) == 0);
	while (ptrace(PTRACE_SYSCALL, child, NULL, NULL) == 0 &&
	       waitpid(child, &status, 0) == child && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			break;
		struct user_regs_struct registers;
		CHECK(ptrace(PTRACE_GETREGS, child, NULL, &registers) == 0);
		if (is_entry && registers.rip - (uintptr_t)host.base < host.bytes &&
		    is_planted_at((long)registers.orig_rax) && ++calls == number) {
			registers.orig_rax = (unsigned long long)-1;
			CHECK(ptrace(PTRACE_SETREGS, child, NULL, &registers) == 0);
			is_refused = true;
		} else if (!is_entry && is_refused && calls == number) {
			registers.rax = (unsigned long long)-ENOMEM;
			CHECK(ptrace(PTRACE_SETREGS, child, NULL, &registers) == 0);
			calls++;
		}
		is_entry = !is_entry;
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		fprintf(stderr, "call %u refused: status %x\n", number, (unsigned)status);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	return is_refused;
}

static void refusals_are_survived(void) {
	host_load();
	unsigned number = 1;
	while (survives_refusal(number))
		number++;
	fprintf(stderr, "%u calls refused in turn\n", number - 1);
	CHECK(number > 20);
}

int main(void) {
	CHECK(atexit(remove_state_file) == 0);
	RUN(refusals_are_survived);
	RUN(exact_counts_are_true);
	RUN(attaches_again);
	RUN(samples_are_unbiased);
	RUN(short_threads_are_counted);
	RUN(child_is_not_profiled);
	RUN(later_modules_are_found);
	RUN(nested_calls_are_skipped);
	RUN(busy_thread_is_left_alone);
	RUN(detaches_by_itself);
	RUN(error_switches_off);
	return 0;
}
