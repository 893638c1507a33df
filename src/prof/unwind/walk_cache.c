/* SPDX-License-Identifier: MIT
 * walk_cache.c -- compares the stack with the cached walk, and caches the new walk. */
#include "prof/unwind/walk_cache.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "os/memory/map.h"
#include "prof/unwind/program_frames.h"

/* A thread that takes 64 samples within 6.4 ms, 10,000 per second, spends 1 % of its time on walks
 * and gets a walk cache. */
#define WITHIN_NS 6400000u
/* Most walk caches in a process: 18 MiB. */
#define WALK_CACHES_MAX 512u

#define WALK_CACHE_BYTES mw_round_up(sizeof(mw_walk_cache_t), MW_OS_PAGE_BYTES)
_Static_assert(sizeof(mw_walk_cache_t) <= 9 * MW_OS_PAGE_BYTES, "as documented");

/* All walk caches, for the child of a fork. Relaxed: each is used by its own thread only. */
static MW_SPARSE _Atomic(mw_walk_cache_t *) walk_caches[WALK_CACHES_MAX];
static _Atomic uint32_t
	walk_cache_count; /* number of walk caches, for the limit and for statistics */

static bool list_walk_cache(mw_walk_cache_t *walk_cache) {
	for (unsigned i = 0; i < WALK_CACHES_MAX; i++) {
		mw_walk_cache_t *none = NULL;
		if (atomic_compare_exchange_strong_explicit(&walk_caches[i], &none, walk_cache,
							    memory_order_relaxed,
							    memory_order_relaxed))
			return true;
	}
	return false;
}

static MW_COLD void make_walk_cache(mw_walk_cache_hold_t *hold) {
	if (hold->has_ended ||
	    atomic_load_explicit(&walk_cache_count, memory_order_relaxed) >= WALK_CACHES_MAX)
		return;
	mw_walk_cache_t *walk_cache = mw_os_map(WALK_CACHE_BYTES);
	if (!walk_cache)
		return;
	if (!list_walk_cache(walk_cache)) {
		mw_os_unmap(walk_cache, WALK_CACHE_BYTES);
		return;
	}
	atomic_fetch_add_explicit(&walk_cache_count, 1, memory_order_relaxed);
	hold->walk_cache = walk_cache;
}

static MW_COLD void release(mw_walk_cache_t *walk_cache) {
	for (unsigned i = 0; i < WALK_CACHES_MAX; i++) {
		mw_walk_cache_t *listed = walk_cache;
		if (atomic_compare_exchange_strong_explicit(&walk_caches[i], &listed, NULL,
							    memory_order_relaxed,
							    memory_order_relaxed))
			break;
	}
	mw_os_unmap(walk_cache, WALK_CACHE_BYTES);
	atomic_fetch_sub_explicit(&walk_cache_count, 1, memory_order_relaxed);
}

void mw_unwind_forked(void) {
	uint32_t own = mw_walk_cache_hold.walk_cache != NULL;
	if (MW_LIKELY(atomic_load_explicit(&walk_cache_count, memory_order_relaxed) == own))
		return;
	for (unsigned i = 0; i < WALK_CACHES_MAX; i++) {
		mw_walk_cache_t *walk_cache =
			atomic_load_explicit(&walk_caches[i], memory_order_relaxed);
		if (walk_cache && walk_cache != mw_walk_cache_hold.walk_cache)
			release(walk_cache);
	}
	/* Set, not reduced: a thread that does not exist in the child may have been changing it. */
	atomic_store_explicit(&walk_cache_count, own, memory_order_relaxed);
}

void mw_walk_cache_judge(uint64_t now_ns, bool is_exact) {
	mw_walk_cache_hold_t *hold = &mw_walk_cache_hold;
	uint64_t since_ns = hold->since_ns;
	hold->since_ns = now_ns;
	hold->samples = 0;
	/* The cache cannot handle the rules of machines with a link register. */
	if (MW_OS_HAS_LINK_REGISTER)
		return;
	/* Not if this code interrupted itself: a signal handler would create another cache. */
	bool is_often = since_ns != 0 && now_ns - since_ns < WITHIN_NS;
	if ((is_exact || is_often) && !hold->is_taken) {
		hold->is_taken = true;
		make_walk_cache(hold);
		mw_walk_cache_let_go();
	}
}

void mw_walk_cache_end(void) {
	mw_walk_cache_t *walk_cache = mw_walk_cache_hold.walk_cache;
	/* Cleared first, because a signal handler may run in between. */
	mw_walk_cache_hold.walk_cache = NULL;
	release(walk_cache);
}

uint64_t mw_walk_cache_memory_bytes(void) {
	return atomic_load_explicit(&walk_cache_count, memory_order_relaxed) * WALK_CACHE_BYTES;
}

MW_COLD void mw_unwind_visit_memory(void (*see)(uintptr_t start, uintptr_t limit)) {
	for (unsigned i = 0; i < WALK_CACHES_MAX; i++) {
		uintptr_t start =
			(uintptr_t)atomic_load_explicit(&walk_caches[i], memory_order_relaxed);
		if (start)
			see(start, start + WALK_CACHE_BYTES);
	}
	mw_program_frames_visit_memory(see);
}

/* ---- one walk ---- */

typedef struct follower {
	mw_walk_cache_t *walk_cache;
	mw_walk_t *walk;
	uint64_t *pcs;
	uint32_t *places; /* as of the walk */
	unsigned depth, max_depth;
	unsigned own_left; /* frames that may still belong to the library */
	unsigned fresh;    /* frames that were not in the cache */
	unsigned checked;  /* objects that were found still loaded, one bit each */
	mw_os_regs_t regs; /* registers of the current frame */
} follower_t;

/* Returns false if there is no room. */
MW_ALWAYS_INLINE bool write_pc(follower_t *f, uintptr_t pc, uintptr_t sp) {
	if (MW_UNLIKELY(f->own_left > 0)) {
		if (mw_walk_is_own(pc) && f->own_left-- > 1)
			return true;
		f->own_left = 0;
	}
	if (MW_UNLIKELY(f->depth == f->max_depth))
		return false;
	if (MW_UNLIKELY(f->places))
		f->places[f->depth] = MW_UNWIND_PLACE(sp);
	f->pcs[f->depth++] = pc;
	return true;
}

/* Returns whether there is room for a frame and for the one behind the outermost frame. */
static bool has_room(const follower_t *f) {
	return f->fresh + 2 <= MW_WALK_CACHE_FRAMES;
}

/* ---- objects that may be unloaded ---- */

/* Returns whether the object of a frame is still loaded. The frame is on the current stack, so the
 * object cannot be unloaded meanwhile. */
static MW_NOINLINE bool is_object_there(follower_t *f, unsigned number, uintptr_t pc) {
	const mw_os_object_t *object = &f->walk_cache->objects[number - 1];
	if (!(f->checked & 1u << number) && !mw_os_object_is_there(object, pc - 1))
		return false;
	f->checked |= 1u << number;
	return true;
}

MW_ALWAYS_INLINE bool is_code_there(follower_t *f, const mw_cached_frame_t *frame) {
	if (MW_LIKELY(frame->object == 0))
		return true;
	if (!is_object_there(f, frame->object, frame->pc))
		return false;
	f->walk->resolver.stamps += f->walk_cache->objects[frame->object - 1].stamp;
	return true;
}

/* Returns the number of the object of code that may be unloaded; 0: unknown, and no room for
 * another. */
static unsigned object_of(follower_t *f, uintptr_t pc) {
	mw_walk_cache_t *walk_cache = f->walk_cache;
	for (unsigned i = 0; i < walk_cache->object_count; i++) {
		const mw_os_object_t *object = &walk_cache->objects[i];
		if (pc - 1 - object->text_lo >= object->text_hi - object->text_lo ||
		    !is_object_there(f, i + 1, pc))
			continue;
		f->walk->resolver.object = *object;
		return i + 1;
	}
	mw_os_object_t *fresh = &walk_cache->objects[walk_cache->object_count];
	if (walk_cache->object_count == MW_WALK_CACHE_OBJECTS ||
	    !mw_os_object_find(pc - 1, fresh) || fresh->stamp == 0)
		return 0;
	f->checked |= 1u << ++walk_cache->object_count;
	f->walk->resolver.object = *fresh;
	return walk_cache->object_count;
}

/* Returns the entry of a guarded rule without its guard; 0: the guard is not valid. */
static MW_NOINLINE uint64_t unguard(follower_t *f, uintptr_t pc, uint64_t entry, uint8_t *object) {
	*object = (uint8_t)object_of(f, pc);
	if (*object == 0) {
		/* Removes objects that were unloaded. */
		f->walk_cache->count = f->walk_cache->object_count = 0;
		return 0;
	}
	return mw_resolve_guarded(&f->walk->resolver, pc - 1, entry) ? entry & ~MW_CACHE_GUARDED
								     : 0;
}

/* ---- frames ---- */

static bool is_end(uint64_t entry) {
	uint32_t code = entry & MW_CACHE_CODE_MASK;
	return code != 0 && !(code & MW_RULE_INLINE) && mw_rule_decode(code).kind == MW_RULE_END;
}

static void step_known(mw_os_regs_t *regs, uint32_t code, uintptr_t cfa) {
	const uintptr_t *words = (const uintptr_t *)cfa;
	unsigned slot = code >> MW_RULE_INLINE_SLOT_SHIFT & MW_RULE_INLINE_SLOT_MASK;
	if (slot)
		regs->fp = words[-1 - (int)slot];
	regs->pc = mw_os_code_address(words[-1]);
	regs->sp = cfa;
}

typedef enum progress {
	CHANGED, /* the walk differs from the cached one */
	DONE,
	STUCK, /* the walk cannot be cached from here */
} progress_t;

/* Checks from frame `met` outwards: a frame is known to be on this stack if the code of all frames
 * before it is still loaded. */
static bool is_all_code_there(follower_t *f, unsigned met) {
	const uint64_t stamps = f->walk->resolver.stamps;
	if (MW_LIKELY(f->walk_cache->object_count == 0))
		return true;
	for (unsigned i = met + 1; i-- > 0;)
		if (!is_code_there(f, &f->walk_cache->frames[i])) {
			f->walk->resolver.stamps = stamps;
			return false;
		}
	return true;
}

/* The walk has reached cached frame `met`, and all words that the further rules read are unchanged,
 * so the further frames are, too. Returns false if a word changed or there is no room. */
static bool skip_along(follower_t *f, unsigned met) {
	const mw_cached_frame_t *frames = f->walk_cache->frames;
	unsigned outermost = frames[0].pc == 0, at = met + 1, depth = f->depth;
	for (unsigned own = f->own_left;
	     own > 0 && at > outermost && mw_walk_is_own(frames[at - 1].pc); own--)
		at--;
	if (at - outermost > f->max_depth - depth ||
	    !mw_walk_cache_are_words_the_same(f->walk_cache, &frames[met]) ||
	    !is_all_code_there(f, met))
		return false;
	for (unsigned i = at; MW_UNLIKELY(f->places) && i-- > outermost;)
		f->places[depth + at - 1 - i] = MW_UNWIND_PLACE(frames[i].sp);
	uint64_t *pc = &f->pcs[depth];
	f->depth = depth + at - outermost;
	while (at-- > outermost)
		*pc++ = frames[at].pc;
	return true;
}

/* The walk has reached cached frame `met`: follows the cached frames while words are unchanged.
 * *met: the last frame that was passed. */
static progress_t go_along(follower_t *f, unsigned *met) {
	mw_cached_frame_t *frames = f->walk_cache->frames;
	mw_os_regs_t regs = f->regs;
	progress_t progress = DONE;
	unsigned at = *met;
	if (skip_along(f, at))
		return DONE;
	for (;; at--) {
		mw_cached_frame_t *frame = &frames[at];
		/* fp may not have mattered in the last walk. */
		frame->fp = regs.fp;
		if (regs.pc == 0)
			break;
		if (!is_code_there(f, frame) || !write_pc(f, regs.pc, regs.sp)) {
			progress = STUCK;
			break;
		}
		if (at == 0)
			break;
		step_known(&regs, frame->code, frame[-1].sp);
		if (MW_UNLIKELY(!mw_walk_cache_is_met(&frame[-1], &regs))) {
			progress = CHANGED;
			break;
		}
	}
	f->regs = regs;
	*met = at;
	return progress;
}

/* The walk has reached its end, where the return address is 0. */
static progress_t end_at_zero(follower_t *f) {
	f->walk_cache->fresh[f->fresh++] = (mw_cached_frame_t){.sp = f->regs.sp};
	return DONE;
}

/* Steps out of a frame that is not in the cache. */
static progress_t step_off(follower_t *f) {
	mw_os_regs_t regs = f->regs;
	uint64_t entry = mw_cache_find(regs.pc - 1);
	mw_cached_frame_t frame = {.sp = regs.sp, .pc = regs.pc, .fp = regs.fp};
	if (entry & MW_CACHE_GUARDED)
		entry = unguard(f, regs.pc, entry, &frame.object);
	frame.code = (uint16_t)entry;
	bool goes_on = mw_walk_step_fast(f->walk, &regs, entry);
	if (MW_UNLIKELY(!goes_on && !is_end(entry)) || !has_room(f) ||
	    !write_pc(f, frame.pc, frame.sp))
		return STUCK;
	f->walk_cache->fresh[f->fresh++] = frame;
	f->regs = regs;
	if (!goes_on)
		return DONE;
	return MW_LIKELY(regs.pc != 0) ? CHANGED : end_at_zero(f);
}

/* Stores a word that the step out of a frame read, for comparison in the next walk. */
static void add_check(mw_walk_cache_t *walk_cache, mw_cached_frame_t *frame, uintptr_t cfa,
		      unsigned slot) {
	const uintptr_t *word = (const uintptr_t *)cfa - 1 - slot;
	walk_cache->checks[frame->checks++] =
		(mw_walk_cache_check_t){.address = word, .word = *word};
}

/* Stores a frame. `beyond`: the frame that the walk reached from it; NULL: none. */
static void lay_frame(mw_walk_cache_t *walk_cache, mw_cached_frame_t *frame,
		      const mw_cached_frame_t *beyond) {
	unsigned slot = frame->code >> MW_RULE_INLINE_SLOT_SHIFT & MW_RULE_INLINE_SLOT_MASK;
	frame->checks = 0;
	frame->fp_matters = false;
	frame->objects = (uint8_t)(frame->object ? 1u << frame->object : 0);
	if (!beyond)
		return;
	frame->checks = beyond->checks;
	frame->objects |= beyond->objects;
	add_check(walk_cache, frame, beyond->sp, 0);
	if (slot && beyond->fp_matters)
		add_check(walk_cache, frame, beyond->sp, slot);
	frame->fp_matters = frame->code & MW_RULE_INLINE_BY_FP || (!slot && beyond->fp_matters);
}

/* The first `kept` frames keep their notes. */
static void keep_sums(mw_walk_cache_t *walk_cache, unsigned kept) {
	unsigned behind_outermost = kept > 0 && walk_cache->frames[0].pc == 0;
	if (walk_cache->sums.count > kept - behind_outermost)
		walk_cache->sums.count = kept - behind_outermost;
}

/* Stores the fresh frames behind the first `kept` frames. */
static void lay(mw_walk_cache_t *walk_cache, unsigned kept, unsigned fresh) {
	if (fresh == 0 && kept == walk_cache->count)
		return;
	keep_sums(walk_cache, kept);
	walk_cache->count = 0;
	walk_cache->generation++;
	walk_cache->cached_value = 0;
	walk_cache->kept = kept;
	if (kept + fresh > MW_WALK_CACHE_FRAMES)
		return;
	for (unsigned i = fresh; i-- > 0; kept++) {
		mw_cached_frame_t *frame = &walk_cache->frames[kept];
		*frame = walk_cache->fresh[i];
		lay_frame(walk_cache, frame, kept ? frame - 1 : NULL);
		walk_cache->generations[kept] = walk_cache->generation;
	}
	walk_cache->count = kept;
}

/* Frames `first` to `last` were in the cache but now lead to another caller. */
static progress_t leave(follower_t *f, unsigned first, unsigned last) {
	for (unsigned i = first + 1; i-- > last;) {
		if (!has_room(f))
			return STUCK;
		f->walk_cache->fresh[f->fresh++] = f->walk_cache->frames[i];
	}
	return MW_LIKELY(f->regs.pc != 0) ? CHANGED : end_at_zero(f);
}

static progress_t follow(follower_t *f) {
	const mw_cached_frame_t *frames = f->walk_cache->frames;
	unsigned ahead = f->walk_cache->count; /* cached frames that the walk may still reach */
	for (;;) {
		while (ahead > 0 && frames[ahead - 1].sp < f->regs.sp)
			ahead--;
		unsigned kept = 0;
		progress_t progress;
		if (ahead > 0 && mw_walk_cache_is_met(&frames[ahead - 1], &f->regs)) {
			unsigned met = ahead - 1, passed = met;
			progress = go_along(f, &passed);
			if (progress == DONE)
				kept = ahead;
			else if (progress == CHANGED)
				progress = leave(f, met, passed);
			ahead = passed;
		} else {
			progress = step_off(f);
		}
		if (progress == STUCK)
			return STUCK;
		if (progress == DONE) {
			lay(f->walk_cache, kept, f->fresh);
			return DONE;
		}
	}
}

mw_walk_outcome_t mw_walk_cache_follow(mw_walk_cache_t *walk_cache, mw_walk_t *walk,
				       mw_os_regs_t *regs, uint64_t *pcs, unsigned max_depth,
				       mw_unwind_result_t *result) {
	follower_t f = {.walk_cache = walk_cache,
			.walk = walk,
			.pcs = pcs,
			.places = walk->places,
			.max_depth = max_depth,
			.own_left = MW_WALK_OWN_FRAMES_MAX,
			.regs = *regs};
	progress_t progress = follow(&f);
	*regs = f.regs;
	result->depth = f.depth;
	if (progress != DONE)
		return f.regs.pc == 0 ? MW_WALK_END : MW_WALK_ON;
	result->generation = walk_cache->count ? walk_cache->generation : 0;
	result->cached_value = walk_cache->cached_value;
	result->cached_key = walk_cache->cached_key;
	return MW_WALK_END;
}

void mw_walk_cache_remember(mw_walk_cache_t *walk_cache, uint64_t cached_value, uint64_t key) {
	unsigned left = walk_cache->count ? walk_cache->frames[walk_cache->count - 1].objects : 0;
	walk_cache->place_count = 0;
	for (unsigned i = walk_cache->count; left != 0;) {
		unsigned object = walk_cache->frames[--i].object;
		if (object == 0 || !(left & 1u << object))
			continue;
		left &= ~(1u << object);
		walk_cache->places[walk_cache->place_count++] = (mw_walk_cache_position_t){
			.pc = walk_cache->frames[i].pc, .object = object};
	}
	/* The upper half is 0 if there is no code that may be unloaded. */
	walk_cache->cached_value =
		walk_cache->place_count > 0 && cached_value >> 32 == 0 ? 0 : cached_value;
	walk_cache->cached_key = key;
	if (walk_cache->cached_value != 0)
		mw_stack_cache_add(walk_cache);
}

/* Checks from the leaf on: a frame is on this stack if the code of all frames before it is still
 * loaded. */
bool mw_walk_cache_are_objects_there(const mw_walk_cache_t *walk_cache,
				     const mw_walk_cache_position_t *places, unsigned count) {
	for (unsigned i = 0; i < count; i++)
		if (!mw_os_object_is_there(&walk_cache->objects[places[i].object - 1],
					   places[i].pc - 1))
			return false;
	return true;
}
