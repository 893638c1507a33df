/* SPDX-License-Identifier: MIT
 * process_findings.c -- findings about a whole process: stacks of threads, memory that it keeps
 * while it is idle, memory that it maps past malloc. */
#include "advise/detect.h"
#include "report/text/resident_text.h"

/* Less is what a thread may well use. */
#define STACK_BYTES_MIN ((uint64_t)256 << 10)

void mw_detect_stacks(const mw_facts_t *facts, mw_findings_t *findings) {
	for (size_t i = 0; i < facts->stack_count; i++) {
		const mw_fact_stacks_t *s = &facts->stacks[i];
		int64_t bytes = (int64_t)s->resident_bytes;
		if (s->resident_bytes < s->threads * STACK_BYTES_MIN ||
		    bytes < MW_FINDING_BYTES_MIN)
			continue;
		mw_finding_add(
			findings,
			&(mw_finding_t){.kind = MW_FINDING_stacks,
					.function = s->function,
					.share = mw_fact_share(bytes, mw_fact_memory(facts)),
					.bytes = bytes,
					.objects = (int64_t)s->threads},
			"%s thread%s (\"%s\")%s%s ha%s %s of stack resident, up to %s: a stack "
			"keeps what its deepest call used; put large arrays on the heap, or end "
			"threads that are not needed",
			mw_say_count((int64_t)s->threads), s->threads == 1 ? "" : "s", s->name,
			s->function != NULL ? " started in " : "",
			s->function != NULL ? s->function : "", s->threads == 1 ? "s" : "ve",
			mw_say_bytes(bytes), mw_say_bytes((int64_t)s->largest_bytes));
	}
}

void mw_detect_option(const mw_facts_t *facts, mw_findings_t *findings) {
	if (facts->kept_bytes < MW_FINDING_BYTES_MIN)
		return;
	mw_finding_add(
		findings,
		&(mw_finding_t){.kind = MW_FINDING_option,
				.share = mw_fact_share(facts->kept_bytes, mw_fact_memory(facts)),
				.bytes = facts->kept_bytes},
		"%s of free memory stayed resident for %s in which next to nothing was "
		"allocated: MALLOW_CONF=background_thread:true gives it back in time",
		mw_say_bytes(facts->kept_bytes), mw_say_time(facts->kept_ns));
}

void mw_detect_mapped(const mw_facts_t *facts, mw_findings_t *findings) {
	const char *arenas = facts->mapped_arenas;
	const char *variable = arenas != NULL ? mw_arenas_variable(arenas) : "";
	if (facts->mapped_bytes < MW_FINDING_BYTES_MIN)
		return;
	mw_finding_add(
		findings,
		&(mw_finding_t){.kind = MW_FINDING_mapped,
				.share = mw_fact_share(facts->mapped_bytes, mw_fact_memory(facts)),
				.bytes = facts->mapped_bytes},
		"%s are mapped by the program itself%s%s, past malloc: %s%s%s",
		mw_say_bytes(facts->mapped_bytes), arenas != NULL ? ", such as " : "",
		arenas != NULL ? arenas : "",
		facts->mapped_by_known ? "'mallow report --sample-type inuse_mapped' shows who "
					 "mapped them"
				       : "MALLOW_CONF=prof_mappings:true names who maps them",
		variable[0] != '\0' ? "; what is in them goes to malloc with " : "", variable);
}
