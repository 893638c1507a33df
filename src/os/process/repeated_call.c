/* SPDX-License-Identifier: MIT
 * repeated_call.c -- the code that repeats a call, and its records. */
#include "os/process/repeated_call.h"

#if defined(__x86_64__)

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>

#include "base/compiler.h"
#include "os/platform/system_call.h"
#include "os/process/child.h"

#define RECORDS 1024u
/* Parts of a message that remain, at most. */
#define PARTS_MAX 16u
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
	uint64_t rsi;
	uint64_t done;        /* bytes that were transferred before; 0: the call transfers none */
	struct timespec rest; /* the limit, which the kernel reads when the call begins */
	struct msghdr message;
	struct iovec parts[PARTS_MAX]; /* what remains of a message, or of writev(2) */
} record_t;

enum { RIP = 0, RBP = 8, RDX = 16, R10 = 24, R8 = 32, RSP = 40, OWNER = 48, RSI = 56, DONE = 64 };
_Static_assert(offsetof(record_t, rip) == RIP && offsetof(record_t, rbp) == RBP &&
		       offsetof(record_t, rdx) == RDX && offsetof(record_t, r10) == R10 &&
		       offsetof(record_t, r8) == R8 && offsetof(record_t, rsp) == RSP &&
		       offsetof(record_t, owner) == OWNER && offsetof(record_t, rsi) == RSI &&
		       offsetof(record_t, done) == DONE,
	       "as the code has it");

static record_t records[RECORDS] MW_SPARSE;
static _Atomic uint32_t next_record MW_SPARSE;

/* rbp: the record. rcx and r11 have no value that a caller of the kernel may expect: the kernel
 * overwrites them. Where bytes were transferred before (DONE), the result is their number and what
 * the call returns, unless that is an error. The last read of the record comes before another
 * thread may have it. The escapes say that the program's stack pointer, rip (16) and rbp (6) are at
 * RSP, RIP and RBP behind rbp. */
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
	"movq 64(%rbp), %rcx\n"
	"leaq (%rax,%rcx), %r11\n"
	"testq %rax, %rax\n"
	"cmovsq %rcx, %r11\n"
	"testq %rcx, %rcx\n"
	"cmovneq %r11, %rax\n"
	"movq 56(%rbp), %rsi\n"
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
				       .rsi = record->rsi,
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

/* Notes in a record what the thread needs to go on behind its call, and points it to the code. */
static void point(mw_repeated_registers_t *r, record_t *record, uint64_t done) {
	record->rip = r->rip + MW_SYSCALL_CODE_BYTES;
	record->rbp = r->rbp;
	record->rsi = r->rsi;
	record->rdx = r->rdx;
	record->r10 = r->r10;
	record->r8 = r->r8;
	record->rsp = r->rsp;
	record->done = done;
	r->rip = (uintptr_t)mw_repeated_call_code;
	r->rbp = (uintptr_t)record;
}

MW_COLD bool mw_repeated_call_begin(mw_repeated_registers_t *r, const mw_timed_call_t *call,
				    uint64_t rest_ns, uint32_t process_id, uint32_t thread_id) {
	record_t *record = is_at_call(r) ? record_of(r) : NULL;
	mw_repeated_call_original(r);
	if (!record)
		record = take(process_id, thread_id);
	if (!record)
		return false;
	point(r, record, 0);
	record->rest = (struct timespec){(time_t)(rest_ns / NS_PER_S), (long)(rest_ns % NS_PER_S)};
	uint64_t limit =
		call->is_ms ? (rest_ns + NS_PER_MS - 1) / NS_PER_MS : (uintptr_t)&record->rest;
	if (call->argument == 2)
		r->rdx = limit;
	else if (call->argument == 3)
		r->r10 = limit;
	else
		r->r8 = limit;
	return true;
}

/* Makes `record` hold the parts that remain of `count` at an address of the program. False: it
 * cannot. */
static bool take_parts(record_t *record, uintptr_t address, size_t count, uint64_t done,
		       size_t *rest) {
	struct iovec part;
	for (; count > 0; count--, address += sizeof part) {
		if (mw_os_copy_memory(&part, address, sizeof part) != sizeof part)
			return false;
		if (part.iov_len > done)
			break;
		done -= part.iov_len;
	}
	size_t bytes = count * sizeof part;
	*rest = count;
	if (count == 0 || count > PARTS_MAX ||
	    mw_os_copy_memory(record->parts, address, bytes) != bytes)
		return false;
	record->parts[0].iov_base = (char *)record->parts[0].iov_base + done;
	record->parts[0].iov_len -= done;
	return true;
}

static bool take_message(record_t *record, uintptr_t address, uint64_t done) {
	struct msghdr message;
	size_t rest;
	if (mw_os_copy_memory(&message, address, sizeof message) != sizeof message ||
	    message.msg_name != NULL || message.msg_control != NULL ||
	    !take_parts(record, (uintptr_t)message.msg_iov, (size_t)message.msg_iovlen, done,
			&rest))
		return false;
	record->message = (struct msghdr){.msg_iov = record->parts};
	/* musl has an int, which the kernel reads as glibc's size_t. */
	record->message.msg_iovlen = (__typeof__(record->message.msg_iovlen))rest;
	return true;
}

/* Sets the arguments by which the call transfers what is left behind `done` bytes. False: it
 * cannot. */
static bool ask_for_rest(mw_repeated_registers_t *r, record_t *record, uint64_t number,
			 uint64_t done) {
	switch (number) {
	case SYS_write:
	case SYS_sendto:
	case SYS_recvfrom:
		r->rsi += done;
		r->rdx -= done;
		return done < record->rdx;
	case SYS_writev:
		r->rsi = (uintptr_t)record->parts;
		return take_parts(record, (uintptr_t)record->rsi, record->rdx, done, &r->rdx);
	default:
		r->rsi = (uintptr_t)&record->message;
		return take_message(record, (uintptr_t)record->rsi, done);
	}
}

MW_COLD bool mw_repeated_call_finish(mw_repeated_registers_t *r, uint64_t number, uint64_t bytes,
				     uint32_t process_id, uint32_t thread_id) {
	record_t *kept = is_at_call(r) ? record_of(r) : NULL;
	record_t *record = kept ? kept : take(process_id, thread_id);
	mw_repeated_registers_t rest = *r;
	if (!record)
		return false;
	mw_repeated_call_original(&rest);
	uint64_t done = bytes + (kept ? kept->done : 0);
	point(&rest, record, done);
	if (ask_for_rest(&rest, record, number, done)) {
		*r = rest;
		return true;
	}
	if (kept)
		record->done = done - bytes;
	else
		atomic_store_explicit(&record->owner, 0, memory_order_release);
	return false;
}

#endif
