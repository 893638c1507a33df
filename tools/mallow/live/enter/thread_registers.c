/* SPDX-License-Identifier: MIT
 * thread_registers.c -- reads and writes the registers of a stopped thread, for each processor. */
#include "live/enter/thread_registers.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

/* PTRACE_GET_RSEQ_CONFIGURATION: Linux 5.13 and later. */
#define GET_RSEQ_CONFIGURATION 0x420f

/* Linux 5.2 and later tell the signals that a thread blocks outside of calls such as
 * epoll_pwait(2), which block others for a moment. */
static bool tells_blocked_signals(void) {
	struct utsname system;
	int major = 0, minor = 0;
	return uname(&system) == 0 && sscanf(system.release, "%d.%d", &major, &minor) == 2 &&
	       (major > 5 || (major == 5 && minor >= 2));
}

/* Returns whether the thread runs in a restartable sequence (rseq(2)), of which the kernel would
 * lose the end. True if that is not known. */
static bool is_in_sequence(const mw_address_space_t *space, int thread, uint64_t code) {
	struct {
		uint64_t pointer;
		uint32_t size, signature, flags, pad;
	} area = {0};
	struct {
		uint32_t version, flags;
		uint64_t start, bytes, abort;
	} sequence;
	uint64_t pointer;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a size. */
	if (ptrace((enum __ptrace_request)GET_RSEQ_CONFIGURATION, thread, (void *)sizeof(area),
		   &area) < 0)
		return true;
	if (area.pointer == 0)
		return false;
	if (pread(space->memory, &pointer, sizeof(pointer), (off_t)(area.pointer + 8)) !=
	    (ssize_t)sizeof(pointer))
		return true;
	return pointer != 0 && (pread(space->memory, &sequence, sizeof(sequence), (off_t)pointer) !=
					(ssize_t)sizeof(sequence) ||
				code - sequence.start < sequence.bytes);
}

/* Reads the signals that a thread blocks. */
static bool read_blocked(int thread, uint64_t *blocked) {
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a size. */
	return tells_blocked_signals() &&
	       ptrace(PTRACE_GETSIGMASK, thread, (void *)sizeof(*blocked), blocked) == 0;
}

/* The last step of an entry: a command that is killed before leaves no signal blocked. */
static void block_signals(int thread, uint64_t blocked) {
	blocked |= MW_TOOL_ENTRY_BLOCKED;
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): a size. */
	ptrace(PTRACE_SETSIGMASK, thread, (void *)sizeof(blocked), &blocked);
}

/* Returns the bytes of a set of registers that were read; 0: there is none. */
static size_t read_set(int thread, unsigned set, void *out, size_t bytes) {
	struct iovec into = {out, bytes};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the number of a set of registers. */
	return ptrace(PTRACE_GETREGSET, thread, (void *)(uintptr_t)set, &into) == 0 ? into.iov_len
										    : 0;
}

static bool write_registers(int thread, mw_traced_registers_t *r) {
	struct iovec from = {r, sizeof(*r)};
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the number of a set of registers. */
	return ptrace(PTRACE_SETREGSET, thread, (void *)(uintptr_t)NT_PRSTATUS, &from) == 0;
}

static bool read_general(int thread, mw_traced_registers_t *r) {
	return read_set(thread, NT_PRSTATUS, r, sizeof(*r)) == sizeof(*r);
}

#if defined(__x86_64__)

#define DIRECTION_AND_TRAP_FLAGS UINT64_C(0x500)

_Static_assert(offsetof(mw_stack_part_t, vectors) == MW_TOOL_ENTRY_FRAME_BYTES,
	       "as the code has it");

mw_call_before_t mw_call_before(int pid, int thread) {
	(void)pid;
	(void)thread;
	return (mw_call_before_t){0};
}

bool mw_registers_read(int thread, mw_registers_t *out) {
	if (!read_general(thread, &out->user))
		return false;
	out->stack_pointer = out->user.rsp;
	out->thread_pointer = out->user.fs_base;
	return true;
}

bool mw_registers_are_shadowed(int thread) {
	char path[64], line[256];
	bool has_one = false;
	snprintf(path, sizeof(path), "/proc/%d/status", thread);
	FILE *file = fopen(path, "re");
	while (file != NULL && !has_one && fgets(line, sizeof(line), file) != NULL)
		has_one = strncmp(line, "x86_Thread_features:", 20) == 0 &&
			  strstr(line, "shstk") != NULL;
	if (file != NULL)
		fclose(file);
	return has_one;
}

void mw_registers_let_call_repeat(int thread, const mw_call_before_t *before, bool is_filtered) {
	mw_traced_registers_t r;
	(void)before;
	if (!read_general(thread, &r))
		return;
	int restart = mw_call_interrupted(&r);
	if ((long)r.rax == -EINTR && restart != 0)
		r.rax = (uint64_t)-MW_RESTART_NO_HANDLER;
	else if (is_filtered && restart == MW_RESTART_BLOCK)
		r.rax = (uint64_t)-MW_RESTART_NO_HANDLER;
	else
		return;
	write_registers(thread, &r);
}

/* Returns whether a thread that does not sleep may be entered where it is. */
static bool is_fit_running(const mw_address_space_t *space, int thread,
			   const mw_traced_registers_t *r) {
	const mw_map_t *code = mw_address_space_at(space, r->rip);
	return code != NULL && code->is_code && r->fs_base != 0 &&
	       !is_in_sequence(space, thread, r->rip);
}

static bool is_call_at(const mw_address_space_t *space, uint64_t address) {
	uint8_t code[MW_SYSCALL_CODE_BYTES];
	return pread(space->memory, code, sizeof(code), (off_t)address) == (ssize_t)sizeof(code) &&
	       code[0] == 0x0f && code[1] == 0x05;
}

/* Has the thread repeat an interrupted call afterwards. False: the instruction before is no system
 * call. */
static bool repeat_call(const mw_address_space_t *space, int restart, mw_traced_registers_t *r) {
	uint64_t address = r->rip - MW_SYSCALL_CODE_BYTES;
	if (!is_call_at(space, address))
		return false;
	r->rip = address;
	r->rax = restart == MW_RESTART_BLOCK ? (uint64_t)SYS_restart_syscall : r->orig_rax;
	return true;
}

static mw_tool_entry_frame_t frame_of(const mw_traced_registers_t *r) {
	return (mw_tool_entry_frame_t){
		.rax = r->rax,
		.rbx = r->rbx,
		.rcx = r->rcx,
		.rdx = r->rdx,
		.rsi = r->rsi,
		.rdi = r->rdi,
		.rbp = r->rbp,
		.r8 = r->r8,
		.r9 = r->r9,
		.r10 = r->r10,
		.r11 = r->r11,
		.r12 = r->r12,
		.r13 = r->r13,
		.r14 = r->r14,
		.r15 = r->r15,
		.rip = r->rip,
		.cs = r->cs,
		.rflags = r->eflags,
		.rsp = r->rsp,
		.ss = r->ss,
	};
}

size_t mw_registers_make_part(const mw_address_space_t *space, int thread,
			      const mw_call_before_t *before, const mw_registers_t *registers,
			      mw_stack_part_t *part, uint64_t *number) {
	mw_traced_registers_t r = registers->user;
	int restart = mw_call_interrupted(&r);
	(void)before;
	*number = r.orig_rax;
	size_t bytes = read_set(thread, NT_X86_XSTATE, part->vectors, sizeof(part->vectors));
	if (bytes < MW_VECTORS_MIN_BYTES || bytes == sizeof(part->vectors) ||
	    (restart != 0 ? !repeat_call(space, restart, &r) : !is_fit_running(space, thread, &r)))
		return 0;
	part->frame = frame_of(&r);
	part->frame.restart = (uint32_t)restart;
	if (mw_call_may_be_cut(&r) && is_call_at(space, r.rip - MW_SYSCALL_CODE_BYTES))
		part->frame.cut_call = r.orig_rax;
	part->frame.has_blocked = read_blocked(thread, &part->frame.blocked_signals);
	return sizeof(part->frame) + bytes;
}

void mw_registers_note_limit(mw_stack_part_t *part, uint64_t rest_ns) {
	if (part->frame.restart != 0)
		part->frame.rest_ns = rest_ns;
}

bool mw_registers_point(int thread, const mw_registers_t *registers, const mw_stack_part_t *part,
			const mw_registers_goal_t *goal) {
	mw_traced_registers_t r = registers->user;
	r.rsp = goal->stack_pointer;
	r.rip = goal->code;
	r.rsi = goal->argument;
	r.rax = 0;
	/* The kernel must not repeat a system call by itself. */
	r.orig_rax = UINT64_MAX;
	r.eflags &= ~DIRECTION_AND_TRAP_FLAGS;
	if (!write_registers(thread, &r))
		return false;
	if (part->frame.has_blocked)
		block_signals(thread, part->frame.blocked_signals);
	return true;
}

#elif defined(__aarch64__)

#include <asm/ptrace.h>
#include <asm/sigcontext.h>

/* Sets of registers that elf.h of older C libraries lacks. */
enum { SVE_REGISTERS = 0x405, SME_REGISTERS = 0x40b, ZA_REGISTER = 0x40c, GCS_REGISTERS = 0x410 };
/* What an indirect branch leaves for the instruction that it leads to, and single steps. */
#define BRANCH_AND_STEP_FLAGS UINT64_C(0x200c00)

/* "CALL ARGUMENT0 ... ARGUMENT5 SP PC", "-1 SP PC", or "running". */
mw_call_before_t mw_call_before(int pid, int thread) {
	char path[96];
	mw_call_before_t out = {0};
	mw_sleeping_call_t *call = &out.call;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread);
	FILE *file = fopen(path, "re");
	if (file != NULL &&
	    fscanf(file, "%" SCNu64 " %" SCNx64 " %*x %*x %*x %*x %*x %" SCNx64 " %" SCNx64,
		   &call->number, &call->first_argument, &call->sp, &call->pc) != 4)
		out = (mw_call_before_t){0};
	if (file != NULL)
		fclose(file);
	return out;
}

bool mw_registers_read(int thread, mw_registers_t *out) {
	if (!read_general(thread, &out->user) ||
	    read_set(thread, NT_ARM_TLS, &out->thread_pointer, sizeof(out->thread_pointer)) <
		    sizeof(out->thread_pointer))
		return false;
	out->stack_pointer = out->user.sp;
	return true;
}

bool mw_registers_are_shadowed(int thread) {
	struct {
		uint64_t enabled, locked, pointer;
	} gcs = {0};
	return read_set(thread, GCS_REGISTERS, &gcs, sizeof(gcs)) == sizeof(gcs) &&
	       (gcs.enabled & 1) != 0;
}

void mw_registers_let_call_repeat(int thread, const mw_call_before_t *before, bool is_filtered) {
	mw_traced_registers_t r;
	(void)is_filtered; /* the kernel has decided before the stop */
	if (!read_general(thread, &r) || (long)r.regs[0] != -EINTR ||
	    mw_call_interrupted(&r, &before->call) == 0)
		return;
	mw_call_repeat(&r, &before->call);
	write_registers(thread, &r);
}

static bool is_call_at(const mw_address_space_t *space, uint64_t address) {
	uint32_t code;
	return pread(space->memory, &code, sizeof(code), (off_t)address) == (ssize_t)sizeof(code) &&
	       code == MW_SYSCALL_CODE;
}

/* Returns whether registers are in use that the frame does not hold: those of SME. */
static bool has_more_registers(int thread) {
	struct {
		uint32_t bytes, most_bytes;
		uint16_t length, most_length, flags, reserved;
	} sme, za;
	bool has_sme = read_set(thread, SME_REGISTERS, &sme, sizeof(sme)) == sizeof(sme);
	bool has_za = read_set(thread, ZA_REGISTER, &za, sizeof(za)) == sizeof(za);
	return (has_za && za.bytes > sizeof(za)) || (has_sme && (sme.flags & 1) != 0);
}

/* A thread that does not sleep may be entered where it is. A call that it was about to begin or had
 * ended, perhaps by the stop, is not known. */
static bool is_fit_running(const mw_address_space_t *space, int thread,
			   const mw_registers_t *registers) {
	const mw_traced_registers_t *r = &registers->user;
	const mw_map_t *code = mw_address_space_at(space, r->pc);
	return code != NULL && code->is_code && registers->thread_pointer != 0 &&
	       !is_call_at(space, r->pc) && !is_call_at(space, r->pc - MW_SYSCALL_CODE_BYTES) &&
	       !is_in_sequence(space, thread, r->pc);
}

/* Writes the registers of SVE as a record of the frame if the thread uses them. They include those
 * of floating point. False: they are longer than 768 bits, and do not fit the frame. */
static bool save_sve(int thread, uint8_t *records, size_t capacity) {
	_Alignas(16) uint8_t set[sizeof(((mcontext_t *)NULL)->__reserved)];
	struct user_sve_header header = {0};
	struct sve_context record = {.head = {.magic = SVE_MAGIC}};
	size_t bytes = read_set(thread, SVE_REGISTERS, set, sizeof(set));
	if (bytes < sizeof(header))
		return true;
	memcpy(&header, set, sizeof(header));
	if ((header.flags & SVE_PT_REGS_MASK) != SVE_PT_REGS_SVE)
		return true;
	unsigned quads = sve_vq_from_vl(header.vl);
	record.head.size = (uint32_t)((SVE_SIG_CONTEXT_SIZE(quads) + 15) / 16 * 16);
	record.vl = header.vl;
	if (!sve_vl_valid(header.vl) || record.head.size > capacity ||
	    bytes < SVE_PT_REGS_OFFSET + SVE_SIG_REGS_SIZE(quads))
		return false;
	memcpy(records, &record, sizeof(record));
	memcpy(records + SVE_SIG_REGS_OFFSET, set + SVE_PT_REGS_OFFSET, SVE_SIG_REGS_SIZE(quads));
	return true;
}

/* Writes the registers of floating point, and of SVE, as records of the frame. The kernel does not
 * keep SVE's for a thread in a system call. A record of zeros is the last. */
static bool save_vectors(int thread, mcontext_t *machine, bool is_in_call) {
	const size_t capacity = sizeof(machine->__reserved) - sizeof(struct fpsimd_context) -
				sizeof(struct _aarch64_ctx);
	struct user_fpsimd_state state;
	struct fpsimd_context record = {.head = {.magic = FPSIMD_MAGIC, .size = sizeof(record)}};
	if (read_set(thread, NT_FPREGSET, &state, sizeof(state)) != sizeof(state))
		return false;
	record.fpsr = state.fpsr;
	record.fpcr = state.fpcr;
	memcpy(record.vregs, state.vregs, sizeof(record.vregs));
	memcpy(machine->__reserved, &record, sizeof(record));
	return is_in_call || save_sve(thread, machine->__reserved + sizeof(record), capacity);
}

/* rt_sigreturn(2) makes a call that the kernel would go on with by restart_syscall(2) return EINTR.
 * Such calls have a time limit that counts from their beginning: the thread is left alone. */
size_t mw_registers_make_part(const mw_address_space_t *space, int thread,
			      const mw_call_before_t *before, const mw_registers_t *registers,
			      mw_stack_part_t *part, uint64_t *number) {
	mw_traced_registers_t r = registers->user;
	mcontext_t *machine = &part->frame.context.uc_mcontext;
	uint64_t blocked;
	int restart = mw_call_interrupted(&r, &before->call);
	*number = before->call.number;
	if (restart != 0)
		mw_call_repeat(&r, &before->call);
	if (restart == MW_RESTART_BLOCK || has_more_registers(thread) ||
	    (restart != 0 ? !is_call_at(space, r.pc) : !is_fit_running(space, thread, registers)) ||
	    !save_vectors(thread, machine, restart != 0) || !read_blocked(thread, &blocked))
		return 0;
	memcpy(machine->regs, r.regs, sizeof(r.regs));
	machine->sp = r.sp;
	machine->pc = r.pc;
	machine->pstate = r.pstate;
	memcpy(&part->frame.context.uc_sigmask, &blocked, sizeof(blocked));
	part->frame.restart = (uint32_t)restart;
	return sizeof(part->frame);
}

void mw_registers_note_limit(mw_stack_part_t *part, uint64_t rest_ns) {
	(void)part;
	(void)rest_ns;
}

bool mw_registers_point(int thread, const mw_registers_t *registers, const mw_stack_part_t *part,
			const mw_registers_goal_t *goal) {
	mw_traced_registers_t r = registers->user;
	uint64_t blocked;
	memcpy(&blocked, &part->frame.context.uc_sigmask, sizeof(blocked));
	r.sp = goal->stack_pointer;
	r.pc = goal->code;
	r.regs[1] = goal->argument;
	r.pstate &= ~BRANCH_AND_STEP_FLAGS;
	if (!write_registers(thread, &r))
		return false;
	block_signals(thread, blocked);
	return true;
}

#else
#error "mallow enters threads on x86-64 and aarch64"
#endif
