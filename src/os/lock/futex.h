/* SPDX-License-Identifier: MIT
 * futex.h -- waits until a word of memory changes (futex(2)).
 * Layer: os/lock. Async-signal-safe, errno kept. */
#ifndef MW_OS_FUTEX_H
#define MW_OS_FUTEX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"

/* Called between two reads of a word that another processor is about to change. */
static inline void mw_os_relax(void) {
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Sleeps while *word == `value`, at most `timeout_ns` (UINT64_MAX: without limit). May return
 * early. Returns true if the time ran out. Keeps errno. */
bool mw_os_wait_while(_Atomic uint32_t *word, uint32_t value, uint64_t timeout_ns);
/* Like mw_os_wait_while(), and also returns when *shared differs from `shared_value`. Other
 * processes may change and wake *shared, a word of a mapped file. A kernel without futex_waitv(2),
 * before Linux 5.16, reads *shared four times a second. */
MW_COLD void mw_os_wait_while_both(_Atomic uint32_t *word, uint32_t value, _Atomic uint32_t *shared,
				   uint32_t shared_value, uint64_t timeout_ns);
/* Wakes one thread that sleeps on the word. */
void mw_os_wake(_Atomic uint32_t *word);
/* Wakes all threads that sleep on the word. */
MW_COLD void mw_os_wake_all(_Atomic uint32_t *word);

#endif
