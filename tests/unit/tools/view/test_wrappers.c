/* SPDX-License-Identifier: MIT
 * test_wrappers.c -- which functions count as allocation wrappers, and what is left of stacks. */
#include "made_profile.h"
#include "view/common/view.h"
#include "view/select/wrappers.h"
#include "view/table/tables.h"

static mw_error_t error;

static char *folded(mw_profile_t *p) {
	char *text;
	size_t length;
	mw_view_t view = {.name = "collapsed", .profile = p, .ratio = 1};
	view.out = open_memstream(&text, &length);
	CHECK(view.out != NULL && mw_view_collapsed(&view, &error) == 0);
	fclose(view.out);
	return text;
}

/* What is left of a profile of these stacks, outermost frame first. */
static void check_left(const char *const *stacks, size_t count, const char *expected) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	for (size_t i = 0; i < count; i++)
		made_stack(p, stacks[i], (const int64_t[]){1}, NULL);
	mw_wrappers_cut(p);
	char *left = folded(p);
	CHECK_STR(left, expected);
	free(left);
	mw_profile_free(p);
}
#define CHECK_LEFT(expected, ...)                                                                  \
	check_left((const char *const[]){__VA_ARGS__},                                             \
		   sizeof((const char *const[]){__VA_ARGS__}) / sizeof(char *), expected)

/* Each is cut off "main;build;NAME". */
static const char *const known[] = {
	"malloc",
	"xmalloc",
	"zmalloc",
	"zmalloc_usable",
	"ztrycalloc_usable",
	"zrealloc",
	"g_malloc0_n",
	"g_slice_alloc0",
	"g_strdup",
	"xstrdup",
	"PyMem_RawMalloc",
	"_PyObject_Malloc",
	"_PyObject_GC_New",
	"sqlite3MallocZero",
	"sqlite3DbMallocRawNN",
	"CRYPTO_zalloc",
	"palloc0",
	"MemoryContextAllocZero",
	"AllocSetAlloc",
	"ggc_internal_alloc",
	"ngx_pcalloc",
	"mw_xcalloc",
	"Perl_safesysmalloc",
	"operator new",
	"operator new[]",
	"std::__new_allocator<int>::allocate",
	"std::allocator_traits<std::allocator<int> >::allocate",
	"std::_Vector_base<int, std::allocator<int> >::_M_allocate",
	"alloc::alloc::alloc",
	"<alloc::alloc::Global as core::alloc::Allocator>::allocate",
	"<alloc::alloc::Global>::alloc_impl",
	"__rust_alloc",
	"<alloc::raw_vec::RawVecInner>::try_allocate_in",
	"alloc::raw_vec::RawVec<T,A>::grow_one",
	"<alloc::vec::Vec<u8>>::with_capacity",
};

/* None is cut off. */
static const char *const others[] = {
	"build_table",
	"mallocator_test",
	"PyUnicode_New",
	"list_resize",
	"allocate_buffers",
	"std::vector<int, std::allocator<int> >::push_back",
	"parse_allocation",
	"<alloc::string::String>::push_str",
	"calls",
};

static void names(void) {
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char stack[200];
		snprintf(stack, sizeof(stack), "main;build;%s", known[i]);
		CHECK_LEFT("main;build 1\n", stack);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char stack[200], expected[208];
		snprintf(stack, sizeof(stack), "main;build;%s", others[i]);
		snprintf(expected, sizeof(expected), "%s 1\n", stack);
		CHECK_LEFT(expected, stack);
	}
}

/* Several wrappers in a row go, but not what lies behind another function. */
static void places_in_a_stack(void) {
	CHECK_LEFT("main;build 1\n", "main;build;xmalloc;operator new;malloc");
	CHECK_LEFT("main;xmalloc;report_failure 1\n", "main;xmalloc;report_failure;malloc");
	CHECK_LEFT("main;build 1\n", "main;build+xmalloc");
	CHECK_LEFT("xmalloc 1\n", "xmalloc;malloc");
	CHECK_LEFT("xmalloc 1\n", "xmalloc+malloc");
}

/* A function with "alloc" in its name is a wrapper once three others allocate through it, unless
 * it calls something else that allocates. */
static void behaviour(void) {
	CHECK_LEFT("main;a 1\nmain;b 1\nmain;c 1\n", "main;a;pool_allocate", "main;b;pool_allocate",
		   "main;c;pool_allocate;arena_alloc_slow");
	CHECK_LEFT("main;a;pool_allocate 1\nmain;b;pool_allocate 1\n", "main;a;pool_allocate",
		   "main;b;pool_allocate");
	CHECK_LEFT(
		"main;a;allocated_list 1\nmain;b;allocated_list 1\nmain;c;allocated_list;grow 1\n",
		"main;a;allocated_list", "main;b;allocated_list", "main;c;allocated_list;grow");
}

/* Functions without names belong to the wrapper that calls them; without a wrapper they stay. */
static void nameless_functions(void) {
	static const struct {
		const char *wrapper;
		size_t nameless, left;
	} ways[] = {{"palloc", 2, 2}, {"palloc", 4, 2}, {"palloc", 5, 8}, {"scan", 2, 5}};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint32_t frames[8];
		size_t depth = 0;
		mw_profile_t *p = mw_profile_new();
		mw_profile_add_type(p, "space", "bytes");
		for (size_t k = 0; k < ways[i].nameless; k++)
			frames[depth++] = mw_profile_add_location(p, 0, 0x500000 + k, false);
		frames[depth++] = made_location(p, ways[i].wrapper);
		frames[depth++] = made_location(p, "build");
		frames[depth++] = made_location(p, "main");
		mw_profile_add_sample(p, frames, depth, (const int64_t[]){1}, NULL, 0);
		mw_wrappers_cut(p);
		CHECK_EQ(p->samples[0].depth, ways[i].left);
		mw_profile_free(p);
	}
}

int main(void) {
	RUN(nameless_functions);
	RUN(names);
	RUN(places_in_a_stack);
	RUN(behaviour);
	return 0;
}
