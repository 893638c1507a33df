/* SPDX-License-Identifier: MIT
 * script.c -- the table of readers, and the merge of script frames into native ones. */
#include "prof/script/script.h"

#include <stddef.h>

#include "os/platform/loaded_symbol.h"
#include "prof/script/reader/script_reader.h"
#include "prof/script/script_names.h"
#include "prof/store/store.h"
#include "prof/unwind/place.h"

_Atomic uint32_t mw_script_mode;

static const mw_script_reader_t *const readers[MW_SCRIPT_KINDS] = {
	[MW_SCRIPT_PYTHON] = &mw_cpython_reader,
	[MW_SCRIPT_RUBY] = &mw_ruby_reader,
	[MW_SCRIPT_PERL] = &mw_perl_reader,
	[MW_SCRIPT_PHP] = &mw_php_reader,
};

static const char *const module_names[MW_SCRIPT_KINDS] = {
#define MW_SCRIPT_KIND(name, module) [MW_SCRIPT_##name] = module,
#include "state/script_kinds.def"
#undef MW_SCRIPT_KIND
};

/* Written before mw_script_mode. */
static struct {
	const mw_script_reader_t *reader;
	mw_script_names_t names;
	mw_script_object_t object;
} script;

const char *mw_script_module_name(mw_script_kind_t kind) {
	return module_names[kind];
}

/* Objects without an interpreter cost one look into their hash table for each reader. */
mw_script_kind_t mw_script_recognise(const mw_script_object_t *object) {
	if (mw_script_is_on())
		return MW_SCRIPT_KINDS;
	unsigned kind = 0;
	while (kind < MW_SCRIPT_KINDS &&
	       (mw_os_find_symbol_of(object->link_map, readers[kind]->symbol).start == 0 ||
		!readers[kind]->start(object->link_map)))
		kind++;
	return (mw_script_kind_t)kind;
}

void mw_script_start(mw_script_kind_t kind, const mw_script_object_t *object, uint64_t module) {
	script.reader = readers[kind];
	script.names = (mw_script_names_t){.reader = readers[kind], .module = module, .kind = kind};
	script.object = *object;
	mw_script_names_start();
	/* Pairs with the acquire in mw_script_is_on(). */
	atomic_store_explicit(&mw_script_mode, object->is_permanent ? 1 : 2, memory_order_release);
}

void mw_script_unloaded(uintptr_t start) {
	if (mw_script_is_on() && script.object.start == start)
		atomic_store_explicit(&mw_script_mode, 0, memory_order_release);
}

bool mw_script_is_held(const uint64_t *pcs, unsigned depth) {
	if (mw_script_is_permanent())
		return true;
	for (unsigned i = 0; i < depth; i++)
		if ((pcs[i] & ~MW_FRAME_EXACT) - script.object.start <
		    script.object.limit - script.object.start)
			return true;
	return false;
}

static void begin(mw_script_walk_t *walk) {
	*walk = (mw_script_walk_t){.left = MW_SCRIPT_FRAMES_MAX};
	mw_script_memory_begin(&walk->memory);
	script.reader->begin(walk);
}

mw_script_sum_t mw_script_sum(void) {
	mw_script_walk_t walk;
	mw_script_frame_t frame;
	mw_script_sum_t sum = {0};
	begin(&walk);
	while (script.reader->next(&walk, &frame)) {
		sum.key = mw_script_mix(sum.key ^ frame.identity, (uint64_t)frame.position);
		sum.key += frame.anchor;
		sum.count++;
	}
	sum.key += walk.is_broken;
	if (sum.count == 0)
		sum.key = 0;
	else if (sum.key == 0)
		sum.key = 1;
	return sum;
}

/* ---- merge ---- */

/* The frames are merged in their array: the native ones that are not merged yet are moved to its
 * end. */
typedef struct merger {
	mw_script_stack_t *stack;
	unsigned out;     /* frames that are merged */
	unsigned native;  /* number of the next native frame */
	unsigned natives; /* native frames, without those that are left out */
	mw_script_walk_t walk;
	mw_script_frame_t frame; /* the next script frame */
	bool has_frame;
} merger_t;

static void read_next(merger_t *m) {
	m->has_frame = script.reader->next(&m->walk, &m->frame);
}

static uint64_t *native_frame(const merger_t *m, unsigned number) {
	return &m->stack->frames[m->stack->max - m->natives + number];
}

/* Returns whether there is room for a script frame. The outermost native frame makes room. */
static bool make_room(merger_t *m) {
	if (m->out < m->stack->max - (m->natives - m->native))
		return true;
	m->stack->truncated = true;
	if (m->native == m->natives)
		return false;
	uint64_t *first = native_frame(m, m->native);
	for (uint64_t *at = native_frame(m, m->natives - 1); at > first; at--)
		*at = at[-1];
	m->natives--;
	return true;
}

static void put_run(merger_t *m) {
	for (bool is_last = false; m->has_frame && !is_last;) {
		if (!make_room(m)) {
			m->has_frame = false;
			return;
		}
		m->stack->frames[m->out++] =
			mw_script_frame_word(&script.names, &m->walk, &m->frame);
		is_last = m->frame.ends_run;
		read_next(m);
	}
}

static bool is_loop_code(uint64_t frame) {
	uint64_t module = frame >> MW_FRAME_MODULE_SHIFT & MW_FRAME_MODULE_MAX;
	if (module == 0 || module == MW_FRAME_MODULE_MAX)
		return false;
	const mw_state_module_t *entry = mw_store_private(MW_SECTION_MODULES, module - 1);
	uint64_t pc = (frame & MW_FRAME_ADDRESS_MASK) + entry->bias;
	return pc - script.reader->loop->start < script.reader->loop->bytes;
}

/* Returns the anchor of the run that the next script frame belongs to; 0: it has none. */
static uintptr_t anchor_of_run(const merger_t *m) {
	mw_script_walk_t ahead = m->walk;
	mw_script_frame_t frame = m->frame;
	while (!frame.ends_run && script.reader->next(&ahead, &frame)) {
	}
	return frame.anchor;
}

/* Returns whether the native frame is the loop's. Places are compared modulo their size, which no
 * stack has. */
static bool is_loop(const merger_t *m, unsigned number, uint64_t frame, uintptr_t anchor) {
	if (anchor == 0)
		return is_loop_code(frame);
	const uint32_t *place = &m->stack->places[number];
	uint32_t bytes = number + 1 < m->stack->depth ? place[1] - place[0] : UINT32_MAX >> 1;
	return MW_UNWIND_PLACE(anchor) - place[0] < bytes;
}

void mw_script_merge(mw_script_stack_t *stack) {
	merger_t m = {.stack = stack, .natives = stack->depth};
	begin(&m.walk);
	read_next(&m);
	for (unsigned i = stack->depth; i-- > 0;)
		*native_frame(&m, i) = stack->frames[i];
	uintptr_t anchor = m.has_frame ? anchor_of_run(&m) : 0;
	while (m.native < m.natives) {
		uint64_t frame = *native_frame(&m, m.native);
		bool is_its_loop = m.has_frame && is_loop(&m, m.native, frame, anchor);
		m.native++;
		stack->frames[m.out++] = frame;
		if (!is_its_loop)
			continue;
		put_run(&m);
		anchor = m.has_frame ? anchor_of_run(&m) : 0;
	}
	/* Native frames of their loops are missing: the native walk was cut. */
	while (m.has_frame)
		put_run(&m);
	stack->truncated |= m.walk.is_broken;
	stack->depth = m.out;
}

void mw_script_visit(void (*see)(uintptr_t start, uintptr_t limit)) {
	mw_script_names_visit(see);
}
