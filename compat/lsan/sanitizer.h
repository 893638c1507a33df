/* SPDX-License-Identifier: MIT
 * sanitizer.h -- what all sanitizers have: questions about blocks, hooks, reports, stacks.
 * Layer: compat/lsan. The functions are those of <sanitizer/common_interface_defs.h> and
 * <sanitizer/allocator_interface.h>. Those of coverage are in coverage.c. */
#ifndef MW_COMPAT_LSAN_SANITIZER_H
#define MW_COMPAT_LSAN_SANITIZER_H

#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

/* Usable bytes of a block of `bytes`, without the rounding: what the program asks for. */
MW_EXPORT size_t __sanitizer_get_estimated_allocated_size(size_t bytes);
/* Returns 1 if a block starts at the address, which may be any word, else 0. */
MW_EXPORT int __sanitizer_get_ownership(const volatile void *block);
/* Returns the bytes that were requested; 0 where no block starts. */
MW_EXPORT size_t __sanitizer_get_allocated_size(const volatile void *block);
/* Sums in bytes: of all blocks, of the heap's memory, of what is free in it, of what was given
 * back. */
MW_EXPORT size_t __sanitizer_get_current_allocated_bytes(void);
MW_EXPORT size_t __sanitizer_get_heap_size(void);
MW_EXPORT size_t __sanitizer_get_free_bytes(void);
MW_EXPORT size_t __sanitizer_get_unmapped_bytes(void);

typedef void mw_sanitizer_malloc_hook_t(const volatile void *block, size_t bytes);
typedef void mw_sanitizer_free_hook_t(const volatile void *block);
/* Has both called for each block from now on, in the thread that allocates or frees. Returns the
 * number of the pair, from 1 on; 0: there are five. */
MW_EXPORT int __sanitizer_install_malloc_and_free_hooks(mw_sanitizer_malloc_hook_t *on_malloc,
							mw_sanitizer_free_hook_t *on_free);

/* Where reports go: a file's path, to which ".PID" is added, "stdout" or "stderr"; or the number of
 * a descriptor. */
MW_EXPORT void __sanitizer_set_report_path(const char *path);
MW_EXPORT void __sanitizer_set_report_fd(void *file);
MW_EXPORT const char *__sanitizer_get_report_path(void);
/* Prints a line to where reports go. */
MW_EXPORT void __sanitizer_report_error_summary(const char *summary);
/* Sets the function that is called before the library ends the process; NULL: none. */
MW_EXPORT void __sanitizer_set_death_callback(void (*function)(void));
/* Returns 1 to the first caller, which may report a crash; then 0. */
MW_EXPORT int __sanitizer_acquire_crash_state(void);
/* Before a sandbox. Nothing is opened in advance. */
MW_EXPORT void __sanitizer_sandbox_on_notify(void *arguments);

/* Prints the caller's stack as reports show them. */
MW_EXPORT void __sanitizer_print_stack_trace(void);
/* Writes a line for the address and each function that it was inlined into, each ended by '\0',
 * an empty one behind them. In the format, %n is the number of the frame, %p the address, %m the
 * module, %o the offset in it, %f the function, %s the file, %l the line, %c the column (0: not
 * known), %F "in function", %S file:line, %L file:line or (module+offset), %M (module+offset). */
MW_EXPORT void __sanitizer_symbolize_pc(void *pc, const char *format, char *text, size_t room);
/* Writes a line for a variable: %g is its name, %m its module; %s and %l are not known. */
MW_EXPORT void __sanitizer_symbolize_global(void *data, const char *format, char *text,
					    size_t room);
/* Returns 1 and the path of the object that contains the address, with its offset in it; else 0. */
MW_EXPORT int __sanitizer_get_module_and_offset_for_pc(void *pc, char *path, size_t room,
						       void **offset);

/* Functions that the program may have. */
extern void __sanitizer_malloc_hook(const volatile void *block, size_t bytes) __attribute__((weak));
extern void __sanitizer_free_hook(const volatile void *block) __attribute__((weak));
extern void __sanitizer_on_print(const char *text) __attribute__((weak));

/* For lsan.c: installs the program's hooks, and calls the death callback. */
void mw_sanitizer_start(void);
void mw_sanitizer_die(void);

#endif
