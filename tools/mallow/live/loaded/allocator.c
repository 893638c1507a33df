/* SPDX-License-Identifier: MIT
 * allocator.c -- looks up malloc's family, and tells allocators by functions that only they have.
 */
#include "live/loaded/allocator.h"

#include "live/loaded/exported_functions.h"

#define SYMBOL(name, symbol) symbol,
const char *const mw_attach_symbols[MW_ATTACH_FUNCTION_COUNT] = {MW_ATTACH_FUNCTIONS(SYMBOL)};

/* A function that only one allocator exports. */
static const struct kind {
	const char *symbol, *name;
} kinds[] = {
	{"mallctl", "jemalloc"},
	{"mi_malloc", "mimalloc"},
	{"MallocExtension_ReleaseFreeMemory", "tcmalloc"},
	{"tc_malloc", "tcmalloc"},
	{"gnu_get_libc_version", "glibc's malloc"},
	{"__libc_start_main", "the C library's malloc"},
};

static const char *kind_of(const mw_address_space_t *space, const mw_module_t *module) {
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (mw_module_function(space, module, kinds[i].symbol) != 0)
			return kinds[i].name;
	return "an unknown allocator";
}

int mw_allocator_find(const mw_address_space_t *space, const mw_modules_t *modules,
		      mw_allocator_t *out, mw_error_t *error) {
	const mw_module_t *module;
	*out = (mw_allocator_t){0};
	for (unsigned i = 0; i < MW_ATTACH_FUNCTION_COUNT; i++) {
		uint64_t address =
			mw_modules_function(space, modules, mw_attach_symbols[i], &module);
		if (i == MW_ATTACH_malloc)
			out->module = module;
		bool is_of_any = i == MW_ATTACH_dlopen || i == MW_ATTACH_prctl;
		out->functions[i] = module == out->module || is_of_any ? address : 0;
	}
	if (out->functions[MW_ATTACH_malloc] == 0)
		return mw_error_set(error, "none of its modules defines malloc");
	if (out->functions[MW_ATTACH_free] == 0)
		return mw_error_set(error, "the module that defines its malloc does not define "
					   "free");
	out->kind = kind_of(space, out->module);
	out->malloc_usable_size = mw_module_function(space, out->module, "malloc_usable_size");
	out->dl_find_object = mw_modules_function(space, modules, "_dl_find_object", &module);
	out->dl_iterate_phdr = mw_modules_function(space, modules, "dl_iterate_phdr", &module);
	return 0;
}
