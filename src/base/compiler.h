/* SPDX-License-Identifier: MIT
 * compiler.h -- names for the GNU builtins and attributes that the code uses.
 * Layer: base, the door of this folder.  Every folder may use src/base, which uses none.  Reading
 * order: compiler, bits, error (result codes), check (assertions, the end of the program), fmt and
 * put (text without stdio), rng and math (draws of the sampler), wildcard (patterns of
 * suppressions). */
#ifndef MW_BASE_COMPILER_H
#define MW_BASE_COMPILER_H

#define MW_LIKELY(x) __builtin_expect(!!(x), 1)
#define MW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MW_NOINLINE __attribute__((noinline))
#define MW_ALWAYS_INLINE static inline __attribute__((always_inline))
#define MW_COLD __attribute__((cold, noinline))
/* Marks a function that ends in `MW_TAIL_CALL f(...);`: the call is a jump at every level of
 * optimisation. */
#ifdef __clang__
#define MW_TAIL_CALLER
#define MW_TAIL_CALL __attribute__((musttail)) return
#else
#define MW_TAIL_CALLER __attribute__((optimize("O2")))
#define MW_TAIL_CALL return
#endif
/* Marks a function that makes a system call of the program's, in which the thread may sleep. Its
 * code does not count as the library's (mw_walk_is_own()): a thread that is stopped there holds
 * nothing of the library, so it may answer a tool. */
#define MW_WAITS __attribute__((section("mallow_waits"), noinline))
/* Marks large arrays of which a process uses a part or nothing. The linker keeps them away from
 * small variables. */
#define MW_SPARSE __attribute__((section(".bss.sparse")))
#define MW_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
/* Marks a function that this folder's header declares and a higher folder defines. No other call
 * from a lower to a higher folder is allowed (tests/checks/layers.py). */
#define MW_HOOK
/* Marks an exported symbol. src/api/exports.map lists all of them. */
#define MW_EXPORT __attribute__((visibility("default")))
/* Marks a thread-local variable whose first access does not allocate: the library may be inside
 * malloc. */
#ifdef MW_ATTACH
/* src/attach finds the variables of a thread itself: the compiler calls its __tls_get_addr(). */
#define MW_TLS __thread __attribute__((tls_model("local-dynamic")))
#else
#define MW_TLS __thread __attribute__((tls_model("initial-exec")))
#endif

/* Keeps a block's address in a register or on the stack up to here, and the stores before and after
 * in this order: a leak check stops the thread at any instruction, and finds a live block by its
 * address. */
#define MW_HOLD(block) __asm__ volatile("" : : "r"(block) : "memory")

#define MW_CACHE_LINE_BYTES 64u

#endif
