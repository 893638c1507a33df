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
#ifndef mi_decl_export
#define mi_decl_export __attribute__((visibility("default")))
#endif
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

/* These functions also store the usable size of the new block, or of the old one, where the pointer
 * to that size is not NULL. */
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

/* ---- heaps: blocks apart from all others, which can be freed at once ----
 * The thread that makes a heap allocates from it at full speed; other threads may, too.  Any thread
 * frees by mi_free(). */

typedef struct mi_heap_s mi_heap_t;
typedef int mi_arena_id_t; /* 0: none */

/* NULL: no memory, or more than 4094 heaps. */
MI_RESULT_ mi_heap_t *mi_heap_new(void);
/* The heap ends; its blocks stay until they are freed. */
mi_decl_export void mi_heap_delete(mi_heap_t *heap);
/* The heap and all its blocks end.  No other thread uses them. */
mi_decl_export void mi_heap_destroy(mi_heap_t *heap);
/* `heap_tag` is shown in mi_heap_area_t.  Without `allow_destroy`, mi_heap_destroy() is
 * mi_heap_delete(). */
MI_RESULT_ mi_heap_t *mi_heap_new_ex(int heap_tag, bool allow_destroy, mi_arena_id_t arena_id);
MI_RESULT_ mi_heap_t *mi_heap_new_in_arena(mi_arena_id_t arena_id);
/* From now on all blocks of the calling thread come from this heap, those of malloc() as well.
 * Returns the heap before. */
mi_decl_export mi_heap_t *mi_heap_set_default(mi_heap_t *heap);
mi_decl_export mi_heap_t *mi_heap_get_default(void);
/* The heap of all blocks for which no other is named. */
mi_decl_export mi_heap_t *mi_heap_get_backing(void);
mi_decl_export mi_heap_t *mi_heap_main(void);
mi_decl_export void mi_heap_collect(mi_heap_t *heap, bool force) mi_attr_noexcept;
/* Without effect: memory lies on the node of the thread that touches it first. */
mi_decl_export void mi_heap_set_numa_affinity(mi_heap_t *heap, int numa_node);

MI_NEW_BLOCK_ void *mi_heap_malloc(mi_heap_t *heap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_heap_zalloc(mi_heap_t *heap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_heap_calloc(mi_heap_t *heap, size_t count, size_t size) MI_CALLOC_(2, 3);
MI_NEW_BLOCK_ void *mi_heap_mallocn(mi_heap_t *heap, size_t count, size_t size) MI_CALLOC_(2, 3);
MI_NEW_BLOCK_ void *mi_heap_malloc_small(mi_heap_t *heap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_heap_zalloc_small(mi_heap_t *heap, size_t size) MI_MALLOC_(2);
MI_RESULT_ void *mi_heap_realloc(mi_heap_t *heap, void *p, size_t newsize) MI_REALLOC_(3);
MI_RESULT_ void *mi_heap_reallocn(mi_heap_t *heap, void *p, size_t count, size_t size)
	MI_REALLOCN_(3, 4);
MI_RESULT_ void *mi_heap_reallocf(mi_heap_t *heap, void *p, size_t newsize) MI_REALLOC_(3);
MI_RESULT_ void *mi_heap_rezalloc(mi_heap_t *heap, void *p, size_t newsize) MI_REALLOC_(3);
MI_RESULT_ void *mi_heap_recalloc(mi_heap_t *heap, void *p, size_t newcount, size_t size)
	MI_REALLOCN_(3, 4);
MI_NEW_BLOCK_ char *mi_heap_strdup(mi_heap_t *heap, const char *s) mi_attr_noexcept mi_attr_malloc;
MI_NEW_BLOCK_ char *mi_heap_strndup(mi_heap_t *heap, const char *s,
				    size_t n) mi_attr_noexcept mi_attr_malloc;
MI_NEW_BLOCK_ char *mi_heap_realpath(mi_heap_t *heap, const char *fname,
				     char *resolved_name) mi_attr_noexcept;

MI_NEW_BLOCK_ void *mi_heap_malloc_aligned(mi_heap_t *heap, size_t size, size_t alignment)
	MI_MALLOC_(2) mi_attr_alloc_align(3);
MI_NEW_BLOCK_ void *mi_heap_zalloc_aligned(mi_heap_t *heap, size_t size, size_t alignment)
	MI_MALLOC_(2) mi_attr_alloc_align(3);
MI_NEW_BLOCK_ void *mi_heap_calloc_aligned(mi_heap_t *heap, size_t count, size_t size,
					   size_t alignment) MI_CALLOC_(2, 3)
	mi_attr_alloc_align(4);
MI_RESULT_ void *mi_heap_realloc_aligned(mi_heap_t *heap, void *p, size_t newsize, size_t alignment)
	MI_REALLOC_(3) mi_attr_alloc_align(4);
MI_RESULT_ void *mi_heap_rezalloc_aligned(mi_heap_t *heap, void *p, size_t newsize,
					  size_t alignment) MI_REALLOC_(3) mi_attr_alloc_align(4);
MI_RESULT_ void *mi_heap_recalloc_aligned(mi_heap_t *heap, void *p, size_t newcount, size_t size,
					  size_t alignment) MI_REALLOCN_(3, 4)
	mi_attr_alloc_align(5);
MI_NEW_BLOCK_ void *mi_heap_malloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment,
					      size_t offset) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_heap_zalloc_aligned_at(mi_heap_t *heap, size_t size, size_t alignment,
					      size_t offset) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_heap_calloc_aligned_at(mi_heap_t *heap, size_t count, size_t size,
					      size_t alignment, size_t offset) MI_CALLOC_(2, 3);
MI_RESULT_ void *mi_heap_realloc_aligned_at(mi_heap_t *heap, void *p, size_t newsize,
					    size_t alignment, size_t offset) MI_REALLOC_(3);
MI_RESULT_ void *mi_heap_rezalloc_aligned_at(mi_heap_t *heap, void *p, size_t newsize,
					     size_t alignment, size_t offset) MI_REALLOC_(3);
MI_RESULT_ void *mi_heap_recalloc_aligned_at(mi_heap_t *heap, void *p, size_t newcount, size_t size,
					     size_t alignment, size_t offset) MI_REALLOCN_(3, 4);
MI_NEW_BLOCK_ void *mi_heap_alloc_new(mi_heap_t *heap, size_t size) mi_attr_malloc
	mi_attr_alloc_size(2);
MI_NEW_BLOCK_ void *mi_heap_alloc_new_n(mi_heap_t *heap, size_t count, size_t size) mi_attr_malloc
	mi_attr_alloc_size2(2, 3);

/* Whether a block of the heap starts at the address, which may be any. */
mi_decl_export bool mi_heap_contains_block(mi_heap_t *heap, const void *p);
mi_decl_export bool mi_heap_check_owned(mi_heap_t *heap, const void *p);
mi_decl_export bool mi_heap_contains(const mi_heap_t *heap, const void *p);
/* Whether a block of the thread's default heap, or of any heap, starts at the address. */
mi_decl_export bool mi_check_owned(const void *p);
mi_decl_export bool mi_any_heap_contains(const void *p);
/* NULL: no block starts there. */
MI_RESULT_ mi_heap_t *mi_heap_of(const void *p);

/* Blocks of one size that lie together. */
typedef struct mi_heap_area_s {
	void *blocks;
	size_t reserved, committed; /* bytes */
	size_t used;                /* live blocks */
	size_t block_size;
	size_t full_block_size;
	int heap_tag;
} mi_heap_area_t;
/* `block` is NULL in the call for the area itself.  false ends the visit. */
typedef bool(mi_cdecl mi_block_visit_fun)(const mi_heap_t *heap, const mi_heap_area_t *area,
					  void *block, size_t block_size, void *arg);
/* Calls `visitor` for each area, and with `visit_blocks` for each live block.  No other thread uses
 * the heap.  false: the visitor ended it, or it is the main heap. */
mi_decl_export bool mi_heap_visit_blocks(const mi_heap_t *heap, bool visit_blocks,
					 mi_block_visit_fun *visitor, void *arg);
mi_decl_export bool mi_heap_visit_abandoned_blocks(mi_heap_t *heap, bool visit_blocks,
						   mi_block_visit_fun *visitor, void *arg);
mi_decl_export bool mi_unsafe_heap_page_is_under_utilized(mi_heap_t *heap, void *p,
							  size_t perc_threshold) mi_attr_noexcept;

/* Of mimalloc 3: the same heaps under another type. */
typedef struct mi_theap_s mi_theap_t;
mi_decl_export mi_theap_t *mi_heap_theap(mi_heap_t *heap);
mi_decl_export mi_theap_t *mi_theap_set_default(mi_theap_t *theap);
mi_decl_export mi_theap_t *mi_theap_get_default(void);
mi_decl_export void mi_theap_collect(mi_theap_t *theap, bool force) mi_attr_noexcept;
MI_NEW_BLOCK_ void *mi_theap_malloc(mi_theap_t *theap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_theap_zalloc(mi_theap_t *theap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_theap_calloc(mi_theap_t *theap, size_t count, size_t size) MI_CALLOC_(2, 3);
MI_NEW_BLOCK_ void *mi_theap_malloc_small(mi_theap_t *theap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_theap_zalloc_small(mi_theap_t *theap, size_t size) MI_MALLOC_(2);
MI_NEW_BLOCK_ void *mi_theap_malloc_aligned(mi_theap_t *theap, size_t size, size_t alignment)
	MI_MALLOC_(2) mi_attr_alloc_align(3);
MI_RESULT_ void *mi_theap_realloc(mi_theap_t *theap, void *p, size_t newsize) MI_REALLOC_(3);
mi_decl_export bool mi_theap_visit_blocks(const mi_theap_t *theap, bool visit_blocks,
					  mi_block_visit_fun *visitor, void *arg);
mi_decl_export void mi_theap_guarded_set_sample_rate(mi_theap_t *theap, size_t sample_rate,
						     size_t seed);
mi_decl_export void mi_theap_guarded_set_size_bound(mi_theap_t *theap, size_t min, size_t max);
mi_decl_export void mi_heap_guarded_set_sample_rate(mi_heap_t *heap, size_t sample_rate,
						    size_t seed);
mi_decl_export void mi_heap_guarded_set_size_bound(mi_heap_t *heap, size_t min, size_t max);

/* ---- memory for heaps: used by heaps that are made for its id, and by no other ---- */

/* Takes memory from the kernel.  Return 0 or ENOMEM. */
mi_decl_export int mi_reserve_os_memory(size_t size, bool do_commit,
					bool allow_large) mi_attr_noexcept;
mi_decl_export int mi_reserve_os_memory_ex(size_t size, bool do_commit, bool allow_large,
					   bool exclusive,
					   mi_arena_id_t *arena_id) mi_attr_noexcept;
/* Reserves `pages` huge pages of 1 GiB, of those that the administrator set aside. */
mi_decl_export int mi_reserve_huge_os_pages_interleave(size_t pages, size_t numa_nodes,
						       size_t timeout_msecs) mi_attr_noexcept;
mi_decl_export int mi_reserve_huge_os_pages_at(size_t pages, int numa_node,
					       size_t timeout_msecs) mi_attr_noexcept;
mi_decl_export int mi_reserve_huge_os_pages_at_ex(size_t pages, int numa_node, size_t timeout_msecs,
						  bool exclusive,
						  mi_arena_id_t *arena_id) mi_attr_noexcept;
mi_decl_export int mi_reserve_huge_os_pages(size_t pages, double max_secs,
					    size_t *pages_reserved) mi_attr_noexcept;
/* Memory that the program brings along: at least 4 MiB, aligned to 4 MiB.  It stays mallow's. */
mi_decl_export bool mi_manage_os_memory(void *start, size_t size, bool is_committed, bool is_large,
					bool is_zero, int numa_node) mi_attr_noexcept;
mi_decl_export bool mi_manage_os_memory_ex(void *start, size_t size, bool is_committed,
					   bool is_large, bool is_zero, int numa_node,
					   bool exclusive,
					   mi_arena_id_t *arena_id) mi_attr_noexcept;
/* Called with `commit` true before the memory is used.  Returns true if it can be. */
typedef bool(mi_cdecl mi_commit_fun_t)(bool commit, void *start, size_t size, bool *is_zero,
				       void *user_arg);
mi_decl_export bool mi_manage_memory(void *start, size_t size, bool is_committed, bool is_pinned,
				     bool is_zero, int numa_node, bool exclusive,
				     mi_commit_fun_t *commit_fun, void *commit_fun_arg,
				     mi_arena_id_t *arena_id) mi_attr_noexcept;
/* Start and bytes of the memory; NULL and 0: there is no such id. */
mi_decl_export void *mi_arena_area(mi_arena_id_t arena_id, size_t *size);
mi_decl_export bool mi_arena_contains(mi_arena_id_t arena_id, const void *p);
mi_decl_export size_t mi_arena_min_alignment(void);
mi_decl_export size_t mi_arena_min_size(void);
mi_decl_export void mi_arenas_print(void) mi_attr_noexcept;
mi_decl_export void mi_debug_show_arenas(bool show_inuse, bool show_abandoned,
					 bool show_purge) mi_attr_noexcept;

/* ---- subprocesses: numbers that the program may give to its threads ---- */

typedef void *mi_subproc_id_t;
typedef bool(mi_cdecl mi_heap_visit_fun)(mi_heap_t *heap, void *arg);
mi_decl_export mi_subproc_id_t mi_subproc_main(void);
mi_decl_export mi_subproc_id_t mi_subproc_new(void);
mi_decl_export mi_subproc_id_t mi_subproc_current(void);
mi_decl_export void mi_subproc_delete(mi_subproc_id_t subproc);
mi_decl_export void mi_subproc_destroy(mi_subproc_id_t subproc);
mi_decl_export void mi_subproc_add_current_thread(mi_subproc_id_t subproc);
/* All heaps of the process. */
mi_decl_export bool mi_subproc_visit_heaps(mi_subproc_id_t subproc, mi_heap_visit_fun *visitor,
					   void *arg);
mi_decl_export bool mi_abandoned_visit_blocks(mi_subproc_id_t subproc_id, int heap_tag,
					      bool visit_blocks, mi_block_visit_fun *visitor,
					      void *arg);

/* ---- functions of the program ---- */

/* Gets the messages; NULL: they go to stderr. */
typedef void(mi_cdecl mi_output_fun)(const char *msg, void *arg);
mi_decl_export void mi_register_output(mi_output_fun *out, void *arg) mi_attr_noexcept;
/* Called when a function of this header fails, with ENOMEM, EINVAL or EOVERFLOW. */
typedef void(mi_cdecl mi_error_fun)(int err, void *arg);
mi_decl_export void mi_register_error(mi_error_fun *fun, void *arg);
/* Called now and then by functions of this header that allocate, and by mi_collect(). */
typedef void(mi_cdecl mi_deferred_free_fun)(bool force, unsigned long long heartbeat, void *arg);
mi_decl_export void mi_register_deferred_free(mi_deferred_free_fun *deferred_free,
					      void *arg) mi_attr_noexcept;

/* ---- statistics; more in <mimalloc-stats.h> ---- */

mi_decl_export void mi_stats_reset(void) mi_attr_noexcept;
/* Without effect: the figures of all threads are always there. */
mi_decl_export void mi_stats_merge(void) mi_attr_noexcept;
/* `out` is not used. */
mi_decl_export void mi_stats_print(void *out) mi_attr_noexcept;
mi_decl_export void mi_stats_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
mi_decl_export void mi_thread_stats_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;
/* Milliseconds, bytes, and major page faults.  Any pointer may be NULL. */
mi_decl_export void mi_process_info(size_t *elapsed_msecs, size_t *user_msecs, size_t *system_msecs,
				    size_t *current_rss, size_t *peak_rss, size_t *current_commit,
				    size_t *peak_commit, size_t *page_faults) mi_attr_noexcept;
mi_decl_export void mi_process_info_print(void) mi_attr_noexcept;
mi_decl_export void mi_process_info_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;

/* ---- options; the variable MIMALLOC_NAME sets mi_option_name ---- */

typedef enum mi_option_e {
	mi_option_show_errors,
	mi_option_show_stats,
	mi_option_verbose,
	mi_option_eager_commit,
	mi_option_arena_eager_commit,
	mi_option_purge_decommits,
	mi_option_allow_large_os_pages,
	mi_option_reserve_huge_os_pages,
	mi_option_reserve_huge_os_pages_at,
	mi_option_reserve_os_memory,
	mi_option_deprecated_segment_cache,
	mi_option_deprecated_page_reset,
	mi_option_abandoned_page_purge,
	mi_option_deprecated_segment_reset,
	mi_option_eager_commit_delay,
	mi_option_purge_delay,
	mi_option_use_numa_nodes,
	mi_option_disallow_os_alloc,
	mi_option_os_tag,
	mi_option_max_errors,
	mi_option_max_warnings,
	mi_option_max_segment_reclaim,
	mi_option_destroy_on_exit,
	mi_option_arena_reserve,
	mi_option_arena_purge_mult,
	mi_option_purge_extend_delay,
	mi_option_abandoned_reclaim_on_free,
	mi_option_disallow_arena_alloc,
	mi_option_retry_on_oom,
	mi_option_visit_abandoned,
	mi_option_guarded_min,
	mi_option_guarded_max,
	mi_option_guarded_precise,
	mi_option_guarded_sample_rate,
	mi_option_guarded_sample_seed,
	mi_option_target_segments_per_thread,
	mi_option_generic_collect,
	/* Of mimalloc 3, where they have other numbers. */
	mi_option_allow_thp,
	mi_option_page_reclaim_on_free,
	mi_option_page_full_retain,
	mi_option_page_max_candidates,
	mi_option_max_vabits,
	mi_option_pagemap_commit,
	mi_option_page_commit_on_demand,
	mi_option_page_max_reclaim,
	mi_option_page_cross_thread_max_reclaim,
	mi_option_minimal_purge_size,
	mi_option_arena_max_object_size,
	_mi_option_last,
	/* Earlier names. */
	mi_option_large_os_pages = mi_option_allow_large_os_pages,
	mi_option_eager_region_commit = mi_option_arena_eager_commit,
	mi_option_reset_decommits = mi_option_purge_decommits,
	mi_option_reset_delay = mi_option_purge_delay,
	mi_option_abandoned_page_reset = mi_option_abandoned_page_purge,
	mi_option_limit_os_alloc = mi_option_disallow_os_alloc
} mi_option_t;

MI_RESULT_ bool mi_option_is_enabled(mi_option_t option);
mi_decl_export void mi_option_enable(mi_option_t option);
mi_decl_export void mi_option_disable(mi_option_t option);
mi_decl_export void mi_option_set_enabled(mi_option_t option, bool enable);
/* The `_default` forms have no effect once the option was set. */
mi_decl_export void mi_option_set_enabled_default(mi_option_t option, bool enable);
MI_RESULT_ long mi_option_get(mi_option_t option);
MI_RESULT_ long mi_option_get_clamp(mi_option_t option, long min, long max);
/* In bytes, of options that are set in KiB. */
MI_RESULT_ size_t mi_option_get_size(mi_option_t option);
mi_decl_export void mi_option_set(mi_option_t option, long value);
mi_decl_export void mi_option_set_default(mi_option_t option, long value);
mi_decl_export void mi_options_print(void) mi_attr_noexcept;
mi_decl_export void mi_options_print_out(mi_output_fun *out, void *arg) mi_attr_noexcept;

/* ---- the library ---- */

mi_decl_export int mi_version(void) mi_attr_noexcept;
/* Gives free memory back to the system; `force`: all of it, else what is due. */
mi_decl_export void mi_collect(bool force) mi_attr_noexcept;
/* Gives free memory back as far as the calling thread holds more than so many bytes. */
mi_decl_export void mi_collect_reduce(size_t target_thread_owned) mi_attr_noexcept;
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

#define mi_heap_malloc_tp(hp, tp) ((tp *)mi_heap_malloc(hp, sizeof(tp)))
#define mi_heap_zalloc_tp(hp, tp) ((tp *)mi_heap_zalloc(hp, sizeof(tp)))
#define mi_heap_calloc_tp(hp, tp, n) ((tp *)mi_heap_calloc(hp, n, sizeof(tp)))
#define mi_heap_mallocn_tp(hp, tp, n) ((tp *)mi_heap_mallocn(hp, n, sizeof(tp)))
#define mi_heap_reallocn_tp(hp, p, tp, n) ((tp *)mi_heap_reallocn(hp, p, n, sizeof(tp)))
#define mi_heap_recalloc_tp(hp, p, tp, n) ((tp *)mi_heap_recalloc(hp, p, n, sizeof(tp)))

#ifdef __cplusplus
#include <mimalloc-stl-allocator.h>
#endif

#endif
