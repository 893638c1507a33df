/* SPDX-License-Identifier: MIT
 * dropped.h -- functions of allocators and profilers.  Formats without a field for drop_frames
 * keep them in their stacks, so their readers set profile->drop_frames to these lists.
 * Layer: formats/text.  Private to this folder. */
#ifndef MW_TOOL_FORMATS_TEXT_DROPPED_H
#define MW_TOOL_FORMATS_TEXT_DROPPED_H

/* For heap and growth profiles: pprof's list, and jemalloc's functions where jemalloc is linked
 * into the program. jemalloc's functions are static or have a prefix.  A separate jemalloc
 * library is recognised by its file name. */
#define MW_DROP_ALLOCATION                                                                         \
	"calloc|cfree|malloc|free|memalign|do_memalign|(__)?posix_memalign|pvalloc|valloc|realloc" \
	"|aligned_alloc"                                                                           \
	"|tcmalloc::.*|tc_(calloc|cfree|malloc|free|memalign|posix_memalign|pvalloc|valloc|"       \
	"realloc|new|delete|newarray|deletearray|new_nothrow|newarray_nothrow)"                    \
	"|malloc_zone_(malloc|calloc|valloc|realloc|memalign|free)|runtime\\..*"                   \
	"|BaseArena::.*|(::)?do_malloc(_no_errno|_pages)?|DoSampledAllocation"                     \
	"|MallocedMemBlock::MallocedMemBlock|_M_allocate|__builtin_(vec_)?(delete|new)"            \
	"|__gnu_cxx::new_allocator::allocate|__libc_malloc|__malloc_alloc_template::allocate"      \
	"|allocate|cpp_alloc|operator new(\\[\\])?|simple_alloc::allocate"                         \
	"|(_rjem_)?(je_)?(malloc|calloc|realloc|aligned_alloc|memalign|posix_memalign|valloc|"     \
	"pvalloc|[mrx]allocx|malloc_default|do_rallocx|do_realloc_nonzero)|"                       \
	"(newImpl|fallbackNewImpl|fallback_impl)(<.*>)?|(_rjem_)?je_(prof|arena|large)_.*|"        \
	"prof_(backtrace|tctx|alloc)(_.*)?"
#define MW_KEEP_ALLOCATION "runtime\\.panic|runtime\\.reflectcall|runtime\\.call[0-9]*"

/* For gperftools' CPU and contention profiles: pprof's lists. */
#define MW_DROP_CPU                                                                                \
	"ProfileData::Add|ProfileData::prof_handler|CpuProfiler::prof_handler"                     \
	"|__pthread_sighandler|__restore"
#define MW_DROP_CONTENTION                                                                         \
	"(base::)?RecordLockProfileData.*|(base::)?Submit(Mutex|SpinLock)ProfileData.*"            \
	"|(base::)?(Mutex::)?(AwaitCommon|Unlock|ReaderUnlock).*|(base::)?(MutexLock::)?"          \
	"~MutexLock.*|(SpinLock::)?(Unlock|SlowUnlock).*|(SpinLockHolder::)?~SpinLockHolder.*"

#endif
