/* SPDX-License-Identifier: MIT
 * heap-checker.h -- gperftools' leak checker, which gperftools removed in 2.17, as mallow offers
 * it. It works while the environment variable HEAPCHECK chooses a mode; else checks find nothing.
 * The layout of the class is that of gperftools 2.10 to 2.16.  doc/reference/gperftools.md
 * describes the modes and variables.  Any thread may call.  C programs use mallow_leak_check(),
 * mallow_leak_ignore() and mallow_leak_ignore_begin() of <mallow/mallow.h>. */
#ifndef BASE_HEAP_CHECKER_H_
#define BASE_HEAP_CHECKER_H_

#ifdef __cplusplus

#include <stdint.h>
#include <sys/types.h>

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif

/* Finds blocks that were allocated after its construction and that no pointer leads to. */
class PERFTOOLS_DLL_DECL HeapLeakChecker {
      public:
	/* Returns whether HEAPCHECK is set. */
	static bool IsActive();
	/* The check of the whole program, which is made at its end; NULL: there is none. */
	static HeapLeakChecker *GlobalChecker();
	/* Makes this check now; it is made again at the end.  Returns whether nothing leaked. */
	static bool NoGlobalLeaks();
	static void CancelGlobalCheck();

	/* The name is that of messages and files.  One of the functions that check must be called
	 * before the destruction. */
	explicit HeapLeakChecker(const char *name);
	~HeapLeakChecker();
	/* Checks, and returns whether nothing leaked.  Leaks are printed on standard error, and
	 * written into a profile in the directory HEAP_CHECK_DUMP_DIRECTORY. */
	bool NoLeaks() {
		return DoNoLeaks(DO_NOT_SYMBOLIZE);
	}
	bool QuickNoLeaks() {
		return NoLeaks();
	}
	bool BriefNoLeaks() {
		return NoLeaks();
	}
	bool SameHeap() {
		return NoLeaks();
	}
	bool QuickSameHeap() {
		return NoLeaks();
	}
	bool BriefSameHeap() {
		return NoLeaks();
	}
	/* Leaked bytes and blocks of the last check. */
	ssize_t BytesLeaked() const;
	ssize_t ObjectsLeaked() const;

	/* While an object of this class exists, blocks that its thread allocates do not count as
	 * leaked, nor do the blocks that they lead to. */
	class Disabler {
	      public:
		Disabler();
		~Disabler();

	      private:
		Disabler(const Disabler &);
		void operator=(const Disabler &);
	};

	/* The block does not count as leaked, nor do the blocks that it leads to. */
	template <typename T> static T *IgnoreObject(T *block) {
		DoIgnoreObject(static_cast<const void *>(const_cast<const T *>(block)));
		return block;
	}
	static void UnIgnoreObject(const void *block);

      private:
	enum ShouldSymbolize { SYMBOLIZE, DO_NOT_SYMBOLIZE };
	bool DoNoLeaks(ShouldSymbolize should_symbolize);
	static void DoIgnoreObject(const void *block);
	HeapLeakChecker(const HeapLeakChecker &);
	void operator=(const HeapLeakChecker &);

	void *lock_;
	const char *name_; /* NULL: made while the checker was not active */
	void *start_snapshot_;
	bool has_checked_;
	ssize_t inuse_bytes_increase_;
	ssize_t inuse_allocs_increase_;
	bool keep_profiles_;
};

/* A pointer that leak checks do not see. */
template <class T> class HiddenPointer {
      public:
	explicit HiddenPointer(T *pointer)
	    : hidden_(reinterpret_cast<uintptr_t>(pointer) ^ mask()) {
	}
	T *get() const {
		return reinterpret_cast<T *>(hidden_ ^ mask());
	}

      private:
	static uintptr_t mask() {
		return static_cast<uintptr_t>(0xF03A5F7BF03A5F7BULL);
	}
	uintptr_t hidden_;
};

/* Calls a function before the check at the end of the program, to free what is no leak. */
class PERFTOOLS_DLL_DECL HeapCleaner {
      public:
	typedef void (*void_function)(void);
	HeapCleaner(void_function function);
	static void RunHeapCleanups();
};

/* At namespace scope: the body is run by HeapCleaner. */
#define REGISTER_HEAPCHECK_CLEANUP(name, body)                                                     \
	namespace {                                                                                \
	void heapcheck_cleanup_##name() {                                                          \
		body;                                                                              \
	}                                                                                          \
	static HeapCleaner heapcheck_cleaner_##name(&heapcheck_cleanup_##name);                    \
	}

#endif

#endif
