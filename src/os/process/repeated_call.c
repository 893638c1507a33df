/* SPDX-License-Identifier: MIT
 * repeated_call.c -- the code that repeats a call, and its records. */
#include "os/process/repeated_call.h"

#if defined(__x86_64__)

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <time.h>

#include "base/compiler.h"
#include "os/platform/system_call.h"

#define RECORDS 1024u
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S UINT64_C(1000000000)

/* What the code below needs. A thread has its record until the call has ended. */
typedef struct record {
	uint64_t rip; /* behind the program's instruction */
	uint64_t rbp, rdx, r10, r8;
	uint64_t rsp; /* for unwinders */
	/* Process and thread that use the record; 0: none. A handler of the program that leaves by
	 * longjmp(3) leaves the record in use, until the thread has ended. */
	_Atomic uint64_t owner;
	struct timespec rest; /* the limit, which the kernel reads when the call begins */
} record_t;

enum { RIP = 0, RBP = 8, RDX = 16, R10 = 24, R8 = 32, RSP = 40, OWNER = 48 };
_Static_assert(offsetof(record_t, rip) == RIP && offsetof(record_t, rbp) == RBP &&
		       offsetof(record_t, rdx) == RDX && offsetof(record_t, r10) == R10 &&
		       offsetof(record_t, r8) == R8 && offsetof(record_t, rsp) == RSP &&
		       offsetof(record_t, owner) == OWNER,
	       "as the code has it");

static record_t records[RECORDS] MW_SPARSE;
static _Atomic uint32_t next_record MW_SPARSE;

/* rbp: the record. rcx and r11 have no value that a caller of the kernel may expect: the kernel
 * overwrites them. The last read of the record comes before another thread may have it. The escapes
 * say that the program's stack pointer, rip (16) and rbp (6) are at RSP, RIP and RBP behind rbp. */
extern const uint8_t mw_repeated_call_code[], mw_repeated_call_code_end[];
__asm__(".pushsection .text.mallow_repeat,\"ax\",@progbits\n"
	".globl mw_repeated_call_code, mw_repeated_call_code_end\n"
	".hidden mw_repeated_call_code, mw_repeated_call_code_end\n"
	".type mw_repeated_call_code, @function\n"
	"mw_repeated_call_code:\n"
	".cfi_startproc\n"
	".cfi_escape 0x0f, 3, 0x76, 40, 0x06\n"
	".cfi_escape 0x10, 16, 2, 0x76, 0\n"
	".cfi_escape 0x10, 6, 2, 0x76, 8\n"
	"syscall\n"
	"movq 16(%rbp), %rdx\n"
	"movq 24(%rbp), %r10\n"
	"movq 32(%rbp), %r8\n"
	"movq 0(%rbp), %rcx\n"
	".cfi_register rip, rcx\n"
	"movq 8(%rbp), %r11\n"
	".cfi_register rbp, r11\n"
	".cfi_def_cfa rsp, 0\n"
	"movq $0, 48(%rbp)\n"
	"movq %r11, %rbp\n"
	".cfi_same_value rbp\n"
	"jmp *%rcx\n"
	"mw_repeated_call_code_end:\n"
	".cfi_endproc\n"
	".size mw_repeated_call_code, . - mw_repeated_call_code\n"
	".popsection\n");

/* Returns the record of a thread that is about to enter the kernel for a repeated call, or is in
 * the code behind. */
static record_t *record_of(const mw_repeated_registers_t *r) {
	uint64_t code = (uintptr_t)mw_repeated_call_code;
	uint64_t end = (uintptr_t)mw_repeated_call_code_end;
	uint64_t offset = r->rbp - (uintptr_t)records;
	if (r->rip < code || r->rip >= end || offset >= sizeof records ||
	    offset % sizeof(record_t) != 0)
		return NULL;
	return &records[offset / sizeof(record_t)];
}

static bool is_at_call(const mw_repeated_registers_t *r) {
	return r->rip == (uintptr_t)mw_repeated_call_code;
}

MW_COLD void mw_repeated_call_original(mw_repeated_registers_t *r) {
	const record_t *record = record_of(r);
	if (!record)
		return;
	*r = (mw_repeated_registers_t){.rip = record->rip - MW_SYSCALL_CODE_BYTES,
				       .rbp = record->rbp,
				       .rdx = record->rdx,
				       .r10 = record->r10,
				       .r8 = record->r8,
				       .rsp = record->rsp};
}

static bool claim(record_t *record, uint64_t before, uint64_t owner) {
	return atomic_compare_exchange_strong_explicit(&record->owner, &before, owner,
						       memory_order_acquire, memory_order_relaxed);
}

/* Records of before a fork stay: the thread that forked may be in a handler that returns there. */
static bool has_ended(uint64_t owner, uint32_t process_id) {
	int saved_errno = errno;
	bool result = owner >> 32 == process_id &&
		      mw_system_call(SYS_tgkill, process_id, (uint32_t)owner, 0) != 0 &&
		      errno == ESRCH;
	errno = saved_errno;
	return result;
}

/* Returns a record that the thread owns from now on; NULL: all are in use. */
static record_t *take(uint32_t process_id, uint32_t thread_id) {
	uint64_t owner = (uint64_t)process_id << 32 | thread_id;
	uint32_t first = atomic_fetch_add_explicit(&next_record, 1, memory_order_relaxed);
	for (uint32_t i = 0; i < RECORDS; i++) {
		record_t *record = &records[(first + i) % RECORDS];
		if (claim(record, 0, owner))
			return record;
	}
	for (uint32_t i = 0; i < RECORDS; i++) {
		uint64_t before = atomic_load_explicit(&records[i].owner, memory_order_relaxed);
		if (has_ended(before, process_id) && claim(&records[i], before, owner))
			return &records[i];
	}
	return NULL;
}

MW_COLD bool mw_repeated_call_begin(mw_repeated_registers_t *r, const mw_timed_call_t *call,
				    uint64_t rest_ns, uint32_t process_id, uint32_t thread_id) {
	record_t *record = is_at_call(r) ? record_of(r) : NULL;
	mw_repeated_call_original(r);
	if (!record)
		record = take(process_id, thread_id);
	if (!record)
		return false;
	record->rip = r->rip + MW_SYSCALL_CODE_BYTES;
	record->rbp = r->rbp;
	record->rdx = r->rdx;
	record->r10 = r->r10;
	record->r8 = r->r8;
	record->rsp = r->rsp;
	record->rest = (struct timespec){(time_t)(rest_ns / NS_PER_S), (long)(rest_ns % NS_PER_S)};
	uint64_t limit =
		call->is_ms ? (rest_ns + NS_PER_MS - 1) / NS_PER_MS : (uintptr_t)&record->rest;
	if (call->argument == 2)
		r->rdx = limit;
	else if (call->argument == 3)
		r->r10 = limit;
	else
		r->r8 = limit;
	r->rip = (uintptr_t)mw_repeated_call_code;
	r->rbp = (uintptr_t)record;
	return true;
}

#endif
