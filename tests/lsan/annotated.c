/* SPDX-License-Identifier: MIT
 * annotated.c CASE... -- uses LeakSanitizer's interface, by weak references where it is compiled
 * with -DWEAK.  With -DSETTINGS it has functions that LeakSanitizer asks. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef WEAK
#define OPTIONAL __attribute__((weak))
#else
#define OPTIONAL
#endif
#define NOINLINE __attribute__((noinline))

void __lsan_disable(void) OPTIONAL;
void __lsan_enable(void) OPTIONAL;
void __lsan_ignore_object(const void *block) OPTIONAL;
void __lsan_register_root_region(const void *start, size_t bytes) OPTIONAL;
void __lsan_unregister_root_region(const void *start, size_t bytes) OPTIONAL;
void __lsan_do_leak_check(void) OPTIONAL;
int __lsan_do_recoverable_leak_check(void) OPTIONAL;

#ifdef SETTINGS
const char *__lsan_default_options(void);
const char *__lsan_default_options(void) {
	return "exitcode=9:print_suppressions=0";
}
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
	return "# of the program\nleak:lose_suppressed\n";
}
int __lsan_is_turned_off(void);
int __lsan_is_turned_off(void) {
	return getenv("TURNED_OFF") != NULL;
}
#endif

static uintptr_t volatile hidden;
static void **region;

/* Overwrites what earlier calls left below the stack pointer. */
static NOINLINE void scrub(void) {
	char bytes[16384];
	memset(bytes, 0, sizeof bytes);
	__asm__ volatile("" : : "r"(bytes) : "memory");
}

static NOINLINE void lose(int count, size_t bytes) {
	for (int i = 0; i < count; i++) {
		char *volatile block = malloc(bytes);
		memset(block, 0, bytes);
		block = NULL;
	}
}

/* The head of a list is lost. */
static NOINLINE void lose_list(void) {
	void **list = NULL;
	for (int i = 0; i < 4; i++) {
		void **block = calloc(5, sizeof *block);
		block[0] = list;
		list = block;
	}
}

static NOINLINE void lose_suppressed(void) {
	lose_list();
}

static NOINLINE void disabled(void) {
	__lsan_disable();
	__lsan_disable();
	lose(2, 30);
	__lsan_enable();
	lose_list();
	__lsan_enable();
}

static NOINLINE void ignored(void) {
	void **block = calloc(3, sizeof *block);
	block[1] = calloc(1, 70);
	__lsan_ignore_object(block);
	hidden = ~(uintptr_t)block;
}

/* Memory that is shared with other processes is no root, unless it is registered. */
static NOINLINE void hold_in_region(void) {
	region = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	region[500] = calloc(1, 90);
	__lsan_register_root_region(region, 8192);
}

static void *work(void *unused) {
	lose(6, 44);
	scrub();
	return unused;
}

static void in_thread(void) {
	pthread_t thread;
	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
}

static void in_child(void) {
	pid_t child = fork();
	int status;
	if (child == 0)
		exit(0);
	waitpid(child, &status, 0);
	printf("child: %d\n", WEXITSTATUS(status));
}

/* The loader makes blocks of its own, and keeps what it says of a library that is not there. */
static void load(void) {
	if (!dlopen("libresolv.so.2", RTLD_NOW) || dlopen("absent.so", RTLD_NOW))
		exit(3);
}

static void *volatile held;
static __thread void *volatile held_by_thread;

static NOINLINE void hold(void) {
	held = calloc(1, 55);
	held_by_thread = calloc(1, 66);
}

static int is_there(void) {
#ifdef WEAK
	return &__lsan_disable != NULL;
#else
	return 1;
#endif
}

int main(int argc, char **argv) {
	setbuf(stdout, NULL);
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i];
		if (strcmp(name, "lose") == 0)
			lose(3, 100);
		else if (strcmp(name, "list") == 0)
			lose_list();
		else if (strcmp(name, "suppressed") == 0)
			lose_suppressed();
		else if (strcmp(name, "disabled") == 0)
			disabled();
		else if (strcmp(name, "ignored") == 0)
			ignored();
		else if (strcmp(name, "region") == 0)
			hold_in_region();
		else if (strcmp(name, "unregister") == 0)
			__lsan_unregister_root_region(region, 8192);
		else if (strcmp(name, "thread") == 0)
			in_thread();
		else if (strcmp(name, "fork") == 0)
			in_child();
		else if (strcmp(name, "load") == 0)
			load();
		else if (strcmp(name, "hold") == 0)
			hold();
		else if (strcmp(name, "absent") == 0)
			printf("interface: %s\n", is_there() ? "there" : "absent");
		scrub();
		if (strcmp(name, "recoverable") == 0)
			printf("recoverable: %d\n", __lsan_do_recoverable_leak_check());
		else if (strcmp(name, "check") == 0)
			__lsan_do_leak_check();
	}
	puts("end");
	return 0;
}
