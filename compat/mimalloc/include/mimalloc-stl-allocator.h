/* SPDX-License-Identifier: MIT
 * mimalloc-stl-allocator.h -- allocators of the C++ library's containers that use mimalloc's
 * functions.  <mimalloc.h> includes this file. */
#ifndef MIMALLOC_STL_ALLOCATOR_H
#define MIMALLOC_STL_ALLOCATOR_H

#include <mimalloc.h>

#ifdef __cplusplus
#include <cstddef>
#include <cstdint>
#include <new>
#if __cplusplus >= 201103L
#include <memory>
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

#if __cplusplus >= 201103L
#define MI_HAS_HEAP_STL_ALLOCATOR 1

/* An allocator with a heap: that of the argument, which stays the caller's, or one of its own. When
 * the last copy of the allocator goes, its own heap is destroyed with all its blocks (`destroys`),
 * or deleted. */
template <class T, bool destroys> struct mi_heap_allocator_ : mi_stl_allocator<T> {
	using is_always_equal = std::false_type;
	template <class U> struct rebind { typedef mi_heap_allocator_<U, destroys> other; };

	std::shared_ptr<mi_heap_t> heap;

	mi_heap_allocator_()
	    : heap(mi_heap_new(),
		   [](mi_heap_t *own) { destroys ? mi_heap_destroy(own) : mi_heap_delete(own); }) {
	}
	mi_heap_allocator_(mi_heap_t *other) : heap(other, [](mi_heap_t *) {}) {
	}
	template <class U>
	mi_heap_allocator_(const mi_heap_allocator_<U, destroys> &from) noexcept : heap(from.heap) {
	}
	mi_heap_allocator_ select_on_container_copy_construction() const {
		return *this;
	}
	mi_decl_nodiscard T *allocate(std::size_t count, const void * = 0) {
		return static_cast<T *>(mi_heap_alloc_new_n(heap.get(), count, sizeof(T)));
	}
	/* Blocks of a heap that is destroyed need not be freed one by one. */
	void deallocate(T *p, std::size_t) {
		if (!destroys)
			mi_free(p);
	}
	void collect(bool force) {
		mi_heap_collect(heap.get(), force);
	}
	template <class U> bool is_equal(const mi_heap_allocator_<U, destroys> &other) const {
		return heap == other.heap;
	}
};

template <class T, class U, bool destroys>
bool operator==(const mi_heap_allocator_<T, destroys> &a,
		const mi_heap_allocator_<U, destroys> &b) noexcept {
	return a.is_equal(b);
}
template <class T, class U, bool destroys>
bool operator!=(const mi_heap_allocator_<T, destroys> &a,
		const mi_heap_allocator_<U, destroys> &b) noexcept {
	return !a.is_equal(b);
}
template <class T> using mi_heap_stl_allocator = mi_heap_allocator_<T, false>;
template <class T> using mi_heap_destroy_stl_allocator = mi_heap_allocator_<T, true>;
#endif
#endif

#endif
