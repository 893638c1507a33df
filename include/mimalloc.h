/* SPDX-License-Identifier: MIT
 * mimalloc.h -- mimalloc's interface as mallow offers it.  It is written for mallow from the
 * names, parameters and results that mimalloc documents.  doc/reference/mimalloc.md says what each
 * name does here and what differs.
 *
 * Sizes are bytes.  An alignment is a power of two.  Functions that return a pointer return NULL
 * when there is no memory, unless their comment says otherwise. */
#ifndef MIMALLOC_H
#define MIMALLOC_H

/* Version of the interface: 100 * major + 10 * minor + patch. */
#define MI_MALLOC_VERSION 224

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Names that programs use in declarations of their own. */
#define mi_cdecl
#define mi_decl_export __attribute__((visibility("default")))
#define mi_decl_restrict
#define mi_attr_malloc __attribute__((__malloc__))
#define mi_attr_alloc_size(s) __attribute__((__alloc_size__(s)))
#define mi_attr_alloc_size2(s1, s2) __attribute__((__alloc_size__(s1, s2)))
#define mi_attr_alloc_align(p) __attribute__((__alloc_align__(p)))
#if !defined(__cplusplus)
#define mi_attr_noexcept
#define mi_decl_nodiscard __attribute__((warn_unused_result))
#elif __cplusplus >= 201703L
#define mi_attr_noexcept noexcept
#define mi_decl_nodiscard [[nodiscard]]
#elif __cplusplus >= 201103L
#define mi_attr_noexcept noexcept
#define mi_decl_nodiscard __attribute__((warn_unused_result))
#else
#define mi_attr_noexcept throw()
#define mi_decl_nodiscard __attribute__((warn_unused_result))
#endif

/* For this header alone: a function that returns a new block, and one that returns anything else
 * that must not be lost. */
#define MI_NEW_BLOCK_ mi_decl_nodiscard mi_decl_export mi_decl_restrict
#define MI_RESULT_ mi_decl_nodiscard mi_decl_export
#define MI_MALLOC_(s) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size(s)
#define MI_CALLOC_(n, s) mi_attr_noexcept mi_attr_malloc mi_attr_alloc_size2(n, s)
#define MI_REALLOC_(s) mi_attr_noexcept mi_attr_alloc_size(s)
#define MI_REALLOCN_(n, s) mi_attr_noexcept mi_attr_alloc_size2(n, s)

#ifdef __cplusplus
extern "C" {
#endif

/* ---- allocate, resize, free ---- */

MI_NEW_BLOCK_ void *mi_malloc(size_t size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_calloc(size_t count, size_t size) MI_CALLOC_(1, 2);
MI_NEW_BLOCK_ void *mi_zalloc(size_t size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_mallocn(size_t count, size_t size) MI_CALLOC_(1, 2);
/* A size of 0 gives a block: mi_realloc() never frees without a result. */
MI_RESULT_ void *mi_realloc(void *p, size_t newsize) MI_REALLOC_(2);
MI_RESULT_ void *mi_reallocn(void *p, size_t count, size_t size) MI_REALLOCN_(2, 3);
/* Frees `p` if it cannot be resized. */
MI_RESULT_ void *mi_reallocf(void *p, size_t newsize) MI_REALLOC_(2);
/* `p` if the block has room for newsize bytes, else NULL.  The block does not move. */
mi_decl_export void *mi_expand(void *p, size_t newsize) MI_REALLOC_(2);
mi_decl_export void mi_free(void *p) mi_attr_noexcept;

/* Blocks that were allocated zeroed stay zeroed where they grow. */
MI_RESULT_ void *mi_rezalloc(void *p, size_t newsize) MI_REALLOC_(2);
MI_RESULT_ void *mi_recalloc(void *p, size_t newcount, size_t size) MI_REALLOCN_(2, 3);

/* For sizes up to MI_SMALL_SIZE_MAX. */
#define MI_SMALL_WSIZE_MAX (128)
#define MI_SMALL_SIZE_MAX (MI_SMALL_WSIZE_MAX * sizeof(void *))
MI_NEW_BLOCK_ void *mi_malloc_small(size_t size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_zalloc_small(size_t size) MI_MALLOC_(1);
mi_decl_export void mi_free_small(void *p) mi_attr_noexcept;

/* Bytes that the program may use of the block; 0 for NULL. */
MI_RESULT_ size_t mi_usable_size(const void *p) mi_attr_noexcept;
/* Bytes that a block of this size would have. */
MI_RESULT_ size_t mi_good_size(size_t size) mi_attr_noexcept;

/* The same with the usable size of the new block, or of the old one, unless the pointer to it is
 * NULL. */
MI_NEW_BLOCK_ void *mi_umalloc(size_t size, size_t *block_size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_ucalloc(size_t count, size_t size, size_t *block_size) MI_CALLOC_(1, 2);
MI_RESULT_ void *mi_urealloc(void *p, size_t newsize, size_t *block_size_pre,
			     size_t *block_size_post) MI_REALLOC_(2);
mi_decl_export void mi_ufree(void *p, size_t *block_size) mi_attr_noexcept;
MI_NEW_BLOCK_ void *mi_umalloc_aligned(size_t size, size_t alignment, size_t *block_size)
	MI_MALLOC_(1) mi_attr_alloc_align(2);
MI_NEW_BLOCK_ void *mi_uzalloc_aligned(size_t size, size_t alignment, size_t *block_size)
	MI_MALLOC_(1) mi_attr_alloc_align(2);
MI_NEW_BLOCK_ void *mi_umalloc_small(size_t size, size_t *block_size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_uzalloc_small(size_t size, size_t *block_size) MI_MALLOC_(1);

/* ---- aligned blocks; the alignment follows the size ---- */

MI_NEW_BLOCK_ void *mi_malloc_aligned(size_t size, size_t alignment) MI_MALLOC_(1)
	mi_attr_alloc_align(2);
MI_NEW_BLOCK_ void *mi_zalloc_aligned(size_t size, size_t alignment) MI_MALLOC_(1)
	mi_attr_alloc_align(2);
MI_NEW_BLOCK_ void *mi_calloc_aligned(size_t count, size_t size, size_t alignment) MI_CALLOC_(1, 2)
	mi_attr_alloc_align(3);
MI_RESULT_ void *mi_realloc_aligned(void *p, size_t newsize, size_t alignment) MI_REALLOC_(2)
	mi_attr_alloc_align(3);
MI_RESULT_ void *mi_rezalloc_aligned(void *p, size_t newsize, size_t alignment) MI_REALLOC_(2)
	mi_attr_alloc_align(3);
MI_RESULT_ void *mi_recalloc_aligned(void *p, size_t newcount, size_t size, size_t alignment)
	MI_REALLOCN_(2, 3) mi_attr_alloc_align(4);
/* The address `offset` bytes behind the start of the block is aligned. */
MI_NEW_BLOCK_ void *mi_malloc_aligned_at(size_t size, size_t alignment, size_t offset)
	MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_zalloc_aligned_at(size_t size, size_t alignment, size_t offset)
	MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_calloc_aligned_at(size_t count, size_t size, size_t alignment, size_t offset)
	MI_CALLOC_(1, 2);
MI_RESULT_ void *mi_realloc_aligned_at(void *p, size_t newsize, size_t alignment, size_t offset)
	MI_REALLOC_(2);
MI_RESULT_ void *mi_rezalloc_aligned_at(void *p, size_t newsize, size_t alignment, size_t offset)
	MI_REALLOC_(2);
MI_RESULT_ void *mi_recalloc_aligned_at(void *p, size_t newcount, size_t size, size_t alignment,
					size_t offset) MI_REALLOCN_(2, 3);

/* ---- strings ---- */

MI_NEW_BLOCK_ char *mi_strdup(const char *s) mi_attr_noexcept mi_attr_malloc;
MI_NEW_BLOCK_ char *mi_strndup(const char *s, size_t n) mi_attr_noexcept mi_attr_malloc;
MI_NEW_BLOCK_ char *mi_realpath(const char *fname, char *resolved_name) mi_attr_noexcept;
MI_NEW_BLOCK_ unsigned short *mi_wcsdup(const unsigned short *s) mi_attr_noexcept mi_attr_malloc;
MI_NEW_BLOCK_ unsigned char *mi_mbsdup(const unsigned char *s) mi_attr_noexcept mi_attr_malloc;
mi_decl_export int mi_dupenv_s(char **buf, size_t *size, const char *name) mi_attr_noexcept;
mi_decl_export int mi_wdupenv_s(unsigned short **buf, size_t *size,
				const unsigned short *name) mi_attr_noexcept;

/* ---- functions of POSIX, BSD and others ---- */

/* Frees `p` if the heap holds it; ignores any other pointer. */
mi_decl_export void mi_cfree(void *p) mi_attr_noexcept;
mi_decl_export void *mi__expand(void *p, size_t newsize) mi_attr_noexcept;
MI_RESULT_ size_t mi_malloc_size(const void *p) mi_attr_noexcept;
MI_RESULT_ size_t mi_malloc_good_size(size_t size) mi_attr_noexcept;
MI_RESULT_ size_t mi_malloc_usable_size(const void *p) mi_attr_noexcept;
mi_decl_export int mi_posix_memalign(void **p, size_t alignment, size_t size) mi_attr_noexcept;
MI_NEW_BLOCK_ void *mi_memalign(size_t alignment, size_t size) MI_MALLOC_(2) mi_attr_alloc_align(1);
MI_NEW_BLOCK_ void *mi_aligned_alloc(size_t alignment, size_t size) MI_MALLOC_(2)
	mi_attr_alloc_align(1);
MI_NEW_BLOCK_ void *mi_valloc(size_t size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_pvalloc(size_t size) MI_MALLOC_(1);
MI_RESULT_ void *mi_reallocarray(void *p, size_t count, size_t size) MI_REALLOCN_(2, 3);
/* `p` is the address of the pointer.  Returns 0 or an error number. */
MI_RESULT_ int mi_reallocarr(void *p, size_t count, size_t size) mi_attr_noexcept;
MI_RESULT_ void *mi_aligned_recalloc(void *p, size_t newcount, size_t size,
				     size_t alignment) mi_attr_noexcept;
MI_RESULT_ void *mi_aligned_offset_recalloc(void *p, size_t newcount, size_t size, size_t alignment,
					    size_t offset) mi_attr_noexcept;
/* The caller states the size or the alignment of the block. */
mi_decl_export void mi_free_size(void *p, size_t size) mi_attr_noexcept;
mi_decl_export void mi_free_size_aligned(void *p, size_t size, size_t alignment) mi_attr_noexcept;
mi_decl_export void mi_free_aligned(void *p, size_t alignment) mi_attr_noexcept;

/* ---- operator new of C++: calls the new handler, then throws std::bad_alloc; the nothrow forms
 * return NULL ---- */

MI_NEW_BLOCK_ void *mi_new(size_t size) mi_attr_malloc mi_attr_alloc_size(1);
MI_NEW_BLOCK_ void *mi_new_aligned(size_t size, size_t alignment) mi_attr_malloc
	mi_attr_alloc_size(1) mi_attr_alloc_align(2);
MI_NEW_BLOCK_ void *mi_new_nothrow(size_t size) MI_MALLOC_(1);
MI_NEW_BLOCK_ void *mi_new_aligned_nothrow(size_t size, size_t alignment) MI_MALLOC_(1)
	mi_attr_alloc_align(2);
MI_NEW_BLOCK_ void *mi_new_n(size_t count, size_t size) mi_attr_malloc mi_attr_alloc_size2(1, 2);
MI_RESULT_ void *mi_new_realloc(void *p, size_t newsize) mi_attr_alloc_size(2);
MI_RESULT_ void *mi_new_reallocn(void *p, size_t newcount, size_t size) mi_attr_alloc_size2(2, 3);

/* ---- the library ---- */

mi_decl_export int mi_version(void) mi_attr_noexcept;
/* Gives free memory back to the system; `force`: all of it, else what is due. */
mi_decl_export void mi_collect(bool force) mi_attr_noexcept;
/* Whether mallow allocated the memory at this address. */
MI_RESULT_ bool mi_is_in_heap_region(const void *p) mi_attr_noexcept;
/* Whether malloc() of the program is this library's. */
MI_RESULT_ bool mi_is_redirected(void) mi_attr_noexcept;
/* No need to call these: the library starts with its first call, and sees threads end. */
mi_decl_export void mi_process_init(void) mi_attr_noexcept;
mi_decl_export void mi_process_done(void) mi_attr_noexcept;
mi_decl_export void mi_thread_init(void) mi_attr_noexcept;
mi_decl_export void mi_thread_done(void) mi_attr_noexcept;
mi_decl_export void mi_thread_set_in_threadpool(void) mi_attr_noexcept;

#ifdef __cplusplus
}
#endif

/* ---- blocks of a type ---- */

#define mi_malloc_tp(tp) ((tp *)mi_malloc(sizeof(tp)))
#define mi_zalloc_tp(tp) ((tp *)mi_zalloc(sizeof(tp)))
#define mi_calloc_tp(tp, n) ((tp *)mi_calloc(n, sizeof(tp)))
#define mi_mallocn_tp(tp, n) ((tp *)mi_mallocn(n, sizeof(tp)))
#define mi_reallocn_tp(p, tp, n) ((tp *)mi_reallocn(p, n, sizeof(tp)))
#define mi_recalloc_tp(p, tp, n) ((tp *)mi_recalloc(p, n, sizeof(tp)))

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#include <new>
#if __cplusplus >= 201103L
#include <type_traits>
#include <utility>
#endif

/* An allocator of the C++ library's containers, with mi_new_n() and mi_free(). */
template <class T> struct mi_stl_allocator {
	typedef T value_type;
	typedef std::size_t size_type;
	typedef std::ptrdiff_t difference_type;
	typedef T &reference;
	typedef const T &const_reference;
	typedef T *pointer;
	typedef const T *const_pointer;
	template <class U> struct rebind { typedef mi_stl_allocator<U> other; };
#if __cplusplus >= 201103L
	using propagate_on_container_copy_assignment = std::true_type;
	using propagate_on_container_move_assignment = std::true_type;
	using propagate_on_container_swap = std::true_type;
	using is_always_equal = std::true_type;
#endif

	mi_stl_allocator() mi_attr_noexcept {
	}
	mi_stl_allocator(const mi_stl_allocator &) mi_attr_noexcept {
	}
	template <class U> mi_stl_allocator(const mi_stl_allocator<U> &) mi_attr_noexcept {
	}
	mi_stl_allocator &operator=(const mi_stl_allocator &) mi_attr_noexcept {
		return *this;
	}
	mi_stl_allocator select_on_container_copy_construction() const {
		return *this;
	}
	mi_decl_nodiscard T *allocate(size_type count, const void * = 0) {
		return static_cast<T *>(mi_new_n(count, sizeof(T)));
	}
	void deallocate(T *p, size_type) {
		mi_free(p);
	}
	size_type max_size() const mi_attr_noexcept {
		return PTRDIFF_MAX / sizeof(T);
	}
	pointer address(reference x) const {
		return &x;
	}
	const_pointer address(const_reference x) const {
		return &x;
	}
#if __cplusplus >= 201103L
	template <class U, class... Args> void construct(U *p, Args &&...args) {
		::new (static_cast<void *>(p)) U(std::forward<Args>(args)...);
	}
	template <class U> void destroy(U *p) mi_attr_noexcept {
		p->~U();
	}
#else
	void construct(pointer p, const T &value) {
		::new (static_cast<void *>(p)) T(value);
	}
	void destroy(pointer p) {
		p->~T();
	}
#endif
};

template <class T, class U>
bool operator==(const mi_stl_allocator<T> &, const mi_stl_allocator<U> &) mi_attr_noexcept {
	return true;
}
template <class T, class U>
bool operator!=(const mi_stl_allocator<T> &, const mi_stl_allocator<U> &) mi_attr_noexcept {
	return false;
}
#endif

#endif
