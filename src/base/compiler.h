/* SPDX-License-Identifier: MIT
 * compiler.h -- names for the GNU builtins and attributes the code relies on.
 * Layer: base. */
#ifndef MW_BASE_COMPILER_H
#define MW_BASE_COMPILER_H

#define MW_LIKELY(x) __builtin_expect(!!(x), 1)
#define MW_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define MW_NOINLINE __attribute__((noinline))
#define MW_ALWAYS_INLINE static inline __attribute__((always_inline))
#define MW_COLD __attribute__((cold, noinline))
/* A function that ends in `MW_TAIL_CALL f(...);`: a jump, at any level of optimisation. */
#ifdef __clang__
#define MW_TAIL_CALLER
#define MW_TAIL_CALL __attribute__((musttail)) return
#else
#define MW_TAIL_CALLER __attribute__((optimize("O2")))
#define MW_TAIL_CALL return
#endif
/* Functions that every process runs, in files most of which few do: they are put beside the others
 * that every process runs (cmake/own_text.cmake). */
#define MW_RESIDENT __attribute__((section(".text.startup")))
/* The other way round: functions that only samples run, in files that every process does. */
#define MW_SAMPLED_ONLY __attribute__((section(".text.unlikely"), noinline))
/* Constants that few processes read: not between those that all do. */
#define MW_COLD_TABLE __attribute__((section(".rodata.cold")))
/* Large arrays of which a process touches parts or nothing: not between small variables. */
#define MW_SPARSE __attribute__((section(".bss.sparse")))
/* One of which every process fills the beginning: it follows the variables that every process
 * writes. */
#define MW_TAIL __attribute__((section(".bss.tail")))
#define MW_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
/* The only symbols that leave the library; src/api/exports.map is the list. */
#define MW_EXPORT __attribute__((visibility("default")))
/* No lazy allocation behind a first access: the library may be inside malloc. */
#define MW_TLS __thread __attribute__((tls_model("initial-exec")))

#define MW_CACHE_LINE_BYTES 64u

#endif
