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
	mw_wrappers_cut(p, MW_WRAPPERS_ALL, NULL);
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
	"<alloc::string::String>::push_str",
	"<alloc::vec::Vec<u8> as core::clone::Clone>::clone",
	"std::vector<int, std::allocator<int> >::push_back",
	"std::vector<int, std::allocator<int> >::push_back(int&&)",
	"std::map<std::string, std::vector<int> >::operator[](std::string const&)",
	"std::operator<< <char, std::char_traits<char> >",
	"std::function<void ()>::operator()() const",
	"__gnu_cxx::__uninitialized_copy<true>::copy",
	"boost::container::small_vector_base<int>::priv_insert",
	"boost::unordered::detail::table<int>::rehash_impl",
	"non-virtual thunk to std::basic_stringbuf<char>::overflow",
	"__cxa_allocate_exception",
	"_IO_file_doallocate",
	"[truncated]",
};

/* None is cut off. */
static const char *const others[] = {
	"build_table",
	"mallocator_test",
	"PyUnicode_New",
	"list_resize",
	"allocate_buffers",
	"parse_allocation",
	"calls",
	"stdx::vector<int>::push_back",
	"shop::vector<std::string>::push_back",
	"std::string shop::name<std::string>(int)",
	"boost::asio::detail::scheduler::run",
	"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke",
	"std::thread::_State_impl<std::thread::_Invoker<std::tuple<work> > >::_M_run",
	"<alloc::vec::Vec<u8> as shop::Fill>::fill",
	"core::ops::function::FnOnce::call_once",
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

/* Functions of libraries are left out up to the program's first own function, also where they call
 * it; a stack without one is cut as far as its allocation wrappers reach. */
static void libraries(void) {
	CHECK_LEFT("main;build 1\n",
		   "main;build;std::vector<int>::push_back;std::vector<int>::_M_allocate;malloc");
	CHECK_LEFT("main;build 1\n", "main;build+std::vector<int>::push_back;operator new");
	CHECK_LEFT("main;build;std::sort<int*, less>;less::operator() 1\n",
		   "main;build;std::sort<int*, less>;less::operator();std::string::append;malloc");
	CHECK_LEFT("main;build;std::for_each<int*>;allocated 1\n",
		   "main;build;std::for_each<int*>;allocated");
	CHECK_LEFT("main;build 1\n", "main;build;std::vector<int>::push_back;xmalloc");
	CHECK_LEFT("_start;std::locale::init 1\n", "_start;std::locale::init;operator new;malloc");
	CHECK_LEFT("main;a 1\nmain;b 1\nmain;c 1\n", "main;a;std::list<int>::push_back;pool_alloc",
		   "main;b;std::list<int>::push_back;pool_alloc",
		   "main;c;std::list<int>::push_back;pool_alloc");
}

/* Adds a stack of main, build and a function of `source` in the file `path`. */
static mw_profile_t *profile_of(const char *path, const char *name, const char *source) {
	mw_profile_t *p = mw_profile_new();
	uint32_t frames[3];
	mw_profile_add_type(p, "space", "bytes");
	uint32_t mapping =
		mw_profile_add_mapping(p, &(mw_mapping_t){.start = 0x200000,
							  .limit = 0x300000,
							  .path = mw_profile_intern(p, path)});
	frames[0] = mw_profile_add_location(p, mapping, 0x200010, false);
	frames[1] = made_location(p, "build");
	frames[2] = made_location(p, "main");
	if (name != NULL) {
		mw_function_t function = {.name = mw_profile_intern(p, name),
					  .file = mw_profile_intern(p, source)};
		mw_line_t line = {mw_profile_add_function(p, &function), 1};
		mw_profile_set_lines(p, frames[0], &line, 1);
	}
	mw_profile_add_sample(p, frames, 3, (const int64_t[]){1}, NULL, 0);
	return p;
}

/* A function may be a library's by the file it is in, or by its source file. */
static void files(void) {
	static const struct {
		const char *path, *name, *source;
		uint32_t left;
	} ways[] = {
		{"/lib/x86_64-linux-gnu/libc.so.6", NULL, NULL, 2},
		{"/lib/x86_64-linux-gnu/libc-2.31.so", "getdelim", "", 2},
		{"/lib64/ld-linux-x86-64.so.2", "dl_open_worker", "", 2},
		{"/lib/ld-musl-x86_64.so.1", NULL, NULL, 2},
		{"/usr/lib/libstdc++.so.6.0.30", "_GLOBAL__sub_I_eh_alloc.cc", "", 2},
		{"/usr/lib/libc++abi.so.1", NULL, NULL, 2},
		{"/usr/lib/libcairo.so.2", NULL, NULL, 3},
		{"/usr/lib/libclang.so", NULL, NULL, 3},
		{"/bin/shop", "__introsort_loop<int*>", "/usr/include/c++/12/bits/stl_algo.h", 2},
		{"/bin/shop", "main", "/usr/include/c++/12/bits/stl_algo.h", 3},
		{"/bin/shop", "__introsort_loop<int*>", "/src/sort.h", 3},
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		mw_profile_t *p = profile_of(ways[i].path, ways[i].name, ways[i].source);
		mw_wrappers_cut(p, MW_WRAPPERS_ALL, NULL);
		CHECK_EQ(p->samples[0].depth, ways[i].left);
		mw_profile_free(p);
	}
}

/* What a view leaves to see: libraries, or functions that the user named. */
static void choices(void) {
	static const char stack[] = "main;build;std::vector<int>::push_back;operator new;malloc";
	mw_pattern_t *kept;
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_type(p, "space", "bytes");
	made_stack(p, stack, (const int64_t[]){1}, NULL);
	CHECK_EQ(mw_pattern_make("list", "push_back", &kept, &error), 0);
	mw_wrappers_cut(p, MW_WRAPPERS_ALL, kept);
	CHECK_EQ(p->samples[0].depth, 3);
	mw_pattern_free(kept);
	mw_wrappers_cut(p, MW_WRAPPERS_OF_MALLOC, NULL);
	CHECK_EQ(p->samples[0].depth, 3);
	mw_wrappers_cut(p, MW_WRAPPERS_ALL, NULL);
	CHECK_EQ(p->samples[0].depth, 2);
	mw_profile_free(p);
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
		mw_wrappers_cut(p, MW_WRAPPERS_ALL, NULL);
		CHECK_EQ(p->samples[0].depth, ways[i].left);
		mw_profile_free(p);
	}
}

static void whose_code(void) {
	static const struct {
		const char *name;
		mw_frame_kind_t kind;
	} ways[] = {
		{"serve", MW_FRAME_OWN},
		{"std::vector<int>::resize(unsigned long)", MW_FRAME_LIBRARY},
		{"boost::unordered::detail::table<int>::rehash", MW_FRAME_LIBRARY},
		{"std::_Function_handler<void (), main::{lambda()#1}>::_M_invoke", MW_FRAME_HOLDER},
		{"start_thread", MW_FRAME_LIBRARY},
		{"execute_native_thread_routine", MW_FRAME_START},
		{"clone", MW_FRAME_START},
		{"clone_repository", MW_FRAME_OWN},
	};
	mw_profile_t *p = mw_profile_new();
	mw_wrappers_t *all = mw_wrappers_new(p, MW_WRAPPERS_ALL),
		      *few = mw_wrappers_new(p, MW_WRAPPERS_OF_MALLOC);
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		uint32_t location = made_location(p, ways[i].name);
		CHECK_EQ(mw_wrappers_kind(all, location, 0), ways[i].kind);
		CHECK_EQ(mw_wrappers_kind(few, location, 0), MW_FRAME_OWN);
	}
	mw_wrappers_free(all);
	mw_wrappers_free(few);
	mw_profile_free(p);
}

int main(void) {
	RUN(whose_code);
	RUN(nameless_functions);
	RUN(names);
	RUN(places_in_a_stack);
	RUN(behaviour);
	RUN(libraries);
	RUN(files);
	RUN(choices);
	return 0;
}
