/* SPDX-License-Identifier: MIT
 * unwind_trail.c -- walking along a trail, and laying the next. */
#include "prof/unwind_trail.h"

#include <stdatomic.h>

#include "base/bits.h"
#include "os/map.h"
#include "prof/recall.h"

/* A thread that takes its 64 samples in 6.4 ms, 10,000 a second, spends a percent of its time on
 * walks, and gets a trail. */
#define WITHIN_NS 6400000u
/* 6 MiB. */
#define TRAILS_MAX 512u

#define TRAIL_BYTES mw_round_up(sizeof(mw_trail_t), MW_OS_PAGE_BYTES)
_Static_assert(sizeof(mw_trail_t) <= 8 * MW_OS_PAGE_BYTES, "as documented");

/* All there are, for the child of a fork.  Relaxed, all of it: each is read by its own thread. */
static MW_SPARSE _Atomic(mw_trail_t *) trails[TRAILS_MAX];
static _Atomic uint32_t trail_count; /* a bound, and a statistic */

static bool list_trail(mw_trail_t *trail) {
	for (unsigned i = 0; i < TRAILS_MAX; i++) {
		mw_trail_t *none = NULL;
		if (atomic_compare_exchange_strong_explicit(
			    &trails[i], &none, trail, memory_order_relaxed, memory_order_relaxed))
			return true;
	}
	return false;
}

static MW_COLD void make_trail(mw_trail_hold_t *hold) {
	if (hold->has_ended ||
	    atomic_load_explicit(&trail_count, memory_order_relaxed) >= TRAILS_MAX)
		return;
	mw_trail_t *trail = mw_os_map(TRAIL_BYTES);
	if (!trail)
		return;
	if (!list_trail(trail)) {
		mw_os_unmap(trail, TRAIL_BYTES);
		return;
	}
	atomic_fetch_add_explicit(&trail_count, 1, memory_order_relaxed);
	hold->trail = trail;
}

static MW_COLD void release(mw_trail_t *trail) {
	for (unsigned i = 0; i < TRAILS_MAX; i++) {
		mw_trail_t *listed = trail;
		if (atomic_compare_exchange_strong_explicit(
			    &trails[i], &listed, NULL, memory_order_relaxed, memory_order_relaxed))
			break;
	}
	mw_os_unmap(trail, TRAIL_BYTES);
	atomic_fetch_sub_explicit(&trail_count, 1, memory_order_relaxed);
}

void mw_unwind_forked(void) {
	uint32_t own = mw_trail_hold.trail != NULL;
	if (MW_LIKELY(atomic_load_explicit(&trail_count, memory_order_relaxed) == own))
		return;
	for (unsigned i = 0; i < TRAILS_MAX; i++) {
		mw_trail_t *trail = atomic_load_explicit(&trails[i], memory_order_relaxed);
		if (trail && trail != mw_trail_hold.trail)
			release(trail);
	}
	/* Exactly: a thread that did not come over may have been about to count. */
	atomic_store_explicit(&trail_count, own, memory_order_relaxed);
}

void mw_trail_judge(uint64_t now_ns) {
	mw_trail_hold_t *hold = &mw_trail_hold;
	uint64_t since_ns = hold->since_ns;
	hold->since_ns = now_ns;
	hold->samples = 0;
	/* Frames there are of no rule that a trail can follow. */
	if (MW_OS_HAS_LINK_REGISTER)
		return;
	/* A handler that interrupts this would make one too. */
	if (since_ns != 0 && now_ns - since_ns < WITHIN_NS && !hold->is_taken) {
		hold->is_taken = true;
		make_trail(hold);
		mw_trail_let_go();
	}
}

void mw_trail_end(void) {
	mw_trail_t *trail = mw_trail_hold.trail;
	/* First: handlers come in between. */
	mw_trail_hold.trail = NULL;
	release(trail);
}

uint64_t mw_trail_memory_bytes(void) {
	return atomic_load_explicit(&trail_count, memory_order_relaxed) * TRAIL_BYTES;
}

/* ---- one walk ---- */

typedef struct follower {
	mw_trail_t *trail;
	mw_walk_t *walk;
	uint64_t *pcs;
	unsigned depth, max_depth;
	unsigned written; /* of `depth`; less if the rest is left to mw_trail_write_rest() */
	bool may_leave_out;
	unsigned own_left; /* frames that may still be the library's */
	unsigned fresh;    /* frames that were not on the trail */
	unsigned checked;  /* objects that are known to be there still, a bit each */
	mw_os_regs_t regs; /* of the frame the walk has come to */
} follower_t;

/* False: no room. */
MW_ALWAYS_INLINE bool write_pc(follower_t *f, uintptr_t pc) {
	if (MW_UNLIKELY(f->own_left > 0)) {
		if (mw_walk_is_own(pc) && f->own_left-- > 1)
			return true;
		f->own_left = 0;
	}
	if (MW_UNLIKELY(f->depth == f->max_depth))
		return false;
	f->pcs[f->depth++] = pc;
	f->written = f->depth;
	return true;
}

/* For a frame, and the one behind the outermost. */
static bool has_room(const follower_t *f) {
	return f->fresh + 2 <= MW_TRAIL_FRAMES;
}

/* ---- objects that may be unloaded ---- */

/* The frame is one of this very stack, so what holds its code stays. */
static MW_NOINLINE bool is_object_there(follower_t *f, unsigned number, uintptr_t pc) {
	const mw_os_object_t *object = &f->trail->objects[number - 1];
	if (!(f->checked & 1u << number) && !mw_os_object_is_there(object, pc - 1))
		return false;
	f->checked |= 1u << number;
	return true;
}

MW_ALWAYS_INLINE bool is_code_there(follower_t *f, const mw_trail_frame_t *frame) {
	if (MW_LIKELY(frame->object == 0))
		return true;
	if (!is_object_there(f, frame->object, frame->pc))
		return false;
	f->walk->resolver.stamps += f->trail->objects[frame->object - 1].stamp;
	return true;
}

/* The object of code that may be unloaded; 0: not known, and there is no room for another. */
static unsigned object_of(follower_t *f, uintptr_t pc) {
	mw_trail_t *trail = f->trail;
	for (unsigned i = 0; i < trail->object_count; i++) {
		const mw_os_object_t *object = &trail->objects[i];
		if (pc - 1 - object->text_lo >= object->text_hi - object->text_lo ||
		    !is_object_there(f, i + 1, pc))
			continue;
		f->walk->resolver.object = *object;
		return i + 1;
	}
	mw_os_object_t *fresh = &trail->objects[trail->object_count];
	if (trail->object_count == MW_TRAIL_OBJECTS || !mw_os_object_find(pc - 1, fresh) ||
	    fresh->stamp == 0)
		return 0;
	f->checked |= 1u << ++trail->object_count;
	f->walk->resolver.object = *fresh;
	return trail->object_count;
}

/* The entry of a guarded rule without its guard; 0: there is none that holds. */
static MW_NOINLINE uint64_t unguard(follower_t *f, uintptr_t pc, uint64_t entry, uint8_t *object) {
	*object = (uint8_t)object_of(f, pc);
	if (*object == 0) {
		/* Those that are gone make room. */
		f->trail->count = f->trail->object_count = 0;
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
	CHANGED, /* the walk has left the trail */
	DONE,
	STUCK, /* nothing here is for trails */
} progress_t;

/* From the frame met outwards: that a frame is one of this stack is known of the one after those
 * whose code is there. */
static bool is_all_code_there(follower_t *f, unsigned met) {
	const uint64_t stamps = f->walk->resolver.stamps;
	if (MW_LIKELY(f->trail->object_count == 0))
		return true;
	for (unsigned i = met + 1; i-- > 0;)
		if (!is_code_there(f, &f->trail->frames[i])) {
			f->walk->resolver.stamps = stamps;
			return false;
		}
	return true;
}

/* The walk has come to frame `met` of the trail, and all the words that led on from there are what
 * they were: so is the rest.  False: that does not hold, or is more than there is room for. */
static bool skip_along(follower_t *f, unsigned met) {
	const mw_trail_frame_t *frames = f->trail->frames;
	unsigned outermost = frames[0].pc == 0, at = met + 1, depth = f->depth;
	for (unsigned own = f->own_left; own > 0 && at > outermost && frames[at - 1].is_own; own--)
		at--;
	if (at - outermost > f->max_depth - depth ||
	    !mw_trail_are_words_the_same(f->trail, &frames[met]) || !is_all_code_there(f, met))
		return false;
	/* They are on the trail, too, if there is room for it to be laid. */
	if (f->may_leave_out && f->fresh + met < MW_TRAIL_FRAMES) {
		f->depth += at - outermost;
		return true;
	}
	while (at-- > outermost)
		f->pcs[depth++] = frames[at].pc;
	f->depth = f->written = depth;
	return true;
}

/* The walk has come to frame `met` of the trail: goes along as far as it is the same.  *met: the
 * last frame passed. */
static progress_t go_along(follower_t *f, unsigned *met) {
	mw_trail_frame_t *frames = f->trail->frames;
	mw_os_regs_t regs = f->regs;
	progress_t progress = DONE;
	unsigned at = *met;
	if (skip_along(f, at))
		return DONE;
	for (;; at--) {
		mw_trail_frame_t *frame = &frames[at];
		/* It may have been of no matter last time. */
		frame->fp = regs.fp;
		if (regs.pc == 0)
			break;
		if (!is_code_there(f, frame) || !write_pc(f, regs.pc)) {
			progress = STUCK;
			break;
		}
		if (at == 0)
			break;
		step_known(&regs, frame->code, frame[-1].sp);
		if (MW_UNLIKELY(!mw_trail_is_met(&frame[-1], &regs))) {
			progress = CHANGED;
			break;
		}
	}
	f->regs = regs;
	*met = at;
	return progress;
}

/* The walk has come to its end, where the return address was 0. */
static progress_t end_at_zero(follower_t *f) {
	f->trail->fresh[f->fresh++] = (mw_trail_frame_t){.sp = f->regs.sp};
	return DONE;
}

/* A frame that is not on the trail. */
static progress_t step_off(follower_t *f) {
	mw_os_regs_t regs = f->regs;
	uint64_t entry = mw_cache_find(regs.pc - 1);
	mw_trail_frame_t frame = {.sp = regs.sp, .pc = regs.pc, .fp = regs.fp};
	if (entry & MW_CACHE_GUARDED)
		entry = unguard(f, regs.pc, entry, &frame.object);
	frame.code = (uint16_t)entry;
	bool goes_on = mw_walk_step_fast(f->walk, &regs, entry);
	if (MW_UNLIKELY(!goes_on && !is_end(entry)) || !has_room(f) || !write_pc(f, frame.pc))
		return STUCK;
	f->trail->fresh[f->fresh++] = frame;
	f->regs = regs;
	if (!goes_on)
		return DONE;
	return MW_LIKELY(regs.pc != 0) ? CHANGED : end_at_zero(f);
}

/* A word that the step out of a frame read is to be what it is now. */
static void add_check(mw_trail_t *trail, mw_trail_frame_t *frame, uintptr_t cfa, unsigned slot) {
	const uintptr_t *word = (const uintptr_t *)cfa - 1 - slot;
	trail->checks[frame->checks++] = (mw_trail_check_t){.address = word, .word = *word};
}

/* `beyond`: where the walk went from it; NULL: nowhere. */
static void lay_frame(mw_trail_t *trail, mw_trail_frame_t *frame, const mw_trail_frame_t *beyond) {
	unsigned slot = frame->code >> MW_RULE_INLINE_SLOT_SHIFT & MW_RULE_INLINE_SLOT_MASK;
	frame->is_own = mw_walk_is_own(frame->pc);
	frame->checks = 0;
	frame->fp_matters = false;
	frame->objects = (uint8_t)(frame->object ? 1u << frame->object : 0);
	if (!beyond)
		return;
	frame->checks = beyond->checks;
	frame->objects |= beyond->objects;
	add_check(trail, frame, beyond->sp, 0);
	if (slot && beyond->fp_matters)
		add_check(trail, frame, beyond->sp, slot);
	frame->fp_matters = frame->code & MW_RULE_INLINE_BY_FP || (!slot && beyond->fp_matters);
}

/* Irregular bits, of the fraction of a square root. */
#define SUM_START 0x510e527fade682d1u

/* The fresh frames follow the first `kept`. */
static void lay(mw_trail_t *trail, unsigned kept, unsigned fresh) {
	if (fresh == 0 && kept == trail->count)
		return;
	trail->count = 0;
	trail->serial++;
	trail->memo = 0;
	trail->kept = kept;
	if (kept + fresh > MW_TRAIL_FRAMES)
		return;
	uint64_t sum = kept ? trail->sums[kept - 1] : SUM_START;
	for (unsigned i = fresh; i-- > 0; kept++) {
		mw_trail_frame_t *frame = &trail->frames[kept];
		*frame = trail->fresh[i];
		lay_frame(trail, frame, kept ? frame - 1 : NULL);
		if (frame->is_own)
			sum = 0;
		else if (sum != 0 && frame->pc != 0)
			sum = mw_recall_take_in(sum, frame->pc);
		trail->sums[kept] = sum;
		trail->births[kept] = trail->serial;
	}
	trail->count = kept;
}

/* Frames `first` to `last` were on the trail, but lead elsewhere now. */
static progress_t leave(follower_t *f, unsigned first, unsigned last) {
	for (unsigned i = first + 1; i-- > last;) {
		if (!has_room(f))
			return STUCK;
		f->trail->fresh[f->fresh++] = f->trail->frames[i];
	}
	return MW_LIKELY(f->regs.pc != 0) ? CHANGED : end_at_zero(f);
}

static progress_t follow(follower_t *f) {
	const mw_trail_frame_t *frames = f->trail->frames;
	unsigned ahead = f->trail->count; /* frames of the trail that the walk may come to */
	for (;;) {
		while (ahead > 0 && frames[ahead - 1].sp < f->regs.sp)
			ahead--;
		unsigned kept = 0;
		progress_t progress;
		if (ahead > 0 && mw_trail_is_met(&frames[ahead - 1], &f->regs)) {
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
			lay(f->trail, kept, f->fresh);
			return DONE;
		}
	}
}

mw_walk_outcome_t mw_trail_follow(mw_trail_t *trail, mw_walk_t *walk, mw_os_regs_t *regs,
				  uint64_t *pcs, unsigned max_depth, mw_unwind_result_t *result) {
	follower_t f = {.trail = trail,
			.walk = walk,
			.pcs = pcs,
			.max_depth = max_depth,
			.may_leave_out = result->written == 0,
			.own_left = MW_WALK_OWN_FRAMES_MAX,
			.regs = *regs};
	progress_t progress = follow(&f);
	*regs = f.regs;
	result->depth = f.depth;
	result->written = f.written;
	if (progress != DONE)
		return f.regs.pc == 0 ? MW_WALK_END : MW_WALK_ON;
	result->serial = trail->count ? trail->serial : 0;
	result->memo = trail->memo;
	result->sum = trail->count ? trail->sums[trail->count - 1] : 0;
	return MW_WALK_END;
}

void mw_trail_write_rest(const mw_trail_t *trail, const mw_unwind_result_t *walk, uint64_t *pcs) {
	unsigned outermost = trail->frames[0].pc == 0;
	for (unsigned i = walk->written; i < walk->depth; i++)
		pcs[i] = trail->frames[outermost + walk->depth - 1 - i].pc;
}

void mw_trail_note(mw_trail_t *trail, uint64_t memo) {
	unsigned left = trail->count ? trail->frames[trail->count - 1].objects : 0;
	trail->place_count = 0;
	for (unsigned i = trail->count; left != 0;) {
		unsigned object = trail->frames[--i].object;
		if (object == 0 || !(left & 1u << object))
			continue;
		left &= ~(1u << object);
		trail->places[trail->place_count++] =
			(mw_trail_place_t){.pc = trail->frames[i].pc, .object = object};
	}
	/* Of its upper half 0 says that there is no such code. */
	trail->memo = trail->place_count > 0 && memo >> 32 == 0 ? 0 : memo;
	if (trail->memo != 0)
		mw_branch_keep(trail);
}

/* From the leaf on: what lies further out is this stack's as long as all before it are there. */
bool mw_trail_are_objects_there(const mw_trail_t *trail, const mw_trail_place_t *places,
				unsigned count) {
	for (unsigned i = 0; i < count; i++)
		if (!mw_os_object_is_there(&trail->objects[places[i].object - 1], places[i].pc - 1))
			return false;
	return true;
}
