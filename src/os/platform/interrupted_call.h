/* SPDX-License-Identifier: MIT
 * interrupted_call.h -- how a thread goes on that a tracer (ptrace(2)) has stopped in a system
 * call. Layer: base. The library and the command use it. Header only, async-signal-safe.
 *
 * A stop interrupts a call that sleeps. The kernel then repeats most calls by itself, and they end
 * when they would have. Other calls (epoll_wait(2), semop(2), ...; signal(7), "by stop signals")
 * return EINTR. These are repeated, on x86-64 with what remains of a time limit that is one of the
 * call's arguments (os/process/repeated_call.h). A call that has transferred a part of its bytes
 * returns how many these are; on x86-64 the thread transfers the rest before it goes on.
 *
 * x86-64: RAX holds one of the MW_RESTART results until the thread runs on, and ptrace(2) tells the
 * call's number. aarch64: the kernel has decided before the stop. If it repeats the call, the
 * registers are those before it; else the result has overwritten the first argument. What
 * /proc/PID/task/TID/syscall told before the stop (mw_sleeping_call_t) tells which of them it is.
 */
#ifndef MW_OS_INTERRUPTED_CALL_H
#define MW_OS_INTERRUPTED_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include <errno.h>
#include <stddef.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/user.h>

#ifndef SYS_epoll_pwait2 /* Linux 5.11 */
#define SYS_epoll_pwait2 441
#endif

typedef struct user_regs_struct mw_traced_registers_t;

/* Negated results by which the kernel tells itself how to end an interrupted call. */
enum {
	MW_RESTART = 512,            /* repeat, unless a handler without SA_RESTART runs */
	MW_RESTART_ALWAYS = 513,     /* repeat */
	MW_RESTART_NO_HANDLER = 514, /* repeat, unless a handler runs */
	MW_RESTART_BLOCK = 516,      /* restart_syscall(2), unless a handler runs */
};

/* Returns whether a stop can make the call return EINTR, and whether it does nothing before it
 * returns EINTR. Others are not repeated: close(2) has closed the descriptor. */
static inline bool mw_call_is_repeatable(uint64_t number) {
	static const uint16_t numbers[] = {
#ifdef SYS_epoll_wait /* older calls, which newer processors do not have */
		SYS_epoll_wait,      SYS_pause,          SYS_poll,
		SYS_select,
#endif
#ifdef SYS_futex_waitv /* Linux 5.16; not in older headers */
		SYS_futex_waitv,
#endif
		SYS_epoll_pwait,     SYS_epoll_pwait2,   SYS_semop,
		SYS_semtimedop,      SYS_msgrcv,         SYS_msgsnd,
		SYS_rt_sigtimedwait, SYS_rt_sigsuspend,  SYS_io_getevents,
		SYS_io_pgetevents,   SYS_read,           SYS_readv,
		SYS_recvfrom,        SYS_recvmsg,        SYS_recvmmsg,
		SYS_write,           SYS_writev,         SYS_sendto,
		SYS_sendmsg,         SYS_sendmmsg,       SYS_accept,
		SYS_accept4,         SYS_connect,        SYS_ppoll,
		SYS_pselect6,        SYS_nanosleep,      SYS_clock_nanosleep,
		SYS_futex,           SYS_io_uring_enter, SYS_mq_timedreceive,
		SYS_mq_timedsend,    SYS_wait4,          SYS_waitid,
		SYS_flock,           SYS_fcntl,
	};
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

#if defined(__x86_64__)

/* The instruction that enters the kernel. */
#define MW_SYSCALL_CODE_BYTES 2u

/* Returns the MW_RESTART result of a call that the stop has interrupted; 0: the thread is in none.
 * A call that returns EINTR gets MW_RESTART_NO_HANDLER: it returns EINTR if a handler runs. */
static inline int mw_call_interrupted(const mw_traced_registers_t *r) {
	long result = -(long)r->rax;
	if ((long)r->orig_rax < 0)
		return 0;
	if (result == MW_RESTART || result == MW_RESTART_ALWAYS ||
	    result == MW_RESTART_NO_HANDLER || result == MW_RESTART_BLOCK)
		return (int)result;
	return result == EINTR && mw_call_is_repeatable(r->orig_rax) ? MW_RESTART_NO_HANDLER : 0;
}

/* A call that returns EINTR after a stop, and has a time limit from its beginning on. */
typedef struct mw_timed_call {
	uint16_t number;
	uint8_t argument; /* that holds the limit: 0 to 5 */
	bool is_ms;       /* the limit in milliseconds, or below 0; else a pointer to a timespec */
} mw_timed_call_t;

/* Returns NULL if the call is none of these. */
static inline const mw_timed_call_t *mw_timed_call(uint64_t number) {
	static const mw_timed_call_t calls[] = {
		{SYS_epoll_wait, 3, true},       {SYS_epoll_pwait, 3, true},
		{SYS_epoll_pwait2, 3, false},    {SYS_semtimedop, 3, false},
		{SYS_rt_sigtimedwait, 2, false}, {SYS_io_getevents, 4, false},
		{SYS_io_pgetevents, 4, false},
	};
	for (unsigned i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].number == number)
			return &calls[i];
	return NULL;
}

/* Returns whether the stop may have kept the call from transferring all that it was to transfer: it
 * waits until that is done, and has done a part. One that had ended before the stop looks the same.
 * If more is asked for, the kernel then says why that was all: a descriptor that does not wait, a
 * full disk, an end. */
static inline bool mw_call_may_be_cut(const mw_traced_registers_t *r) {
	if ((long)r->orig_rax < 0 || (long)r->rax <= 0)
		return false;
	switch (r->orig_rax) {
	case SYS_write:
	case SYS_writev:
	case SYS_sendmsg:
		return true;
	case SYS_sendto:
		return r->r8 == 0; /* no address */
	case SYS_recvfrom:
		return (r->r10 & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
	case SYS_recvmsg:
		return (r->rdx & (MSG_WAITALL | MSG_PEEK)) == MSG_WAITALL;
	default:
		return false;
	}
}

#elif defined(__aarch64__)

#include <linux/futex.h>
#include <time.h>

#define MW_SYSCALL_CODE_BYTES 4u
#define MW_SYSCALL_CODE 0xd4000001u /* svc #0 */

/* The call in which a thread slept, before it was stopped. */
typedef struct mw_sleeping_call {
	uint64_t number, first_argument, sp;
	uint64_t pc; /* behind the instruction; 0: the thread slept in none */
} mw_sleeping_call_t;

/* Returns how the kernel ends a futex(2) call. */
static inline int mw_futex_restart(const mw_traced_registers_t *r) {
	switch (r->regs[1] & (unsigned)FUTEX_CMD_MASK) {
	case FUTEX_WAIT: /* the limit is relative */
		return r->regs[3] != 0 ? MW_RESTART_BLOCK : MW_RESTART;
	case FUTEX_WAIT_BITSET:
		return r->regs[3] != 0 ? MW_RESTART_NO_HANDLER : MW_RESTART;
	default: /* locks of pthread_mutex_t, which cannot return EINTR */
		return MW_RESTART_ALWAYS;
	}
}

/* Returns whether the kernel never repeats the call, and has it return EINTR. */
static inline bool mw_call_returns_interrupted(uint64_t number) {
	switch (number) {
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
	case SYS_semop:
	case SYS_semtimedop:
	case SYS_rt_sigtimedwait:
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		return true;
	default:
		return false;
	}
}

/* Returns how the kernel ends a call that it repeats: each way of a call that has several ways is
 * that of its longest sleep. */
static inline int mw_call_restart(const mw_traced_registers_t *r) {
	switch (r->regs[8]) {
	case SYS_futex:
		return mw_futex_restart(r);
	case SYS_restart_syscall:
	case SYS_nanosleep:
		return MW_RESTART_BLOCK;
	case SYS_clock_nanosleep:
		return r->regs[1] & TIMER_ABSTIME ? MW_RESTART_NO_HANDLER : MW_RESTART_BLOCK;
	case SYS_ppoll:
	case SYS_pselect6:
	case SYS_rt_sigsuspend:
	case SYS_msgrcv:
	case SYS_msgsnd:
		return MW_RESTART_NO_HANDLER;
	default:
		return mw_call_returns_interrupted(r->regs[8]) ? MW_RESTART_NO_HANDLER : MW_RESTART;
	}
}

/* Returns the MW_RESTART result of the call in which the thread slept, if the stop has interrupted
 * it; 0: the thread is in none. A call that returns EINTR gets MW_RESTART_NO_HANDLER. */
static inline int mw_call_interrupted(const mw_traced_registers_t *r,
				      const mw_sleeping_call_t *before) {
	if (before->pc == 0 || r->sp != before->sp || r->regs[8] != before->number)
		return 0;
	if (r->pc == before->pc)
		return (long)r->regs[0] == -EINTR && mw_call_is_repeatable(before->number)
			       ? MW_RESTART_NO_HANDLER
			       : 0;
	bool is_at_call = r->pc == before->pc - MW_SYSCALL_CODE_BYTES;
	return is_at_call && r->regs[0] == before->first_argument ? mw_call_restart(r) : 0;
}

/* Has the thread repeat the interrupted call when it goes on. */
static inline void mw_call_repeat(mw_traced_registers_t *r, const mw_sleeping_call_t *before) {
	r->pc = before->pc - MW_SYSCALL_CODE_BYTES;
	r->regs[0] = before->first_argument;
}

#endif

#endif
