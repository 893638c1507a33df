/* SPDX-License-Identifier: MIT
 * calltree_modules.c -- finds the file that each function of a call tree belongs to, for the
 * colours of flame graphs. */
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "view/picture/calltree.h"

/* Prefixes of file names that belong to the system's runtime. */
static const char *const system_files[] = {
	"libc.so",     "libc-2",       "libc.musl", "ld-linux", "ld-musl",   "libm.so",
	"libpthread.", "libstdc++.so", "libc++.so", "libgcc_s", "libmallow", "libjemalloc.so",
};
/* Prefixes of functions of the languages' own libraries, which compilers put into the program. */
static const char *const system_functions[] = {
	"std::",
	"__gnu_cxx::",
	"core::",
	"alloc::",
	"<std::",
	"<core::",
	"<alloc::",
	"__rust_",
	"__rdl_",
	"_start",
	"__libc_start_main",
	"__libc_start_call",
	"__clone",
	"start_thread",
	"execute_native_thread_routine",
};

static bool begins_with_any(const char *text, const char *const *beginnings, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (strncmp(text, beginnings[i], strlen(beginnings[i])) == 0)
			return true;
	return false;
}
#define BEGINS_WITH_ANY(text, list) begins_with_any(text, list, sizeof(list) / sizeof((list)[0]))

static const char *file_of(const mw_profile_t *p, uint32_t mapping) {
	const char *path = mw_profile_string(p, p->mappings[mapping].path);
	const char *slash = strrchr(path, '/');
	return slash != NULL ? slash + 1 : path;
}

static bool is_system(const char *name, const char *file) {
	return BEGINS_WITH_ANY(file, system_files) || BEGINS_WITH_ANY(name, system_functions);
}

/* A mapping, and the value of its functions without their callees. */
typedef struct share {
	uint32_t mapping;
	double value;
} share_t;

static int compare_shares(const void *left, const void *right) {
	const share_t *a = left, *b = right;
	if (a->value != b->value)
		return a->value < b->value ? 1 : -1;
	return (a->mapping > b->mapping) - (a->mapping < b->mapping);
}

/* Returns the shares of all mappings in the first sample type, largest first. */
static share_t *rank_mappings(const mw_call_tree_t *t, const mw_profile_t *p) {
	share_t *shares = mw_xcalloc(p->mapping_count, sizeof(*shares));
	double *own = mw_xcalloc(t->node_count, sizeof(*own));
	for (size_t i = 0; i < p->mapping_count; i++)
		shares[i].mapping = (uint32_t)i;
	for (size_t i = t->node_count; i-- > 1;) {
		double value = (double)t->values[i * t->column_count];
		own[i] += value;
		own[t->nodes[i].parent] -= value;
		share_t *share = &shares[t->name_mappings[t->nodes[i].name]];
		share->value += own[i] < 0 ? -own[i] : own[i];
	}
	free(own);
	qsort(shares, p->mapping_count, sizeof(*shares), compare_shares);
	return shares;
}

/* Most files that are distinguished.  A picture has fewer colours. */
#define MODULES_MAX 64

/* Returns the index of a file among the modules.  Several mappings may belong to one file. */
static uint32_t find_module(mw_call_tree_t *t, const char *file) {
	for (size_t i = MW_MODULE_FIRST; i < t->module_count; i++)
		if (strcmp(t->modules[i], file) == 0)
			return (uint32_t)i;
	if (t->module_count == MODULES_MAX)
		return MW_MODULE_NONE;
	t->modules[t->module_count++] = mw_xstrdup(file);
	return (uint32_t)t->module_count - 1;
}

void mw_call_tree_find_modules(mw_call_tree_t *t, const mw_profile_t *p) {
	share_t *shares = rank_mappings(t, p);
	bool *is_used = mw_xcalloc(p->mapping_count, sizeof(*is_used));
	uint32_t *modules = mw_xcalloc(p->mapping_count, sizeof(*modules));
	t->name_modules = mw_xcalloc(t->name_count, sizeof(*t->name_modules));
	t->modules = mw_xcalloc(MODULES_MAX, sizeof(char *));
	for (t->module_count = 0; t->module_count < MW_MODULE_FIRST; t->module_count++)
		t->modules[t->module_count] = mw_xstrdup("");
	for (size_t i = 0; i < t->name_count; i++) {
		uint32_t mapping = t->name_mappings[i];
		if (is_system(t->names[i], file_of(p, mapping)))
			t->name_modules[i] = MW_MODULE_SYSTEM;
		else
			is_used[mapping] |= mapping != 0;
	}
	for (size_t i = 0; i < p->mapping_count; i++)
		if (is_used[shares[i].mapping])
			modules[shares[i].mapping] = find_module(t, file_of(p, shares[i].mapping));
	for (size_t i = 0; i < t->name_count; i++)
		if (t->name_modules[i] == MW_MODULE_NONE)
			t->name_modules[i] = modules[t->name_mappings[i]];
	free(modules);
	free(is_used);
	free(shares);
}
