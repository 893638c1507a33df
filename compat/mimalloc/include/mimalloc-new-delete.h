/* SPDX-License-Identifier: MIT
 * mimalloc-new-delete.h -- operator new and delete by the functions of <mimalloc.h>.  Include it in
 * exactly one source file of a C++ program: it defines the operators. */
#ifndef MIMALLOC_NEW_DELETE_H
#define MIMALLOC_NEW_DELETE_H

#ifdef __cplusplus
#include <cstddef>
#include <new>

#include <mimalloc.h>

#if __cplusplus >= 201103L
#define MI_MAY_THROW_
#else
#define MI_MAY_THROW_ throw(std::bad_alloc)
#endif

void *operator new(std::size_t n) MI_MAY_THROW_ {
	return mi_new(n);
}
void *operator new[](std::size_t n) MI_MAY_THROW_ {
	return mi_new(n);
}
void *operator new(std::size_t n, const std::nothrow_t &) mi_attr_noexcept {
	return mi_new_nothrow(n);
}
void *operator new[](std::size_t n, const std::nothrow_t &) mi_attr_noexcept {
	return mi_new_nothrow(n);
}

void operator delete(void *p) mi_attr_noexcept {
	mi_free(p);
}
void operator delete[](void *p) mi_attr_noexcept {
	mi_free(p);
}
void operator delete(void *p, const std::nothrow_t &) mi_attr_noexcept {
	mi_free(p);
}
void operator delete[](void *p, const std::nothrow_t &) mi_attr_noexcept {
	mi_free(p);
}

#if __cplusplus >= 201402L
void operator delete(void *p, std::size_t n) noexcept {
	mi_free_size(p, n);
}
void operator delete[](void *p, std::size_t n) noexcept {
	mi_free_size(p, n);
}
#endif

#ifdef __cpp_aligned_new
void *operator new(std::size_t n, std::align_val_t a) {
	return mi_new_aligned(n, static_cast<std::size_t>(a));
}
void *operator new[](std::size_t n, std::align_val_t a) {
	return mi_new_aligned(n, static_cast<std::size_t>(a));
}
void *operator new(std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
	return mi_new_aligned_nothrow(n, static_cast<std::size_t>(a));
}
void *operator new[](std::size_t n, std::align_val_t a, const std::nothrow_t &) noexcept {
	return mi_new_aligned_nothrow(n, static_cast<std::size_t>(a));
}
void operator delete(void *p, std::align_val_t a) noexcept {
	mi_free_aligned(p, static_cast<std::size_t>(a));
}
void operator delete[](void *p, std::align_val_t a) noexcept {
	mi_free_aligned(p, static_cast<std::size_t>(a));
}
void operator delete(void *p, std::size_t n, std::align_val_t a) noexcept {
	mi_free_size_aligned(p, n, static_cast<std::size_t>(a));
}
void operator delete[](void *p, std::size_t n, std::align_val_t a) noexcept {
	mi_free_size_aligned(p, n, static_cast<std::size_t>(a));
}
void operator delete(void *p, std::align_val_t a, const std::nothrow_t &) noexcept {
	mi_free_aligned(p, static_cast<std::size_t>(a));
}
void operator delete[](void *p, std::align_val_t a, const std::nothrow_t &) noexcept {
	mi_free_aligned(p, static_cast<std::size_t>(a));
}
#endif
#endif

#endif
