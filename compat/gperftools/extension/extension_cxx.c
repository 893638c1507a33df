/* SPDX-License-Identifier: MIT
 * extension_cxx.c -- gperftools' C++ classes MallocExtension and SysAllocator, by the names and
 * layouts of the Itanium C++ ABI, so that the library needs neither a C++ compiler nor libstdc++.
 *
 * The table of virtual functions has the order of gperftools 2.10 to 2.18:
 * tests/gperftools/extension.cc checks it against the header. */
#include <gperftools/malloc_extension_c.h>
#include <stdatomic.h>
#include <string.h>

#include "base/check.h"
#include "compat/gperftools/gperftools.h"
#include "compat/gperftools/profile/heap_profiler.h"

/* Defines an exported function; the prototype is here only. */
#define EXPORTED(type, name, arguments)                                                            \
	MW_EXPORT type name arguments;                                                             \
	type name arguments

/* Symbols of libstdc++; absent in programs of C. */
#define WEAK extern __attribute__((weak, visibility("default")))
WEAK const char _ZTVN10__cxxabiv117__class_type_infoE[];
WEAK void __cxa_pure_virtual(void); // NOLINT(bugprone-reserved-identifier)
WEAK void *_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm(void *string,
									     const char *text,
									     size_t length);
extern void *_Znwm(size_t bytes);
extern void *_Znam(size_t bytes);
extern void _ZdlPv(void *block);

typedef struct type_info {
	const char *table; /* of virtual functions of std::type_info's subclass */
	const char *name;
} type_info_t;
#define TYPE_INFO_TABLE (_ZTVN10__cxxabiv117__class_type_infoE + 2 * sizeof(void *))

MW_EXPORT extern const char _ZTS15MallocExtension[18], _ZTS12SysAllocator[15];
MW_EXPORT extern const type_info_t _ZTI15MallocExtension, _ZTI12SysAllocator;
const char _ZTS15MallocExtension[18] = "15MallocExtension",
	   _ZTS12SysAllocator[15] = "12SysAllocator";
const type_info_t _ZTI15MallocExtension = {TYPE_INFO_TABLE, _ZTS15MallocExtension};
const type_info_t _ZTI12SysAllocator = {TYPE_INFO_TABLE, _ZTS12SysAllocator};

/* ---- destructors: complete, base, deleting ---- */

EXPORTED(void, _ZN15MallocExtensionD1Ev, (void *self)) {
	(void)self;
}
EXPORTED(void, _ZN15MallocExtensionD2Ev, (void *self)) {
	(void)self;
}
EXPORTED(void, _ZN15MallocExtensionD0Ev, (void *self)) {
	_ZdlPv(self);
}
EXPORTED(void, _ZN12SysAllocatorD1Ev, (void *self)) {
	(void)self;
}
EXPORTED(void, _ZN12SysAllocatorD2Ev, (void *self)) {
	(void)self;
}
EXPORTED(void, _ZN12SysAllocatorD0Ev, (void *self)) {
	_ZdlPv(self);
}

/* ---- virtual functions ---- */

EXPORTED(bool, _ZN15MallocExtension15VerifyAllMemoryEv, (void *self)) {
	(void)self;
	return MallocExtension_VerifyAllMemory();
}

EXPORTED(bool, _ZN15MallocExtension15VerifyNewMemoryEPKv, (void *self, const void *p)) {
	(void)self;
	return MallocExtension_VerifyNewMemory(p);
}

EXPORTED(bool, _ZN15MallocExtension20VerifyArrayNewMemoryEPKv, (void *self, const void *p)) {
	(void)self;
	return MallocExtension_VerifyArrayNewMemory(p);
}

EXPORTED(bool, _ZN15MallocExtension18VerifyMallocMemoryEPKv, (void *self, const void *p)) {
	(void)self;
	return MallocExtension_VerifyMallocMemory(p);
}

EXPORTED(bool, _ZN15MallocExtension17MallocMemoryStatsEPiPmS0_,
	 (void *self, int *blocks, size_t *total, int *histogram)) {
	(void)self;
	return MallocExtension_MallocMemoryStats(blocks, total, histogram);
}

EXPORTED(void, _ZN15MallocExtension8GetStatsEPci, (void *self, char *buffer, int length)) {
	(void)self;
	MallocExtension_GetStats(buffer, length);
}

static void append(void *string, const char *text, size_t length) {
	if (_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm)
		_ZNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE6appendEPKcm(string, text,
										  length);
}

EXPORTED(void,
	 _ZN15MallocExtension13GetHeapSampleEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE,
	 (void *self, void *string)) {
	(void)self;
	MallocExtension_GetHeapSample(append, string);
}

EXPORTED(
	void,
	_ZN15MallocExtension19GetHeapGrowthStacksEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE,
	(void *self, void *string)) {
	(void)self;
	MallocExtension_GetHeapGrowthStacks(append, string);
}

/* base::MallocRange has the layout of MallocExtension_Range. */
EXPORTED(void, _ZN15MallocExtension6RangesEPvPFvS0_PKN4base11MallocRangeEE,
	 (void *self, void *context, MallocExtension_RangeFunction function)) {
	(void)self;
	MallocExtension_Ranges(context, function);
}

EXPORTED(bool, _ZN15MallocExtension18GetNumericPropertyEPKcPm,
	 (void *self, const char *property, size_t *value)) {
	(void)self;
	return MallocExtension_GetNumericProperty(property, value);
}

EXPORTED(bool, _ZN15MallocExtension18SetNumericPropertyEPKcm,
	 (void *self, const char *property, size_t value)) {
	(void)self;
	return MallocExtension_SetNumericProperty(property, value);
}

EXPORTED(void, _ZN15MallocExtension14MarkThreadIdleEv, (void *self)) {
	(void)self;
	MallocExtension_MarkThreadIdle();
}

EXPORTED(void, _ZN15MallocExtension14MarkThreadBusyEv, (void *self)) {
	(void)self;
	MallocExtension_MarkThreadBusy();
}

/* Memory comes from mmap(2): the object is kept for programs that read it back. */
static _Atomic(void *) system_allocator;

EXPORTED(void *, _ZN15MallocExtension18GetSystemAllocatorEv, (void *self)) {
	(void)self;
	return system_allocator;
}

EXPORTED(void, _ZN15MallocExtension18SetSystemAllocatorEP12SysAllocator,
	 (void *self, void *allocator)) {
	(void)self;
	system_allocator = allocator;
}

EXPORTED(void, _ZN15MallocExtension15ReleaseToSystemEm, (void *self, size_t bytes)) {
	(void)self;
	MallocExtension_ReleaseToSystem(bytes);
}

EXPORTED(void, _ZN15MallocExtension17ReleaseFreeMemoryEv, (void *self)) {
	(void)self;
	MallocExtension_ReleaseFreeMemory();
}

EXPORTED(void, _ZN15MallocExtension20SetMemoryReleaseRateEd, (void *self, double rate)) {
	(void)self;
	MallocExtension_SetMemoryReleaseRate(rate);
}

EXPORTED(double, _ZN15MallocExtension20GetMemoryReleaseRateEv, (void *self)) {
	(void)self;
	return MallocExtension_GetMemoryReleaseRate();
}

EXPORTED(size_t, _ZN15MallocExtension25GetEstimatedAllocatedSizeEm, (void *self, size_t size)) {
	(void)self;
	return MallocExtension_GetEstimatedAllocatedSize(size);
}

EXPORTED(size_t, _ZN15MallocExtension16GetAllocatedSizeEPKv, (void *self, const void *p)) {
	(void)self;
	return MallocExtension_GetAllocatedSize(p);
}

EXPORTED(MallocExtension_Ownership, _ZN15MallocExtension12GetOwnershipEPKv,
	 (void *self, const void *p)) {
	(void)self;
	return MallocExtension_GetOwnership(p);
}

/* std::vector of a type without a constructor. */
typedef struct vector {
	MallocExtension_FreeListInfo *begin, *end, *limit;
} vector_t;

EXPORTED(void, _ZN15MallocExtension16GetFreeListSizesEPSt6vectorINS_12FreeListInfoESaIS1_EE,
	 (void *self, vector_t *lists)) {
	(void)self;
	size_t count = MallocExtension_GetFreeListSizes(NULL, 0);
	if ((size_t)(lists->limit - lists->begin) < count) {
		MallocExtension_FreeListInfo *larger = _Znwm(count * sizeof *larger);
		_ZdlPv(lists->begin);
		lists->begin = larger;
		lists->limit = larger + count;
	}
	lists->end = lists->begin + count;
	MallocExtension_GetFreeListSizes(lists->begin, count);
}

EXPORTED(void **, _ZN15MallocExtension15ReadStackTracesEPi, (void *self, int *period)) {
	(void)self;
	*period = 1; /* as MallocExtension_ReadStackTraces() */
	return mw_gp_profile_words(_Znam);
}

EXPORTED(void **, _ZN15MallocExtension25ReadHeapGrowthStackTracesEv, (void *self)) {
	(void)self;
	return mw_gp_growth_words(_Znam);
}

EXPORTED(size_t, _ZN15MallocExtension18GetThreadCacheSizeEv, (void *self)) {
	(void)self;
	return MallocExtension_GetThreadCacheSize();
}

EXPORTED(void, _ZN15MallocExtension25MarkThreadTemporarilyIdleEv, (void *self)) {
	(void)self;
	MallocExtension_MarkThreadTemporarilyIdle();
}

/* ---- tables of virtual functions, and the object ---- */

MW_EXPORT extern const void *const _ZTV15MallocExtension[31], *const _ZTV12SysAllocator[5];
/* Entries before the first function, to which an object points. */
#define TABLE_HEAD 2
const void *const _ZTV15MallocExtension[31] = {
	NULL,
	&_ZTI15MallocExtension,
	_ZN15MallocExtensionD1Ev,
	_ZN15MallocExtensionD0Ev,
	_ZN15MallocExtension15VerifyAllMemoryEv,
	_ZN15MallocExtension15VerifyNewMemoryEPKv,
	_ZN15MallocExtension20VerifyArrayNewMemoryEPKv,
	_ZN15MallocExtension18VerifyMallocMemoryEPKv,
	_ZN15MallocExtension17MallocMemoryStatsEPiPmS0_,
	_ZN15MallocExtension8GetStatsEPci,
	_ZN15MallocExtension13GetHeapSampleEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE,
	_ZN15MallocExtension19GetHeapGrowthStacksEPNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE,
	_ZN15MallocExtension6RangesEPvPFvS0_PKN4base11MallocRangeEE,
	_ZN15MallocExtension18GetNumericPropertyEPKcPm,
	_ZN15MallocExtension18SetNumericPropertyEPKcm,
	_ZN15MallocExtension14MarkThreadIdleEv,
	_ZN15MallocExtension14MarkThreadBusyEv,
	_ZN15MallocExtension18GetSystemAllocatorEv,
	_ZN15MallocExtension18SetSystemAllocatorEP12SysAllocator,
	_ZN15MallocExtension15ReleaseToSystemEm,
	_ZN15MallocExtension17ReleaseFreeMemoryEv,
	_ZN15MallocExtension20SetMemoryReleaseRateEd,
	_ZN15MallocExtension20GetMemoryReleaseRateEv,
	_ZN15MallocExtension25GetEstimatedAllocatedSizeEm,
	_ZN15MallocExtension16GetAllocatedSizeEPKv,
	_ZN15MallocExtension12GetOwnershipEPKv,
	_ZN15MallocExtension16GetFreeListSizesEPSt6vectorINS_12FreeListInfoESaIS1_EE,
	_ZN15MallocExtension15ReadStackTracesEPi,
	_ZN15MallocExtension25ReadHeapGrowthStackTracesEv,
	_ZN15MallocExtension18GetThreadCacheSizeEv,
	_ZN15MallocExtension25MarkThreadTemporarilyIdleEv,
};
const void *const _ZTV12SysAllocator[5] = {
	NULL, &_ZTI12SysAllocator, _ZN12SysAllocatorD1Ev, _ZN12SysAllocatorD0Ev, __cxa_pure_virtual,
};

static struct { const void *const *functions; } own_object = {_ZTV15MallocExtension + TABLE_HEAD};
static _Atomic(void *) registered = &own_object;

EXPORTED(void *, _ZN15MallocExtension8instanceEv, (void)) {
	return registered;
}

EXPORTED(void, _ZN15MallocExtension8RegisterEPS_, (void *extension)) {
	registered = extension ? extension : &own_object;
}

EXPORTED(void, _ZN15MallocExtension10InitializeEv, (void)) {
}
