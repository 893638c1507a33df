/* SPDX-License-Identifier: MIT
 * lsan.h -- LeakSanitizer's interface, as <sanitizer/lsan_interface.h> declares it.
 * Layer: compat/lsan, the door of this folder, which is a library of its own, liblsan_mallow.so;
 * the filter liblsan.so.0 stands for it, so that programs that gcc links with -fsanitize=leak run
 * on mallow. Every allocation is recorded; a check is a leak check of libmallow.so.
 *
 * Reading order: lsan_options, lsan_suppress, lsan_report, lsan.c (start, end, the functions),
 * sanitizer.h (functions that all sanitizers have; sanitizer_names.c, coverage.c). */
#ifndef MW_COMPAT_LSAN_LSAN_H
#define MW_COMPAT_LSAN_LSAN_H

#include <stddef.h>

#include "base/compiler.h"

/* Does nothing: the library starts by itself. */
MW_EXPORT void __lsan_init(void);
/* Blocks that the calling thread allocates between the two calls do not count as leaked, nor do
 * those that they lead to. Calls nest. */
MW_EXPORT void __lsan_disable(void);
MW_EXPORT void __lsan_enable(void);
/* The block does not count as leaked, nor do those that it leads to. */
MW_EXPORT void __lsan_ignore_object(const void *block);
/* Memory that is a root, too. A pair of the address and the size is registered once or more. */
MW_EXPORT void __lsan_register_root_region(const void *start, size_t bytes);
MW_EXPORT void __lsan_unregister_root_region(const void *start, size_t bytes);
/* Checks now, instead of at the end, and ends the process if something leaked. */
MW_EXPORT void __lsan_do_leak_check(void);
/* Checks now, and again at the end. Returns 1 if something leaked, else 0. */
MW_EXPORT int __lsan_do_recoverable_leak_check(void);

/* Functions that the program may have. */
extern int __lsan_is_turned_off(void) __attribute__((weak));
extern const char *__lsan_default_options(void) __attribute__((weak));
extern const char *__lsan_default_suppressions(void) __attribute__((weak));

#endif
