/* SPDX-License-Identifier: MIT
 * functions.c -- walks DWARF trees to find functions. */
#include "symbol/elf/functions.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model/memory.h"
#include "symbol/elf/demangle.h"

/* Most entries of one file's trees that are visited: ten times as many as the largest known
 * programs have.  A damaged tree may have loops. */
#define ENTRIES_MAX ((uint64_t)1 << 28)
/* Deepest nesting of namespaces, classes, blocks and inlined functions. */
#define DEPTH_MAX 256
/* Deepest nesting of namespaces, classes, functions and blocks in a name. */
#define SCOPES_MAX 64
/* Longest name that is made of those. */
#define NAME_BYTES 2048
/* Longest chain of references from an inlined copy to the entry that has the name. */
#define REFERENCES_MAX 8

typedef struct range {
	Dwarf_Addr low, high;
	Dwarf_Die function;
} range_t;

struct mw_unit_functions {
	Dwarf_Off offset; /* offset of the unit, which identifies it */
	range_t *ranges;  /* ranges of its functions, ordered by `low` */
	size_t count, capacity;
	bool has_nested; /* functions within classes and functions are listed, too */
	/* The entries' addresses are relative to this one; not 0 in a package only (dwp.h). */
	Dwarf_Addr base;
	/* Value of mw_functions_t.question when the unit was listed; 0 = all its functions are
	 * listed. */
	uint64_t asked_by;
};

static int compare_ranges(const void *a, const void *b) {
	const range_t *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	/* The larger range comes first, so that the search ends at the smallest one that holds
	 * the address. */
	return x->high > y->high ? -1 : x->high < y->high;
}

/* True if one of the addresses that will be asked for lies in a range. */
static bool is_wanted(const mw_functions_t *all, uint64_t start, uint64_t end) {
	/* After the loop, `low` is the first address at or after `start`. */
	size_t low = 0, high = all->wanted_count;
	if (all->wanted == NULL)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (all->wanted[middle] < start)
			low = middle + 1;
		else
			high = middle;
	}
	return low < all->wanted_count && all->wanted[low] < end;
}

/* False if entries of this abbreviation never have code.  Most functions of a unit are
 * declarations or are inlined elsewhere.  Looking for their code searches their attributes three
 * times.  Entries of one abbreviation have equal attributes, so the first entry decides. */
static bool may_have_code(mw_functions_t *all, Dwarf_Die *die) {
	enum { NOT_KNOWN, NO, YES };
	unsigned code = dwarf_getabbrevcode(die->abbrev), name;
	uint8_t *known = code < MW_FUNCTIONS_ABBREVIATIONS ? &all->has_code[code] : NULL;
	if (known != NULL && *known != NOT_KNOWN)
		return *known == YES;
	size_t count = 0;
	bool found = dwarf_getattrcnt(die->abbrev, &count) != 0;
	for (size_t i = 0; i < count && !found; i++)
		found = dwarf_getabbrevattr(die->abbrev, i, &name, NULL, NULL) != 0 ||
			name == DW_AT_low_pc || name == DW_AT_ranges;
	if (known != NULL)
		*known = found ? YES : NO;
	return found;
}

static void add_ranges(mw_functions_t *all, mw_unit_functions_t *unit, Dwarf_Die *function) {
	Dwarf_Addr base, low, high;
	ptrdiff_t offset = 0;
	if (!may_have_code(all, function))
		return;
	while ((offset = dwarf_ranges(function, offset, &base, &low, &high)) > 0) {
		low += unit->base;
		high += unit->base;
		if (high <= low || !is_wanted(all, low, high))
			continue;
		unit->ranges =
			mw_grow(unit->ranges, &unit->capacity, unit->count + 1, sizeof(range_t));
		unit->ranges[unit->count++] = (range_t){low, high, *function};
	}
}

static bool is_class(int tag) {
	return tag == DW_TAG_class_type || tag == DW_TAG_structure_type || tag == DW_TAG_union_type;
}

static bool is_namespace(int tag) {
	return tag == DW_TAG_namespace || tag == DW_TAG_module;
}

/* True if entries with this tag may contain functions that matter.  Classes, which are most of a
 * C++ unit, hold code only in other languages (Rust).  Functions may hold nested functions (GNU
 * C) and lambdas, whose code lies outside of the enclosing function. */
static bool may_nest(int tag) {
	return is_class(tag) || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
}

/* Lists the functions below an entry. */
static void list_functions(mw_functions_t *all, mw_unit_functions_t *unit, Dwarf_Die *parent,
			   int depth) {
	Dwarf_Die child;
	if (depth > DEPTH_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		if (all->entries_walked++ > ENTRIES_MAX)
			return;
		int tag = dwarf_tag(&child);
		if (tag == DW_TAG_subprogram)
			add_ranges(all, unit, &child);
		if ((is_namespace(tag) || (unit->has_nested && may_nest(tag))) &&
		    dwarf_haschildren(&child))
			list_functions(all, unit, &child, depth + 1);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static void keep_missing(mw_functions_t *all, Dwarf_Die *die) {
	Dwarf_Attribute attribute;
	const char *name = dwarf_formstring(dwarf_attr(die, DW_AT_dwo_name, &attribute));
	if (name == NULL)
		name = dwarf_formstring(dwarf_attr(die, DW_AT_GNU_dwo_name, &attribute));
	snprintf(all->missing, sizeof(all->missing), "%s", name != NULL ? name : "a .dwo file");
}

/* Finds a unit in the package of split debug information, which is looked for once. */
static bool find_in_package(mw_functions_t *all, Dwarf_Die *skeleton, uint64_t number,
			    Dwarf_Die *split, Dwarf_Addr *base) {
	for (; all->package == NULL && all->places_tried < MW_FUNCTIONS_PLACES; all->places_tried++)
		if (all->places[all->places_tried] != NULL)
			all->package = mw_dwp_open(all->places[all->places_tried]);
	return all->package != NULL && mw_dwp_find(all->package, skeleton, number, split, base);
}

static void list_unit(mw_functions_t *all, mw_unit_functions_t *unit, Dwarf_Die *die) {
	/* With -gsplit-dwarf the functions are in a separate file. */
	Dwarf_Die split;
	uint8_t kind = 0;
	uint64_t number = 0;
	unit->base = 0;
	if (dwarf_cu_info(die->cu, NULL, &kind, NULL, &split, &number, NULL, NULL) == 0) {
		if (dwarf_tag(&split) != DW_TAG_invalid)
			die = &split;
		else if (kind == DW_UT_skeleton &&
			 find_in_package(all, die, number, &split, &unit->base))
			die = &split;
		else if (kind == DW_UT_skeleton && all->missing[0] == '\0')
			keep_missing(all, die);
	}
	unit->count = 0;
	unit->asked_by = all->wanted != NULL ? all->question : 0;
	/* Abbreviation numbers are valid for one unit only. */
	memset(all->has_code, 0, sizeof(all->has_code));
	list_functions(all, unit, die, 0);
	if (unit->count > 0)
		qsort(unit->ranges, unit->count, sizeof(range_t), compare_ranges);
}

static mw_unit_functions_t *find_unit(mw_functions_t *all, Dwarf_Die *die) {
	Dwarf_Off offset = dwarf_dieoffset(die);
	mw_unit_functions_t *unit;
	for (size_t i = 0; i < all->count; i++)
		if (all->units[i].offset == offset) {
			unit = &all->units[i];
			if (unit->asked_by != 0 && unit->asked_by != all->question)
				list_unit(all, unit, die);
			return unit;
		}
	all->units =
		mw_grow(all->units, &all->capacity, all->count + 1, sizeof(mw_unit_functions_t));
	unit = &all->units[all->count++];
	unit->offset = offset;
	list_unit(all, unit, die);
	return unit;
}

/* Returns the innermost function that holds `address`, or NULL. */
static Dwarf_Die *find_function(mw_unit_functions_t *unit, uint64_t address) {
	size_t low = 0, high = unit->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (unit->ranges[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* Nested functions begin inside others, so a few steps back suffice; the limit bounds
	 * the time. */
	for (size_t steps = 0; low > 0 && steps < 64; steps++)
		if (address < unit->ranges[--low].high)
			return &unit->ranges[low].function;
	return NULL;
}

/* Follows inlined functions down to the address, which is one of the unit's entries. chain[0] is
 * the outermost function.  Returns the length of the chain. */
static size_t follow_inlines(mw_functions_t *all, uint64_t address, Dwarf_Die *chain,
			     size_t capacity) {
	size_t count = 1;
	Dwarf_Die at = chain[0], child;
	for (int depth = 0; depth < DEPTH_MAX && dwarf_child(&at, &child) == 0; depth++) {
		bool found = false;
		do {
			if (all->entries_walked++ > ENTRIES_MAX)
				return count;
			int tag = dwarf_tag(&child);
			bool inlined = tag == DW_TAG_inlined_subroutine;
			if ((inlined || tag == DW_TAG_lexical_block) &&
			    dwarf_haspc(&child, address) == 1) {
				if (inlined && count == capacity)
					return count;
				if (inlined)
					chain[count++] = child;
				at = child;
				found = true;
				break;
			}
		} while (dwarf_siblingof(&child, &child) == 0);
		if (!found)
			break;
	}
	return count;
}

/* Returns the linkage name of an entry, or NULL. */
static const char *linkage_name(Dwarf_Die *die) {
	Dwarf_Attribute attribute;
	if (dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) != NULL ||
	    dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute) != NULL)
		return dwarf_formstring(&attribute);
	return NULL;
}

static bool place_equal(const void *context, uint32_t entry, const void *key) {
	return ((const mw_scoped_name_t *)context)[entry].place == *(const void *const *)key;
}

/* Follows references to the entry that the enclosing entries hold: a class's declaration of its
 * function, or the abstract function of an inlined copy. */
static Dwarf_Die declaration_of(Dwarf_Die *function) {
	Dwarf_Die at = *function, next;
	Dwarf_Attribute attribute;
	for (int i = 0; i < REFERENCES_MAX; i++) {
		bool has_origin = dwarf_attr(&at, DW_AT_abstract_origin, &attribute) != NULL ||
				  dwarf_attr(&at, DW_AT_specification, &attribute) != NULL;
		if (!has_origin || dwarf_formref_die(&attribute, &next) == NULL)
			break;
		at = next;
	}
	return at;
}

static bool is_cplusplus(Dwarf_Die *unit) {
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
		return true;
	default:
		return false;
	}
}

/* Adds "::" and a name to a name of `*used` bytes.  What does not fit is left out. */
static void append(char *name, size_t *used, const char *part) {
	int length =
		snprintf(name + *used, NAME_BYTES - *used, "%s%s", *used > 0 ? "::" : "", part);
	if (length > 0)
		*used = *used + (size_t)length < NAME_BYTES ? *used + (size_t)length
							    : NAME_BYTES - 1;
}

/* Adds the name of an entry that encloses the function.  A linkage name is whole. */
static void append_scope(char *name, size_t *used, Dwarf_Die *scope) {
	int tag = dwarf_tag(scope);
	const char *own = dwarf_diename(scope);
	if (tag == DW_TAG_subprogram) {
		const char *linkage = linkage_name(scope);
		char *whole = linkage != NULL ? mw_demangle(linkage) : NULL;
		if (whole != NULL)
			*used = 0;
		if (whole != NULL || own != NULL)
			append(name, used, whole != NULL ? whole : own);
		free(whole);
	} else if (tag == DW_TAG_namespace) {
		append(name, used, own != NULL ? own : "(anonymous namespace)");
	} else if (tag == DW_TAG_class_type || tag == DW_TAG_structure_type ||
		   tag == DW_TAG_union_type) {
		bool is_lambda = own == NULL || *own == '<' || *own == '.';
		append(name, used, is_lambda ? "{lambda}" : own);
	}
}

/* Finds the entry at the level of `first` that is or encloses the one at `offset`: the last that
 * begins at or before it. */
static Dwarf_Die last_before(Dwarf_Die first, Dwarf_Off offset, uint64_t *walked) {
	Dwarf_Die last = first, next;
	while (dwarf_siblingof(&last, &next) == 0 && dwarf_dieoffset(&next) <= offset &&
	       dwarf_dieoffset(&next) > dwarf_dieoffset(&last)) {
		last = next;
		(*walked)++;
	}
	return last;
}

/* Returns the name of the declaration with all that encloses it; NULL = nothing does. */
static char *make_name(Dwarf_Die *declaration, const char *plain, uint64_t *walked) {
	char name[NAME_BYTES] = "";
	size_t used = 0;
	Dwarf_Die unit, child;
	Dwarf_Off offset = dwarf_dieoffset(declaration);
	if (dwarf_diecu(declaration, &unit, NULL, NULL) == NULL || !is_cplusplus(&unit) ||
	    dwarf_child(&unit, &child) != 0)
		return NULL;
	for (int depth = 0; depth < SCOPES_MAX; depth++) {
		Dwarf_Die at = last_before(child, offset, walked);
		if (dwarf_dieoffset(&at) == offset) {
			if (used == 0)
				return NULL;
			append(name, &used, plain);
			return mw_xstrdup(name);
		}
		append_scope(name, &used, &at);
		if (dwarf_child(&at, &child) != 0)
			return NULL;
	}
	return NULL;
}

/* gcc gives no linkage name to functions that other files cannot call: those in anonymous
 * namespaces, lambdas, and instances of templates with such types as arguments.  Returns
 * "shop::sort_all::{lambda}::operator()" for a function of C++ whose plain name is "operator()";
 * the plain name if nothing encloses it. */
static const char *scoped_name(mw_scoped_names_t *names, Dwarf_Die *function, const char *plain,
			       uint64_t *walked) {
	Dwarf_Die declaration = declaration_of(function);
	const void *place = declaration.addr;
	uint64_t hash = mw_table_hash(&place, sizeof(place));
	uint32_t found = mw_table_find(&names->by_place, hash, place_equal, names->names, &place);
	if (found == 0) {
		found = names->count == 0 ? 1 : (uint32_t)names->count;
		names->names = mw_grow(names->names, &names->capacity, (size_t)found + 1,
				       sizeof(mw_scoped_name_t));
		names->names[found] =
			(mw_scoped_name_t){place, make_name(&declaration, plain, walked)};
		names->count = (size_t)found + 1;
		mw_table_add(&names->by_place, hash, found);
	}
	const char *name = names->names[found].name;
	return name != NULL ? name : plain;
}

static void release_names(mw_scoped_names_t *names) {
	for (size_t i = 1; i < names->count; i++)
		free(names->names[i].name);
	free(names->names);
	mw_table_clear(&names->by_place);
}

/* Returns the name of an entry, which may be "". */
static const char *name_of(mw_functions_t *all, Dwarf_Die *die) {
	const char *name = linkage_name(die);
	if (name != NULL)
		return name;
	name = dwarf_diename(die);
	if (name == NULL)
		return "";
	return all->entries_walked > ENTRIES_MAX
		       ? name
		       : scoped_name(&all->scoped, die, name, &all->entries_walked);
}

/* Returns the file and line where an inlined function was called.  `skeleton` is the unit in the
 * program's own file, which has the list of source files if the function's unit has none. */
static void call_place(Dwarf_Die *skeleton, Dwarf_Die *inlined, const char **file, int64_t *line) {
	Dwarf_Attribute attribute;
	Dwarf_Die own;
	Dwarf_Word number;
	*file = NULL;
	*line = 0;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_line, &attribute), &number) == 0 &&
	    number <= INT32_MAX)
		*line = (int64_t)number;
	Dwarf_Files *files;
	size_t count;
	if (dwarf_formudata(dwarf_attr(inlined, DW_AT_call_file, &attribute), &number) == 0 &&
	    ((dwarf_diecu(inlined, &own, NULL, NULL) != NULL &&
	      dwarf_getsrcfiles(&own, &files, &count) == 0) ||
	     dwarf_getsrcfiles(skeleton, &files, &count) == 0) &&
	    number < count)
		*file = dwarf_filesrc(files, (size_t)number, NULL, NULL);
}

void mw_source_place(Dwarf_Die *unit, uint64_t address, const char **file, int64_t *line) {
	Dwarf_Line *source = dwarf_getsrc_die(unit, address);
	int number;
	if (source == NULL)
		return;
	*file = dwarf_linesrc(source, NULL, NULL);
	if (dwarf_lineno(source, &number) == 0 && number > 0)
		*line = number;
}

/* True if the name belongs to an allocator function.  The dynamic loader contains allocator
 * wrappers that are inlined into their callers; their names do not say who allocates. */
static bool is_allocator(const char *name) {
	static const char *const names[] = {"malloc", "calloc", "realloc", "free"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

/* Returns the kind of a name.  The kind is remembered, because names are spread over their
 * section, and reading each one maps 64 KiB. */
static mw_name_kind_t kind_of(mw_functions_t *all, const char *name) {
	mw_known_name_t *known = &all->names[(uintptr_t)name % MW_FUNCTIONS_NAMES];
	if (known->name == name)
		return known->kind;
	known->name = name;
	known->kind = *name == '\0'        ? MW_NAME_EMPTY
		      : is_allocator(name) ? MW_NAME_ALLOCATOR
					   : MW_NAME_ORDINARY;
	return known->kind;
}

size_t mw_functions_lookup(mw_functions_t *all, Dwarf_Die *unit_die, uint64_t address,
			   mw_symbol_frame_t *frames, size_t capacity) {
	mw_unit_functions_t *unit = find_unit(all, unit_die);
	Dwarf_Die *function = find_function(unit, address);
	if (function == NULL && !unit->has_nested) {
		unit->has_nested = true;
		list_unit(all, unit, unit_die);
		function = find_function(unit, address);
	}
	if (function == NULL)
		return 0;
	Dwarf_Die chain[MW_OBJECT_INLINE_MAX];
	chain[0] = *function;
	if (capacity > MW_OBJECT_INLINE_MAX)
		capacity = MW_OBJECT_INLINE_MAX;
	size_t count = follow_inlines(all, address - unit->base, chain, capacity);
	const char *file = NULL;
	int64_t line = 0;
	mw_source_place(unit_die, address, &file, &line);
	size_t used = 0;
	for (size_t i = 0; i < count; i++) {
		Dwarf_Die *die = &chain[count - 1 - i];
		const char *name = name_of(all, die);
		mw_name_kind_t kind = kind_of(all, name);
		if (kind == MW_NAME_EMPTY)
			name = "[no name]";
		/* The outermost function always stays. */
		if (used > 0 || i + 1 == count || kind != MW_NAME_ALLOCATOR)
			frames[used++] =
				(mw_symbol_frame_t){.name = name, .file = file, .line = line};
		call_place(unit_die, die, &file, &line);
	}
	return used;
}

void mw_functions_want(mw_functions_t *functions, const uint64_t *addresses, size_t count) {
	functions->wanted = addresses;
	functions->wanted_count = count;
	functions->question++;
}

void mw_functions_release(mw_functions_t *functions) {
	for (size_t i = 0; i < functions->count; i++)
		free(functions->units[i].ranges);
	free(functions->units);
	release_names(&functions->scoped);
	mw_dwp_close(functions->package);
}
