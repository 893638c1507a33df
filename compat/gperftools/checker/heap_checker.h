/* SPDX-License-Identifier: MIT
 * heap_checker.h -- gperftools' leak checker: HEAPCHECK, and the classes of
 * <gperftools/heap-checker.h>.
 * Layer: compat/gperftools/checker, the door of this folder. Every allocation is recorded while
 * HEAPCHECK chooses a mode; a check is a leak check of libmallow.so with other roots.
 *
 * Reading order: checker_settings.h, compat/leaks/leak_search.h (one check), leak_report.h (its
 * messages and file), heap_checker.c (the classes, and the check at the end). */
#ifndef MW_COMPAT_GPERFTOOLS_CHECKER_HEAP_CHECKER_H
#define MW_COMPAT_GPERFTOOLS_CHECKER_HEAP_CHECKER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/compiler.h"

/* Start of the process, from the constructor. */
void mw_gp_checker_start(void);
/* End of the process, after all else of it: makes the check of the whole program, and ends the
 * process with status 1 if something leaked. */
void mw_gp_checker_finish(void);

/* The layout of HeapLeakChecker in gperftools 2.10 to 2.16. */
typedef struct mw_gp_checker {
	void *lock;           /* not used */
	char *name;           /* NULL: made while the checker was not active */
	void *start;          /* mw_leaks_snapshot_t; NULL: everything counts */
	bool has_checked;     /* the next two are set */
	ssize_t bytes, count; /* leaked */
	bool keeps_profiles;  /* not used */
} mw_gp_checker_t;

/* HeapLeakChecker's functions by their names in programs; ...C1 and C2 construct, D1 and D2
 * destroy. */
MW_EXPORT bool _ZN15HeapLeakChecker8IsActiveEv(void);
MW_EXPORT mw_gp_checker_t *_ZN15HeapLeakChecker13GlobalCheckerEv(void);
MW_EXPORT bool _ZN15HeapLeakChecker13NoGlobalLeaksEv(void);
MW_EXPORT void _ZN15HeapLeakChecker17CancelGlobalCheckEv(void);
MW_EXPORT void _ZN15HeapLeakCheckerC1EPKc(mw_gp_checker_t *self, const char *name);
MW_EXPORT void _ZN15HeapLeakCheckerC2EPKc(mw_gp_checker_t *self, const char *name);
MW_EXPORT void _ZN15HeapLeakCheckerD1Ev(mw_gp_checker_t *self);
MW_EXPORT void _ZN15HeapLeakCheckerD2Ev(mw_gp_checker_t *self);
MW_EXPORT bool _ZN15HeapLeakChecker9DoNoLeaksENS_15ShouldSymbolizeE(mw_gp_checker_t *self,
								    int should_symbolize);
MW_EXPORT ssize_t _ZNK15HeapLeakChecker11BytesLeakedEv(const mw_gp_checker_t *self);
MW_EXPORT ssize_t _ZNK15HeapLeakChecker13ObjectsLeakedEv(const mw_gp_checker_t *self);
MW_EXPORT void _ZN15HeapLeakChecker14DoIgnoreObjectEPKv(const void *block);
MW_EXPORT void _ZN15HeapLeakChecker14UnIgnoreObjectEPKv(const void *block);
MW_EXPORT void _ZN15HeapLeakChecker8DisablerC1Ev(void *self);
MW_EXPORT void _ZN15HeapLeakChecker8DisablerC2Ev(void *self);
MW_EXPORT void _ZN15HeapLeakChecker8DisablerD1Ev(void *self);
MW_EXPORT void _ZN15HeapLeakChecker8DisablerD2Ev(void *self);
/* HeapCleaner */
MW_EXPORT void _ZN11HeapCleanerC1EPFvvE(void *self, void (*function)(void));
MW_EXPORT void _ZN11HeapCleanerC2EPFvvE(void *self, void (*function)(void));
MW_EXPORT void _ZN11HeapCleaner15RunHeapCleanupsEv(void);

#endif
