/* SPDX-License-Identifier: MIT
 * tcmalloc.h -- the names that gperftools' libtcmalloc has beside libc's, as mallow offers them.
 * doc/reference/gperftools.md says what each one does here. */
#ifndef TCMALLOC_TCMALLOC_H_
#define TCMALLOC_TCMALLOC_H_

#include <malloc.h>
#include <stddef.h>

/* The version of the interface. */
#define TC_VERSION_MAJOR 2
#define TC_VERSION_MINOR 18
#define TC_VERSION_PATCH ".1"
#define TC_VERSION_STRING "gperftools 2.18.1"

#ifndef PERFTOOLS_DLL_DECL
#define PERFTOOLS_DLL_DECL
#endif
#if defined(__cplusplus) && __cplusplus >= 201103L
#define PERFTOOLS_NOTHROW noexcept
#elif defined(__cplusplus)
#define PERFTOOLS_NOTHROW throw()
#else
#define PERFTOOLS_NOTHROW
#endif

#ifdef __cplusplus
#include <new>
extern "C" {
#endif

/* Returns TC_VERSION_STRING of the library.  Pointers that are not NULL receive its parts. */
PERFTOOLS_DLL_DECL const char *tc_version(int *major, int *minor,
					  const char **patch) PERFTOOLS_NOTHROW;

/* libc's functions. */
PERFTOOLS_DLL_DECL void *tc_malloc(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_malloc_skip_new_handler(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free(void *ptr) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free_sized(void *ptr, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_free_aligned_sized(void *ptr, size_t align,
					      size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_realloc(void *ptr, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_calloc(size_t count, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_cfree(void *ptr) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_memalign(size_t align, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL int tc_posix_memalign(void **ptr, size_t align, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_valloc(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_pvalloc(size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_malloc_stats(void) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL int tc_mallopt(int parameter, int value) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL struct mallinfo tc_mallinfo(void) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL struct mallinfo2 tc_mallinfo2(void) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL size_t tc_malloc_size(void *ptr) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL size_t tc_nallocx(size_t size, int flags);

#ifdef __cplusplus
/* Stores the flag and returns the one before.  malloc() does not call the new handler here. */
PERFTOOLS_DLL_DECL int tc_set_new_mode(int flag) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL int tc_query_new_mode(void) PERFTOOLS_NOTHROW;

/* C++'s operators.  Those without _nothrow throw std::bad_alloc. */
PERFTOOLS_DLL_DECL void *tc_new(size_t size);
PERFTOOLS_DLL_DECL void *tc_new_nothrow(size_t size, const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete(void *p) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_sized(void *p, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_nothrow(void *p, const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_newarray(size_t size);
PERFTOOLS_DLL_DECL void *tc_newarray_nothrow(size_t size, const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray(void *p) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_sized(void *p, size_t size) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_nothrow(void *p, const std::nothrow_t &) PERFTOOLS_NOTHROW;
#if defined(__cpp_aligned_new)
PERFTOOLS_DLL_DECL void *tc_new_aligned(size_t size, std::align_val_t align);
PERFTOOLS_DLL_DECL void *tc_new_aligned_nothrow(size_t size, std::align_val_t align,
						const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_aligned(void *p, std::align_val_t align) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_sized_aligned(void *p, size_t size,
						std::align_val_t align) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_delete_aligned_nothrow(void *p, std::align_val_t align,
						  const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void *tc_newarray_aligned(size_t size, std::align_val_t align);
PERFTOOLS_DLL_DECL void *tc_newarray_aligned_nothrow(size_t size, std::align_val_t align,
						     const std::nothrow_t &) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_aligned(void *p, std::align_val_t align) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_sized_aligned(void *p, size_t size,
						     std::align_val_t align) PERFTOOLS_NOTHROW;
PERFTOOLS_DLL_DECL void tc_deletearray_aligned_nothrow(void *p, std::align_val_t align,
						       const std::nothrow_t &) PERFTOOLS_NOTHROW;
#endif
}
#endif

#endif
