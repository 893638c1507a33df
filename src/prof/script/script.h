/* SPDX-License-Identifier: MIT
 * script.h -- frames of interpreted functions in the stacks of samples.
 * Layer: prof/script, the door of this folder. An object that the table of modules meets for the
 * first time is asked for the symbols of interpreters. Without an interpreter nothing else of this
 * folder runs. The first interpreter that is found is read; a second one in the same process is
 * not. Design: doc/adr/0047-script-frames.md.
 *
 * A sample reads the frames of its own thread, which cannot change meanwhile. It calls one function
 * of the interpreter, which returns the thread's state; it takes no lock, allocates nothing, reads
 * readable pages only, and keeps errno. All functions are async-signal-safe.
 *
 * Reading order: script, reader/script_reader (what a reader does), reader/php (the shortest one),
 * reader/script_memory (checked reads), script_names (functions and texts of the state file). */
#ifndef MW_PROF_SCRIPT_SCRIPT_H
#define MW_PROF_SCRIPT_SCRIPT_H

#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "state/layout.h"

/* A loaded object. */
typedef struct mw_script_object {
	const struct link_map *link_map; /* not NULL */
	uintptr_t start, limit;          /* of its mapping */
	bool is_permanent;               /* never unloaded */
} mw_script_object_t;

/* Returns the kind of interpreter whose frames can be read in the object; MW_SCRIPT_KINDS: none.
 * One thread at a time calls this and the next two functions. */
mw_script_kind_t mw_script_recognise(const mw_script_object_t *object);
/* Reads frames from now on. `module`: the pseudo-module of their frames, in the place that it has
 * in a frame. */
void mw_script_start(mw_script_kind_t kind, const mw_script_object_t *object, uint64_t module);
/* The object that is mapped at `start` was unloaded. */
void mw_script_unloaded(uintptr_t start);
/* Path of the pseudo-module of a kind. */
const char *mw_script_module_name(mw_script_kind_t kind);

/* 0: no interpreter; 1: one whose object is never unloaded; 2: another one. */
extern _Atomic uint32_t mw_script_mode;

static inline bool mw_script_is_on(void) {
	/* Pairs with the release in mw_script_start(). */
	return MW_UNLIKELY(atomic_load_explicit(&mw_script_mode, memory_order_acquire) != 0);
}
/* Returns whether the interpreter is never unloaded. */
static inline bool mw_script_is_permanent(void) {
	return atomic_load_explicit(&mw_script_mode, memory_order_acquire) == 1;
}

/* The script frames of the calling thread. */
typedef struct mw_script_sum {
	/* Hash of all functions, their positions and the stack addresses of their loops. Two walks
	 * with equal keys and equal native stacks are equal. 0: there is no frame. */
	uint64_t key;
	unsigned count;
} mw_script_sum_t;

/* Returns whether the interpreter cannot be unloaded during the call: never, or because one of
 * these PCs of the thread's stack (raw, as a walk gives them) lies in its object. */
bool mw_script_is_held(const uint64_t *pcs, unsigned depth);
/* Called if mw_script_is_permanent() or mw_script_is_held(). */
mw_script_sum_t mw_script_sum(void);

/* A native stack: encoded frames, and for each one its stack pointer as MW_UNWIND_PLACE() gives
 * it. */
typedef struct mw_script_stack {
	uint64_t *frames; /* room for `max` frames; leaf first */
	const uint32_t *places;
	unsigned depth, max;
	bool truncated; /* frames further out are missing */
} mw_script_stack_t;

/* Puts the calling thread's script frames between the native ones: behind the frame of the loop
 * that runs them. Frames for which there is no room are the outermost ones; the stack is truncated
 * then, and if the chain of script frames is broken. Called like mw_script_sum(), and with the
 * tables' lock or between mw_tables_try_enter() and mw_tables_leave(). */
void mw_script_merge(mw_script_stack_t *stack);

/* Passes the address range of each mapped part of the indexes to `see`. */
MW_COLD void mw_script_visit(void (*see)(uintptr_t start, uintptr_t limit));

#endif
