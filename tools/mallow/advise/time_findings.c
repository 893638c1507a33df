/* SPDX-License-Identifier: MIT
 * time_findings.c -- findings about the time that allocations take: copies of what grows, blocks
 * that are freed at once, blocks that other threads free.  Their share is of the process's CPU time
 * and an estimate by the costs below, so that programs that allocate seldom get no finding. */
#include "advise/detect.h"

/* A pair of malloc and free with the first access to the block. */
#define PAIR_NS 20.0
/* The cache line of a block that another processor wrote. */
#define TRANSFER_NS 50.0
/* Copying a byte at 5 GB/s: both places lie outside the caches when blocks are large. */
#define COPY_NS_PER_BYTE 0.2

/* Least samples that make a size a rung, and least rungs. */
#define RUNG_SAMPLES_MIN 4
#define RUNGS_MIN 3

static double time_share(const mw_facts_t *facts, double ns) {
	return facts->cpu_ns > 0 ? ns / (double)facts->cpu_ns : 0;
}

typedef struct growth {
	double copies, bytes;
	int64_t largest_bytes;
} growth_t;

/* Counts the copies between neighbouring sizes: what reached a size was copied from the size
 * before.  Returns false unless the sizes are those of something that grows: as many blocks of a
 * size as half of those of the size before, several times. */
static bool find_growth(const mw_fact_function_t *f, growth_t *out) {
	const mw_fact_rung_t *before = NULL;
	size_t steps = 0;
	int64_t first_bytes = 0;
	*out = (growth_t){0};
	for (size_t i = 0; i < f->rung_count; i++) {
		const mw_fact_rung_t *rung = &f->rungs[i];
		if (rung->samples < RUNG_SAMPLES_MIN)
			continue;
		if (before != NULL) {
			double copies = (double)(rung->objects < before->objects ? rung->objects
										 : before->objects);
			steps += 2 * rung->objects >= before->objects;
			out->copies += copies;
			out->bytes += copies * (double)before->block_bytes;
		} else {
			first_bytes = (int64_t)rung->block_bytes;
		}
		out->largest_bytes = (int64_t)rung->block_bytes;
		before = rung;
	}
	return steps + 1 >= RUNGS_MIN && out->largest_bytes >= 4 * first_bytes;
}

void mw_detect_reserve(const mw_facts_t *facts, mw_findings_t *findings) {
	for (size_t i = 0; i < facts->function_count; i++) {
		const mw_fact_function_t *f = &facts->functions[i];
		growth_t growth;
		if (f->grows == NULL || !find_growth(f, &growth))
			continue;
		double ns = growth.copies * PAIR_NS + growth.bytes * COPY_NS_PER_BYTE;
		mw_finding_add(findings,
			       &(mw_finding_t){.kind = MW_FINDING_reserve,
					       .function = f->name,
					       .share = time_share(facts, ns),
					       .bytes = (int64_t)growth.bytes,
					       .objects = (int64_t)growth.copies},
			       "%s made %s larger by copying it %s times, %s in all (%s of all "
			       "allocated bytes), up to %s: reserve the final size first; the time "
			       "assumes %g ns a copy and %g ns a byte",
			       f->name, f->grows, mw_say_count((int64_t)growth.copies),
			       mw_say_bytes((int64_t)growth.bytes),
			       mw_say_share(growth.bytes, (double)facts->alloc_bytes),
			       mw_say_bytes(growth.largest_bytes), PAIR_NS, COPY_NS_PER_BYTE);
	}
}

void mw_detect_freed_at_once(const mw_facts_t *facts, mw_findings_t *findings) {
	for (size_t i = 0; i < facts->function_count; i++) {
		const mw_fact_function_t *f = &facts->functions[i];
		if (f->freed_at_once == 0 || f->alloc_objects <= 0 ||
		    2 * f->freed_at_once < f->alloc_objects ||
		    !mw_fact_is_certain(f->alloc_samples, f->alloc_objects))
			continue;
		int64_t each = (f->alloc_bytes + f->alloc_objects / 2) / f->alloc_objects;
		mw_finding_add(
			findings,
			&(mw_finding_t){
				.kind = MW_FINDING_freed_at_once,
				.function = f->name,
				.share = time_share(facts, PAIR_NS * (double)f->freed_at_once),
				.bytes = each * f->freed_at_once,
				.objects = f->freed_at_once},
			"%s allocated %s blocks of %s on average that were freed within 10 us "
			"(%s of all blocks allocated): keep one buffer for all calls, or put it "
			"on the stack; the time assumes %g ns a block",
			f->name, mw_say_count(f->freed_at_once), mw_say_bytes(each),
			mw_say_share((double)f->freed_at_once, (double)facts->alloc_objects),
			PAIR_NS);
	}
}

void mw_detect_other_threads(const mw_facts_t *facts, mw_findings_t *findings) {
	for (size_t i = 0; i < facts->function_count; i++) {
		const mw_fact_function_t *f = &facts->functions[i];
		if (f->freed_elsewhere == 0 || 2 * f->freed_elsewhere < f->freed_objects ||
		    !mw_fact_is_certain(f->alloc_samples, f->alloc_objects))
			continue;
		mw_finding_add(
			findings,
			&(mw_finding_t){.kind = MW_FINDING_other_threads,
					.function = f->name,
					.share = time_share(
						facts, TRANSFER_NS * (double)f->freed_elsewhere),
					.objects = f->freed_elsewhere},
			"%s allocated %s blocks that another thread freed (%s of those of it that "
			"were freed): hand them back to be used again, or send several in one "
			"block; the time assumes %g ns a block",
			f->name, mw_say_count(f->freed_elsewhere),
			mw_say_share((double)f->freed_elsewhere, (double)f->freed_objects),
			TRANSFER_NS);
	}
}
