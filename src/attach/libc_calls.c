/* SPDX-License-Identifier: MIT
 * libc_calls.c -- the functions of libc that the layers below call, by raw system calls. The blob
 * is linked with no libc, and the compiler calls the first four by itself. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "attach/blob.h"
#include "base/compiler.h"
#include "base/libc_text.h"
#include "os/platform/libc_calls.h"
#include "os/platform/system_call.h"
#include "os/signal/signal.h"

void *memcpy(void *restrict to, const void *restrict from, size_t count) {
	void *result = to;
#if defined(__x86_64__)
	__asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
	mw_memmove(to, from, count);
#endif
	return result;
}

void *memmove(void *to, const void *from, size_t count) {
	mw_memmove(to, from, count);
	return to;
}

void *memset(void *to, int byte, size_t count) {
	void *result = to;
#if defined(__x86_64__)
	__asm__ volatile("rep stosb" : "+D"(to), "+c"(count) : "a"(byte) : "memory");
#else
	char *at = to;
	for (; count > 0; at++, count--) {
		*at = (char)byte;
		MW_KEEP_LOOP(at);
	}
#endif
	return result;
}

int memcmp(const void *a, const void *b, size_t count) {
	const unsigned char *left = a, *right = b;
	for (; count > 0; left++, right++, count--) {
		MW_KEEP_LOOP(left);
		if (*left != *right)
			return *left - *right;
	}
	return 0;
}

int *__errno_location(void) {
	static MW_TLS int number;
	return &number;
}

/* ---- what the dynamic linker knows ---- */

#define AUXILIARY_MAX 64u
static ElfW(auxv_t) auxiliary[AUXILIARY_MAX];

unsigned long getauxval(unsigned long type) {
	for (unsigned i = 0; i < AUXILIARY_MAX && auxiliary[i].a_type != AT_NULL; i++)
		if (auxiliary[i].a_type == type)
			return auxiliary[i].a_un.a_val;
	return type == AT_PAGESZ ? 4096 : 0;
}

/* Top of the first thread's stack, as glibc names it. */
void *__libc_stack_end;

void mw_attach_libc_start(void) {
	long file = mw_enter_kernel(SYS_openat, AT_FDCWD, (long)"/proc/self/auxv",
				    O_RDONLY | O_CLOEXEC, 0, 0, 0);
	if (file >= 0) {
		/* The last entry stays AT_NULL. */
		mw_enter_kernel(SYS_read, file, (long)auxiliary,
				sizeof auxiliary - sizeof *auxiliary, 0, 0, 0);
		mw_enter_kernel(SYS_close, file, 0, 0, 0, 0, 0);
	}
	__libc_stack_end = (void *)getauxval(AT_EXECFN);
}

/* Lists of modules that were given so far. */
static unsigned lists;
#define LIST_FIRST 0u   /* the program and the blob */
#define LIST_COMMAND 1u /* of the command */
#define LIST_PROCESS 2u /* of the dynamic linker */

void mw_attach_libc_ready(void) {
	lists = LIST_PROCESS;
}

typedef int callback_t(struct dl_phdr_info *info, size_t bytes, void *data);

static int report(callback_t *callback, void *data, const mw_attach_module_t *module) {
	struct dl_phdr_info info = {
		.dlpi_addr = module->bias,
		.dlpi_name = module->name ? (const char *)module->name : "",
		.dlpi_phdr = (const ElfW(Phdr) *)module->headers,
		.dlpi_phnum = (ElfW(Half))module->header_count,
		.dlpi_adds = mw_attach_work.module_count,
	};
	return callback(&info, sizeof info, data);
}

int dl_iterate_phdr(callback_t *callback, void *data) {
	const mw_attach_work_t *work = &mw_attach_work;
	int (*process_list)(callback_t *, void *) = (void *)work->dl_iterate_phdr;
	if (lists == LIST_PROCESS && process_list)
		return process_list(callback, data);
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)work->blob_address;
	mw_attach_module_t blob = {.bias = work->blob_address,
				   .headers = work->blob_address + elf->e_phoff,
				   .header_count = elf->e_phnum};
	uint64_t count = lists == LIST_FIRST ? 1 : work->module_count;
	lists += lists == LIST_FIRST;
	int result = 0;
	for (uint64_t i = 0; i < count && result == 0; i++) {
		result = report(callback, data, &mw_attach_modules[i]);
		if (i == 0 && result == 0)
			result = report(callback, data, &blob);
	}
	return result;
}

static const char has_threads = 0;
mw_libc_calls_t mw_libc_calls;
const char *mw_os_single_threaded = &has_threads;

void mw_libc_calls_find(void) {
	mw_libc_calls._dl_find_object =
		(int (*)(void *, struct dl_find_object *))mw_attach_work.dl_find_object;
}

/* The user of a program does not configure the blob. */
char **environ;
char *getenv(const char *name) {
	(void)name;
	return NULL;
}
char *program_invocation_name = (char *)"";

/* ---- system calls ---- */

#if defined(__x86_64__)
#define SA_RESTORER 0x04000000
void mw_attach_return_from_signal(void);
__asm__(".pushsection .text.unlikely,\"ax\",@progbits\n"
	".globl mw_attach_return_from_signal\n"
	".hidden mw_attach_return_from_signal\n"
	"mw_attach_return_from_signal:\n"
	"movl $15, %eax\n"
	"syscall\n"
	".popsection\n");
#endif

/* The action of a signal, as rt_sigaction(2) of the kernel takes it. */
typedef struct kernel_action {
	void *handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
} kernel_action_t;

int mw_os_action(int number, const struct sigaction *action, struct sigaction *before) {
	kernel_action_t new = {0}, old;
	if (action) {
		new.handler = (void *)action->sa_handler;
		new.flags = (unsigned)action->sa_flags;
		memcpy(&new.mask, &action->sa_mask, sizeof new.mask);
#if defined(__x86_64__)
		new.flags |= SA_RESTORER;
		new.restorer = mw_attach_return_from_signal;
#endif
	}
	if (mw_system_call(SYS_rt_sigaction, number, action ? &new : NULL, before ? &old : NULL,
			   sizeof new.mask) != 0)
		return -1;
	if (before) {
		memset(before, 0, sizeof *before);
		before->sa_handler = (void (*)(int))old.handler;
		before->sa_flags = (int)old.flags;
		memcpy(&before->sa_mask, &old.mask, sizeof old.mask);
	}
	return 0;
}

int sigfillset(sigset_t *set) {
	memset(set, 0xff, sizeof *set);
	return 0;
}

int __libc_current_sigrtmin(void) {
	return 34;
}

int __libc_current_sigrtmax(void) {
	return 64;
}

int open(const char *path, int flags, ...) {
	va_list args;
	va_start(args, flags);
	mode_t mode = flags & O_CREAT ? va_arg(args, mode_t) : 0;
	va_end(args);
	return (int)mw_system_call(SYS_openat, AT_FDCWD, path, flags, mode);
}

int close(int file) {
	return (int)mw_system_call(SYS_close, file);
}

int fcntl(int file, int command, ...) {
	va_list args;
	va_start(args, command);
	long argument = va_arg(args, long);
	va_end(args);
	return (int)mw_system_call(SYS_fcntl, file, command, argument);
}

int ftruncate(int file, off_t length) {
	return (int)mw_system_call(SYS_ftruncate, file, length);
}

uid_t geteuid(void) {
	return (uid_t)mw_system_call(SYS_geteuid);
}
