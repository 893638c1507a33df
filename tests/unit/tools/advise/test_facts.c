/* SPDX-License-Identifier: MIT
 * test_facts.c -- a profile by functions of the program: whose memory it is, what grows, which
 * blocks there are. */
#include "advise/facts.h"
#include "advise/growers.h"
#include "made_profile.h"

typedef struct values {
	int64_t alloc_objects, alloc_bytes, live_objects, live_bytes, live_requested, freed,
		elsewhere;
} values_t;

static mw_profile_t *new_profile(void) {
	mw_profile_t *p = mw_profile_new();
	mw_profile_add_heap_types(p);
	mw_profile_add_state_types(p);
	p->time_ns = 5000;
	p->duration_ns = 4000;
	return p;
}

static void add(mw_profile_t *p, const char *stack, values_t v, const mw_label_t *labels,
		size_t count) {
	int64_t values[32] = {0};
	const struct {
		const char *type;
		int64_t value;
	} all[] = {
		{"alloc_objects", v.alloc_objects},    {"alloc_space", v.alloc_bytes},
		{"inuse_objects", v.live_objects},     {"inuse_space", v.live_bytes},
		{"inuse_requested", v.live_requested}, {"freed_objects", v.freed},
		{"freed_elsewhere", v.elsewhere},      {"alloc_samples", v.alloc_objects > 0},
		{"inuse_samples", v.live_objects > 0},
	};
	CHECK(p->type_count <= 32);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		values[mw_profile_find_type(p, all[i].type)] = all[i].value;
	made_labelled(p, stack, values, labels, count);
}

static mw_label_t number(mw_profile_t *p, const char *key, int64_t value) {
	return (mw_label_t){.key = mw_profile_intern(p, key), .number = value};
}

static const mw_fact_function_t *find(const mw_facts_t *facts, const char *name) {
	const mw_fact_function_t *found = NULL;
	for (size_t i = 0; i < facts->function_count && found == NULL; i++)
		if (strcmp(facts->functions[i].name, name) == 0)
			found = &facts->functions[i];
	CHECK(found != NULL);
	return found;
}

/* Wrappers and the C++ library's functions ask for their callers. */
static void own_functions(void) {
	mw_profile_t *p = new_profile();
	mw_facts_t facts;
	add(p, "main;parse;xmalloc", (values_t){.alloc_objects = 3, .alloc_bytes = 30}, NULL, 0);
	add(p, "main;parse;std::vector::_M_realloc_insert;operator new",
	    (values_t){.alloc_objects = 2, .alloc_bytes = 20}, NULL, 0);
	add(p, "main;build", (values_t){.live_objects = 2, .live_bytes = 64, .live_requested = 40},
	    (mw_label_t[]){number(p, MW_LABEL_SIZE, 32), number(p, MW_LABEL_MADE, 4321),
			   number(p, MW_LABEL_ADDRESS, 0x7000)},
	    3);
	mw_facts_make(&facts, p, NULL, NULL);
	CHECK_EQ(facts.function_count, 2);
	CHECK_EQ(find(&facts, "parse")->alloc_bytes, 50);
	CHECK_EQ(facts.alloc_bytes, 50);
	CHECK_EQ(facts.live_bytes, 64);
	CHECK_EQ(facts.began_ns, 1000);
	CHECK_EQ(facts.block_count, 1);
	CHECK_EQ(facts.blocks[0].requested_bytes, 20);
	CHECK_EQ(facts.blocks[0].usable_bytes, 32);
	CHECK_EQ(facts.blocks[0].made_ns, 4321);
	CHECK_EQ(facts.blocks[0].address, 0x7000);
	CHECK_EQ(facts.blocks[0].untouched_bytes, -1);
	mw_facts_free(&facts);
	mw_profile_free(p);
}

/* Location 1 is the first that is made: "append" calls realloc. */
static const char *callee(void *context, uint32_t location) {
	return location == *(const uint32_t *)context ? "realloc" : NULL;
}

static void rungs(void) {
	mw_profile_t *p = new_profile();
	mw_facts_t facts;
	uint32_t realloc_call = made_location(p, "append");
	for (int i = 0; i < 3; i++) {
		mw_label_t size = number(p, MW_LABEL_SIZE, 256 >> i);
		values_t one = {.alloc_objects = 10, .alloc_bytes = 10 * (256 >> i)};
		add(p, "main;append", one, &size, 1);
		add(p, "main;plain", one, &size, 1);
		add(p, "main;collect;std::vector<int>::_M_realloc_insert<int>", one, &size, 1);
		add(p, "main;read;xrealloc", one, &size, 1);
	}
	mw_facts_make(&facts, p, callee, &realloc_call);
	static const char *const what[][2] = {
		{"append", "a buffer"}, {"collect", "a std::vector"}, {"read", "a buffer"}};
	for (size_t i = 0; i < 3; i++) {
		const mw_fact_function_t *f = find(&facts, what[i][0]);
		CHECK_STR(f->grows, what[i][1]);
		CHECK_EQ(f->rung_count, 3);
		CHECK_EQ(f->rungs[0].block_bytes, 64);
		CHECK_EQ(f->rungs[2].block_bytes, 256);
		CHECK_EQ(f->rungs[2].objects, 10);
	}
	CHECK(find(&facts, "plain")->grows == NULL);
	CHECK_EQ(find(&facts, "plain")->rung_count, 0);
	mw_facts_free(&facts);
	mw_profile_free(p);
}

/* Old blocks of what grows are no temporaries. */
static void lifetimes(void) {
	mw_profile_t *p = new_profile();
	mw_facts_t facts;
	for (int decade = 0; decade < 4; decade++) {
		mw_label_t label = {.key = mw_profile_intern(p, MW_LABEL_LIFETIME),
				    .text = mw_profile_intern(p, mw_decade_names[decade])};
		add(p, "main;format", (values_t){.freed = 7}, &label, 1);
		add(p, "main;read;xrealloc", (values_t){.freed = 7}, &label, 1);
	}
	add(p, "main;format", (values_t){.elsewhere = 5}, NULL, 0);
	mw_facts_make(&facts, p, NULL, NULL);
	CHECK_EQ(find(&facts, "format")->freed_objects, 28);
	CHECK_EQ(find(&facts, "format")->freed_at_once, 14);
	CHECK_EQ(find(&facts, "format")->freed_elsewhere, 5);
	CHECK_EQ(find(&facts, "read")->freed_at_once, 0);
	mw_facts_free(&facts);
	mw_profile_free(p);
}

/* Nothing is made up of values that a profile does not have. */
static void unanswered(void) {
	mw_profile_t *p = mw_profile_new();
	mw_facts_t facts;
	mw_profile_add_heap_types(p);
	made_stack(p, "main;build", (const int64_t[]){1, 10, 1, 10}, NULL);
	mw_facts_make(&facts, p, NULL, NULL);
	static const mw_finding_kind_t none[] = {MW_FINDING_reserve,       MW_FINDING_freed_at_once,
						 MW_FINDING_other_threads, MW_FINDING_fragmentation,
						 MW_FINDING_only_grows,    MW_FINDING_sizes};
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(facts.unanswered[none[i]] != NULL);
	mw_facts_free(&facts);
	mw_profile_free(p);
}

/* Values without the labels that tell sizes and lifetimes apart answer neither. */
static void without_labels(void) {
	mw_profile_t *p = new_profile();
	mw_facts_t facts;
	add(p, "main;build", (values_t){.alloc_objects = 3, .alloc_bytes = 30, .freed = 2}, NULL,
	    0);
	mw_facts_make(&facts, p, NULL, NULL);
	CHECK(facts.unanswered[MW_FINDING_reserve] != NULL);
	CHECK(facts.unanswered[MW_FINDING_freed_at_once] != NULL);
	CHECK(facts.unanswered[MW_FINDING_other_threads] == NULL);
	mw_facts_free(&facts);
	mw_profile_free(p);
}

static void growers(void) {
	static const char *const rows[][2] = {
		{"std::vector<int, std::allocator<int> >::_M_realloc_insert<int const&>",
		 "a std::vector"},
		{"std::vector::_M_default_append", "a std::vector"},
		{"std::string::_M_append", "a std::string"},
		{"std::__cxx11::basic_string<char, std::char_traits<char> >::_M_mutate",
		 "a std::string"},
		{"std::_Hashtable<int, int>::_M_rehash_aux", "a hash table"},
		{"alloc::raw_vec::RawVec<T,A>::grow_one", "a Vec"},
		{"hashbrown::raw::RawTable<T,A>::reserve_rehash", "a HashMap"},
		{"PyMem_Realloc", "a buffer"},
		{"sqlite3_realloc64", "a buffer"},
		{"zrealloc_usable", "a buffer"},
	};
	static const char *const others[] = {
		"std::vector<int>::reserve", "std::string::reserve",
		"std::vector<int>::vector",  "xmalloc",
		"reallocation_test",         "preallocate",
	};
	mw_growers_t *g = mw_growers_new();
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const char *what = mw_growers_find(g, rows[i][0]);
		CHECK_STR(what != NULL ? what : rows[i][0], rows[i][1]);
	}
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(mw_growers_find(g, others[i]) == NULL);
	mw_growers_free(g);
}

static void thread_starts(void) {
	mw_profile_t *p = new_profile();
	mw_wrappers_t *w = mw_wrappers_new(p, MW_WRAPPERS_ALL);
	static const char *const stacks[][2] = {
		{"clone3;start_thread;serve;read_all", "serve"},
		{"_start;__libc_start_main_impl;__libc_start_call_main;main;build", "main"},
		{"clone3;start_thread;execute_native_thread_routine;std::thread::_State_impl::_M_"
		 "run;"
		 "work;f",
		 "work"},
		{"__clone3;start_thread;boost::detail::thread_data<int>::run;work;f", "work"},
	};
	const size_t count = sizeof(stacks) / sizeof(stacks[0]);
	for (size_t i = 0; i < count; i++) {
		add(p, stacks[i][0], (values_t){.alloc_objects = 1}, NULL, 0);
		CHECK_STR(mw_fact_thread_start(w, p, &p->samples[i]), stacks[i][1]);
	}
	add(p, "clone3;start_thread", (values_t){.alloc_objects = 1}, NULL, 0);
	CHECK(mw_fact_thread_start(w, p, &p->samples[count]) == NULL);
	mw_wrappers_free(w);
	mw_profile_free(p);
}

int main(void) {
	RUN(own_functions);
	RUN(rungs);
	RUN(lifetimes);
	RUN(unanswered);
	RUN(without_labels);
	RUN(growers);
	RUN(thread_starts);
	return 0;
}
