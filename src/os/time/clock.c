/* SPDX-License-Identifier: MIT
 * clock.c -- calls the vdso's clock_gettime(2) directly. libc's function takes longer, and lies on
 * a page that small processes read for nothing else (doc/adr/0014-startup-layout.md). */
#include "os/time/clock.h"

#include <elf.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/libc_text.h"
#include "os/platform/system_call.h"

#if defined(__x86_64__)
#define VDSO_NAME "__vdso_clock_gettime"
#elif defined(__aarch64__)
#define VDSO_NAME "__kernel_clock_gettime"
#endif

typedef int clock_function_t(clockid_t id, struct timespec *now);

/* Relaxed: the vdso is mapped before the process starts. NULL: not looked up yet. */
static _Atomic(clock_function_t *) clock_function;
/* Address of the vdso; 0: not known, or there is none. */
static uintptr_t vdso;
static bool is_starting; /* a thread asks libc for the address of the vdso */

#ifdef MW_TESTING
static uint64_t (*test_source)(void);
void mw_os_clock_set_source(uint64_t (*source)(void)) {
	test_source = source;
}

bool mw_os_clock_has_source(void) {
	return test_source != NULL;
}
#endif

/* Returns the vdso's table of symbols. NULL: there is no vdso, or it has no DT_HASH table, from
 * which the number of symbols is read. */
static const ElfW(Sym) *
	vdso_symbols(uintptr_t start, uint64_t *count, uintptr_t *bias, const char **names) {
	const ElfW(Ehdr) *elf = (const ElfW(Ehdr) *)start;
	const ElfW(Phdr) *headers = (const ElfW(Phdr) *)(start + elf->e_phoff);
	const ElfW(Dyn) *dynamic = NULL;
	bool is_loaded = false;
	for (unsigned i = 0; i < elf->e_phnum; i++) {
		if (headers[i].p_type == PT_LOAD && !is_loaded) {
			*bias = start + headers[i].p_offset - headers[i].p_vaddr;
			is_loaded = true;
		}
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(start + headers[i].p_offset);
	}
	const ElfW(Sym) *symbols = NULL;
	for (; is_loaded && dynamic && dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t at = *bias + dynamic->d_un.d_ptr;
		if (dynamic->d_tag == DT_SYMTAB)
			symbols = (const ElfW(Sym) *)at;
		if (dynamic->d_tag == DT_STRTAB)
			*names = (const char *)at;
		if (dynamic->d_tag == DT_HASH)
			*count = ((const uint32_t *)at)[1];
	}
	return *names ? symbols : NULL;
}

static int ask_kernel(clockid_t id, struct timespec *now) {
	return (int)mw_system_call(SYS_clock_gettime, id, now);
}

static clock_function_t *find_clock_function(void) {
	uintptr_t start = vdso ? vdso : getauxval(AT_SYSINFO_EHDR), bias = 0;
	uint64_t count = 0;
	const char *names = NULL;
	const ElfW(Sym) *symbols = start ? vdso_symbols(start, &count, &bias, &names) : NULL;
	for (uint64_t i = 0; symbols && i < count; i++)
		if (symbols[i].st_shndx != SHN_UNDEF &&
		    mw_strcmp(names + symbols[i].st_name, VDSO_NAME) == 0)
			return (clock_function_t *)(bias + symbols[i].st_value);
	return ask_kernel;
}

static MW_NOINLINE clock_function_t *learn_clock_function(void) {
	if (MW_UNLIKELY(is_starting))
		return ask_kernel;
	int saved_errno = errno;
	clock_function_t *function = find_clock_function();
	errno = saved_errno;
	atomic_store_explicit(&clock_function, function, memory_order_relaxed);
	return function;
}

void mw_os_clock_start(void) {
	is_starting = true;
	vdso = getauxval(AT_SYSINFO_EHDR);
	is_starting = false;
}

static uint64_t read_clock(clockid_t id) {
#ifdef MW_TESTING
	if (test_source)
		return test_source();
#endif
	struct timespec now;
	clock_function_t *function = atomic_load_explicit(&clock_function, memory_order_relaxed);
	if (MW_UNLIKELY(!function))
		function = learn_clock_function();
	if (function(id, &now) != 0)
		return 0;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

uint64_t mw_os_monotonic_ns(void) {
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t mw_os_monotonic_coarse_ns(void) {
	return read_clock(CLOCK_MONOTONIC_COARSE);
}

uint64_t mw_os_realtime_ns(void) {
	return read_clock(CLOCK_REALTIME);
}

uint64_t mw_os_realtime_coarse_ns(void) {
	return read_clock(CLOCK_REALTIME_COARSE);
}

uint64_t mw_os_realtime_at_start_ns(void) {
#ifdef MW_TESTING
	if (test_source)
		return test_source();
#endif
	struct timespec now = {0};
	int saved_errno = errno;
	mw_system_call(SYS_clock_gettime, CLOCK_REALTIME, &now);
	errno = saved_errno;
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
