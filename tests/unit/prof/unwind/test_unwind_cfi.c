/* SPDX-License-Identifier: MIT
 * test_unwind_cfi.c -- unwind tables built by hand, and damaged ones: every byte sits right before
 * or right behind an unmapped page, so a read outside of the area ends the test. */
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#include "base/rng.h"
#include "os/platform/arch.h"
#include "os/unwind/object.h"
#include "prof/unwind/cfi/cfi.h"
#include "prof/unwind/cfi/cfi_expr.h"
#include "test.h"

/* The machine's numbers of the registers that rules know.  The comments use x86-64's names: rbp,
 * rsp and the return address are 6, 7 and 16 there. */
enum { FP = MW_OS_DWARF_FP, SP = MW_OS_DWARF_SP, RA = MW_OS_HAS_LINK_REGISTER ? 30 : 16 };
/* DW_OP_breg<n>: that register and an offset. */
enum { BY_FP = 0x70 + FP, BY_SP = 0x70 + SP, BY_RA = 0x70 + RA };

enum { PAGE = 4096, ROOM = 4 * PAGE, FUNCTION_BYTES = 0x1000, FUNCTIONS = 5 };

/* --- a writer of tables -------------------------------------------------------------------------
 */

typedef struct writer {
	uint8_t *start, *at;
} writer_t;

static void put(writer_t *w, uint64_t value, unsigned bytes) {
	memcpy(w->at, &value, bytes);
	w->at += bytes;
}

static void put_bytes(writer_t *w, const void *bytes, size_t count) {
	memcpy(w->at, bytes, count);
	w->at += count;
}

/* Leaves room for the length; put_end() fills it in. */
static uint8_t *put_start(writer_t *w) {
	uint8_t *length = w->at;
	put(w, 0, 4);
	return length;
}

static void put_end(writer_t *w, uint8_t *length) {
	while ((w->at - w->start) % 8 != 0)
		put(w, 0, 1); /* DW_CFA_nop */
	uint32_t bytes = (uint32_t)(w->at - length - 4);
	memcpy(length, &bytes, 4);
}

typedef struct tables {
	mw_cfi_area_t area;
	const uint8_t *hdr;
	uintptr_t
		text; /* FUNCTIONS functions of FUNCTION_BYTES each, with holes of the same size */
	uint8_t *fde[FUNCTIONS];
} tables_t;

/* Pages with an unmapped one on each side. */
static uint8_t *guarded_pages(void) {
	uint8_t *pages = mmap(NULL, ROOM + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	CHECK(mprotect(pages + PAGE, ROOM, PROT_READ | PROT_WRITE) == 0);
	return pages + PAGE;
}

/* CFA = rsp + 8, return address at CFA - 8: what every compiler starts with. */
static const uint8_t usual_start[] = {0x0c, SP, 8, 0x80 | RA, 1};

static uint8_t *put_cie(writer_t *w, const char *letters, const uint8_t *initial, size_t bytes) {
	uint8_t *length = put_start(w);
	put(w, 0, 4);
	put(w, 1, 1);
	put_bytes(w, letters, strlen(letters) + 1);
	put(w, 1, 1);    /* code alignment */
	put(w, 0x78, 1); /* data alignment -8 */
	put(w, RA, 1);   /* return address column */
	put(w, 1, 1);    /* augmentation: one byte */
	put(w, 0x1b, 1); /* addresses are 4 bytes, relative to their place */
	put_bytes(w, initial, bytes);
	put_end(w, length);
	return length;
}

static uint8_t *put_fde(writer_t *w, const uint8_t *cie, uintptr_t pc, const uint8_t *program,
			size_t bytes) {
	uint8_t *length = put_start(w);
	put(w, (uint64_t)(w->at - cie), 4);
	put(w, pc - (uintptr_t)w->at, 4);
	put(w, FUNCTION_BYTES, 4);
	put(w, 0, 1); /* no augmentation data */
	put_bytes(w, program, bytes);
	put_end(w, length);
	return length;
}

/* Header, table, one CIE, and FUNCTIONS times the same program, from `at` on. */
static tables_t make_tables(uint8_t *at, const char *letters, const uint8_t *initial,
			    size_t initial_bytes, const uint8_t *program, size_t program_bytes) {
	tables_t tables = {.hdr = at, .text = ((uintptr_t)at & ~(uintptr_t)0xfffff) + 0x1000000};
	writer_t w = {at, at};
	put(&w, 0x3b031b01, 4); /* version 1, encodings pcrel sdata4, udata4, datarel sdata4 */
	put(&w, 0, 4);
	put(&w, FUNCTIONS, 4);
	uint8_t *table = w.at;
	w.at += FUNCTIONS * 8 + 4;
	uint8_t *cie = put_cie(&w, letters, initial, initial_bytes);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		uintptr_t pc = tables.text + (uintptr_t)i * 2 * FUNCTION_BYTES;
		tables.fde[i] = put_fde(&w, cie, pc, program, program_bytes);
		writer_t row = {table, table + i * 8};
		put(&row, pc - (uintptr_t)at, 4);
		put(&row, (uint64_t)(tables.fde[i] - at), 4);
	}
	put(&w, 0, 4); /* the end of .eh_frame */
	tables.area = (mw_cfi_area_t){at, w.at};
	return tables;
}

/* The rule at an offset into the second function. */
static mw_rule_t rule_at(const tables_t *tables, unsigned offset) {
	uintptr_t pc = tables->text + 2 * FUNCTION_BYTES + offset;
	mw_cfi_fde_t fde;
	const uint8_t *at = mw_cfi_search(&tables->area, tables->hdr, pc);
	if (!at || !mw_cfi_parse(&tables->area, at, &fde) || pc < fde.pc_lo || pc >= fde.pc_hi)
		return (mw_rule_t){.kind = MW_RULE_NONE};
	return mw_cfi_rule(&fde, pc);
}

#define TABLES(letters, program)                                                                   \
	make_tables(pages, letters, usual_start, sizeof(usual_start), program, sizeof(program))

static uint8_t *pages;

/* --- what must come out --------------------------------------------------------------------------
 */

static void check_plain(mw_rule_t rule, mw_rule_base_t base, int cfa_offset, int fp_offset) {
	CHECK_EQ(rule.kind, MW_RULE_PLAIN);
	CHECK_EQ(rule.cfa_base, base);
	CHECK_EQ(rule.cfa_offset, cfa_offset);
	CHECK_EQ(rule.ra_base, MW_BASE_CFA);
	CHECK_EQ(rule.ra_offset, -8);
	CHECK_EQ(rule.fp_base, fp_offset ? MW_BASE_CFA : MW_BASE_SAME);
	CHECK_EQ(rule.fp_offset, fp_offset);
}

static void test_frame_pointer_function(void) {
	const uint8_t program[] = {
		0x41,      0x0e, 16,             /* +1: push %rbp; CFA = rsp + 16 */
		0x80 | FP, 2,                    /* rbp at CFA - 16 */
		0x43,      0x0d, FP,             /* +4: mov %rsp, %rbp; CFA = rbp + 16 */
		0x02,      0x40, 0x0a,           /* +68: remember */
		0x0c,      SP,   8,              /* leave; CFA = rsp + 8 */
		0xc0 | FP,                       /* rbp as it was */
		0x41,      0x0b,                 /* +69: ret; what follows is as before */
		0x03,      0,    2,    0x0e, 24, /* +581: another offset */
	};
	tables_t tables = TABLES("zR", program);
	check_plain(rule_at(&tables, 0), MW_BASE_SP, 8, 0);
	check_plain(rule_at(&tables, 1), MW_BASE_SP, 16, -16);
	check_plain(rule_at(&tables, 3), MW_BASE_SP, 16, -16);
	check_plain(rule_at(&tables, 4), MW_BASE_FP, 16, -16);
	check_plain(rule_at(&tables, 67), MW_BASE_FP, 16, -16);
	check_plain(rule_at(&tables, 68), MW_BASE_SP, 8, 0);
	check_plain(rule_at(&tables, 69), MW_BASE_FP, 16, -16);
	check_plain(rule_at(&tables, 581), MW_BASE_FP, 24, -16);
	check_plain(rule_at(&tables, FUNCTION_BYTES - 1), MW_BASE_FP, 24, -16);
	/* The holes between functions. */
	CHECK_EQ(rule_at(&tables, FUNCTION_BYTES).kind, MW_RULE_NONE);
	CHECK_EQ(rule_at(&tables, (unsigned)-1).kind, MW_RULE_NONE);
	CHECK(!mw_cfi_search(&tables.area, tables.hdr, tables.text - 1));
}

/* The last function at or below an address, in tables of any length. */
static void test_search(void) {
	const uint8_t program[] = {0x00};
	tables_t tables = TABLES("zR", program);
	for (uint32_t count = 0; count <= FUNCTIONS; count++) {
		memcpy((uint8_t *)(uintptr_t)tables.hdr + 8, &count, sizeof count);
		for (unsigned i = 0; i < FUNCTIONS; i++) {
			uintptr_t pc = tables.text + (uintptr_t)i * 2 * FUNCTION_BYTES;
			const uint8_t *fde = NULL;
			if (count > 0)
				fde = tables.fde[i < count ? i : count - 1];
			CHECK(mw_cfi_search(&tables.area, tables.hdr, pc) == fde);
			CHECK(mw_cfi_search(&tables.area, tables.hdr,
					    pc + 2 * FUNCTION_BYTES - 1) == fde);
		}
		CHECK(!mw_cfi_search(&tables.area, tables.hdr, tables.text - 1));
	}
}

static void test_other_instructions(void) {
	const uint8_t program[] = {
		0x13, 0x7c,              /* def_cfa_offset_sf -4 * -8 = 32 */
		0x05, FP,   3,           /* offset_extended rbp 24 */
		0x41, 0x12, FP, 0x7e,    /* +1: def_cfa_sf rbp, -2 * -8 */
		0x11, FP,   2,           /* offset_extended_sf rbp 2 * -8 */
		0x41, 0x2f, FP, 0x02,    /* +2: GNU_negative_offset_extended: the other way */
		0x41, 0x08, FP,          /* +3: same_value rbp */
		0x2e, 0x10,              /* GNU_args_size */
		0x41, 0x07, FP,          /* +4: undefined rbp */
		0x41, 0x09, FP, 3,       /* +5: rbp is in rbx */
		0x41, 0x06, FP,          /* +6: restore_extended rbp */
		0x04, 16,   0,  0,    0, /* +22 */
		0x07, RA,                /* undefined return address: the outermost frame */
	};
	tables_t tables = TABLES("zR", program);
	check_plain(rule_at(&tables, 0), MW_BASE_SP, 32, -24);
	check_plain(rule_at(&tables, 1), MW_BASE_FP, 16, -16);
	check_plain(rule_at(&tables, 2), MW_BASE_FP, 16, 16);
	check_plain(rule_at(&tables, 3), MW_BASE_FP, 16, 0);
	CHECK_EQ(rule_at(&tables, 4).fp_base, MW_BASE_UNDEFINED);
	CHECK_EQ(rule_at(&tables, 5).fp_base, MW_BASE_UNDEFINED);
	CHECK_EQ(rule_at(&tables, 5).kind, MW_RULE_GENERAL);
	check_plain(rule_at(&tables, 6), MW_BASE_FP, 16, 0);
	CHECK_EQ(rule_at(&tables, 22).kind, MW_RULE_END);
}

static void test_plt(void) {
	/* As bfd writes it: rsp + 8, and 8 more once the entry has pushed its index. */
	const uint8_t program[] = {0x0e,  16, 0x46, 0x0e, 24,   0x4a, 0x0f, 11,   BY_SP, 8,
				   BY_RA, 0,  0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
	tables_t tables = TABLES("zR", program);
	check_plain(rule_at(&tables, 0), MW_BASE_SP, 16, 0);
	check_plain(rule_at(&tables, 6), MW_BASE_SP, 24, 0);
	/* A machine whose calls push nothing has no such entries, and its PC no number. */
	if (MW_OS_HAS_LINK_REGISTER) {
		CHECK_EQ(rule_at(&tables, 16).kind, MW_RULE_LOST);
		return;
	}
	check_plain(rule_at(&tables, 16), MW_BASE_SP, 8, 0);
	check_plain(rule_at(&tables, 26), MW_BASE_SP, 8, 0);
	check_plain(rule_at(&tables, 27), MW_BASE_SP, 16, 0);
	check_plain(rule_at(&tables, 31), MW_BASE_SP, 16, 0);
	check_plain(rule_at(&tables, 32), MW_BASE_SP, 8, 0);
}

static void test_realigned_stack(void) {
	/* gcc's: CFA = *(rbp - 8); rbp at rbp + 0.  Before that the CFA is r10: beyond a rule. */
	const uint8_t program[] = {0x0c, 10,   0,     0x41,  0x10, FP,   2,    BY_FP, 0,
				   0x0f, 3,    BY_FP, 0x78,  0x06, 0x41, 0x0c, 10,    0,
				   0x41, 0x0f, 5,     BY_SP, 16,   0x06, 0x23, 8};
	tables_t tables = TABLES("zR", program);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_LOST);
	mw_rule_t rule = rule_at(&tables, 1);
	CHECK_EQ(rule.kind, MW_RULE_GENERAL);
	CHECK_EQ(rule.cfa_base, MW_BASE_FP_LOAD);
	CHECK_EQ(rule.cfa_offset, -8);
	CHECK_EQ(rule.cfa_add, 0);
	CHECK_EQ(rule.fp_base, MW_BASE_FP);
	CHECK_EQ(rule.fp_offset, 0);
	CHECK_EQ(rule.ra_base, MW_BASE_CFA);
	/* OpenSSL's: CFA = *(rsp + 16) + 8. */
	rule = rule_at(&tables, 3);
	CHECK_EQ(rule.cfa_base, MW_BASE_SP_LOAD);
	CHECK_EQ(rule.cfa_offset, 16);
	CHECK_EQ(rule.cfa_add, 8);
}

static void test_signal_frame(void) {
	/* glibc's __restore_rt, the three columns: CFA, rbp, rip in the ucontext. */
	const uint8_t program[] = {0x0f,  4,    BY_SP, 0xa0, 0x01, 0x06, 0x10,  FP,   3,
				   BY_SP, 0xf8, 0x00,  0x10, RA,   3,    BY_SP, 0xa8, 0x01};
	tables_t tables = TABLES("zRS", program);
	mw_rule_t rule = rule_at(&tables, 0);
	CHECK_EQ(rule.kind, MW_RULE_GENERAL);
	CHECK_EQ(rule.is_signal, 1);
	CHECK_EQ(rule.cfa_base, MW_BASE_SP_LOAD);
	CHECK_EQ(rule.cfa_offset, 160);
	CHECK_EQ(rule.fp_base, MW_BASE_SP);
	CHECK_EQ(rule.fp_offset, 120);
	CHECK_EQ(rule.ra_base, MW_BASE_SP);
	CHECK_EQ(rule.ra_offset, 168);
}

static void test_beyond_rules(void) {
	const uint8_t val_expression[] = {0x16, RA, 2, BY_SP, 8};
	tables_t tables = TABLES("zR", val_expression);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_LOST);
	const uint8_t too_far[] = {0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f};
	tables = TABLES("zR", too_far);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_LOST);
	const uint8_t unknown[] = {0x3f, 0};
	tables = TABLES("zR", unknown);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_LOST);
	const uint8_t nothing_remembered[] = {0x0b};
	tables = TABLES("zR", nothing_remembered);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_LOST);
	uint8_t remembers[20];
	memset(remembers, 0x0a, sizeof(remembers));
	tables = TABLES("zR", remembers);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_LOST);
	const uint8_t nop[] = {0};
	tables = TABLES("eh", nop);
	CHECK_EQ(rule_at(&tables, 0).kind, MW_RULE_NONE);
}

static void test_expressions(void) {
	static const struct {
		uint8_t bytes[12];
		unsigned count;
		bool is_good;
		mw_expr_value_t value;
	} cases[] = {
		{{BY_SP, 0x78}, 2, true, {MW_BASE_SP, -8, 0}},
		{{BY_FP, 8, 0x12, 0x1c}, 4, false, {0}}, /* fp - fp: not base + offset */
		{{0x08, 200, BY_SP, 0, 0x22}, 5, true, {MW_BASE_SP, 200, 0}},
		{{0x09, 0xff, BY_SP, 0, 0x22}, 5, true, {MW_BASE_SP, -1, 0}},
		{{BY_SP, 0, 0x0b, 0xfe, 0xff, 0x22}, 6, true, {MW_BASE_SP, -2, 0}},
		{{BY_SP, 0, 0x0c, 1, 0, 0, 0, 0x1c}, 8, true, {MW_BASE_SP, -1, 0}},
		{{BY_SP, 0, 0x11, 0x7d, 0x22}, 5, true, {MW_BASE_SP, -3, 0}},
		{{BY_SP, 0, 0x06, 0x06}, 4, false, {0}},
		{{0x73, 0}, 2, false, {0}}, /* rbx */
		{{0x22}, 1, false, {0}},
		{{BY_SP}, 1, false, {0}},
		{{0}, 0, false, {0}},
		{{0x30, 0x31, 0x32, 0x33, 0x34, 0x35, 0x36, 0x37, 0x38}, 9, false, {0}},
	};
	for (unsigned i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		uint8_t *end = pages + ROOM;
		memcpy(end - cases[i].count, cases[i].bytes, cases[i].count);
		mw_expr_value_t value;
		bool is_good =
			mw_expr_reduce(mw_reader(end - cases[i].count, end), false, 0, &value);
		CHECK_EQ(is_good, cases[i].is_good);
		if (!is_good)
			continue;
		CHECK_EQ(value.base, cases[i].value.base);
		CHECK_EQ(value.offset, cases[i].value.offset);
		CHECK_EQ(value.add, cases[i].value.add);
	}
}

static void test_digest(void) {
	const uint8_t program[] = {0x41, 0x0e, 16, 0x80 | FP, 2};
	tables_t tables = TABLES("zR", program);
	uint64_t before = mw_cfi_digest(&tables.area, tables.fde[1]);
	CHECK(before != 0);
	CHECK(mw_cfi_digest(&tables.area, tables.fde[0]) != before);
	/* Every bit of the two records counts, one record's length included. */
	uint8_t *cie = pages + 12 + FUNCTIONS * 8 + 4;
	uint8_t *const starts[] = {cie, tables.fde[1]};
	uint8_t *const ends[] = {tables.fde[0], tables.fde[2]};
	for (unsigned k = 0; k < 2; k++)
		for (uint8_t *at = starts[k]; at < ends[k]; at++)
			for (unsigned bit = 0; bit < 8; bit++) {
				*at ^= (uint8_t)(1u << bit);
				CHECK(mw_cfi_digest(&tables.area, tables.fde[1]) != before);
				*at ^= (uint8_t)(1u << bit);
			}
	CHECK(mw_cfi_digest(&tables.area, tables.fde[1]) == before);
	CHECK_EQ(mw_cfi_digest(&tables.area, tables.area.hi), 0);
}

/* --- hostile bytes ------------------------------------------------------------------------------
 */

static void use_everything(const tables_t *tables) {
	for (unsigned offset = 0; offset < FUNCTION_BYTES; offset += 97)
		(void)rule_at(tables, offset);
	for (unsigned i = 0; i < FUNCTIONS; i++) {
		mw_cfi_fde_t fde;
		(void)mw_cfi_digest(&tables->area, tables->fde[i]);
		if (mw_cfi_parse(&tables->area, tables->fde[i], &fde))
			(void)mw_cfi_rule(&fde, fde.pc_lo);
	}
}

static void test_mutations(void) {
	const uint8_t program[] = {0x41, 0x0e, 16, 0x80 | 6, 2,    0x43, 0x0d, 6, 0x02, 0x40, 0x0a,
				   0x0c, 7,    8,  0xc0 | 6, 0x41, 0x0b, 0x10, 6, 2,    0x76, 0,
				   0x41, 0x0f, 5,  0x77,     16,   0x06, 0x23, 8};
	tables_t measured = TABLES("zR", program);
	size_t bytes = (size_t)(measured.area.hi - measured.area.lo);
	mw_rng_t rng;
	mw_rng_init(&rng, 42);
	for (unsigned round = 0; round < 200000 / TEST_SLOWNESS; round++) {
		/* Ends at the unmapped page, or begins behind one. */
		uint8_t *at = round % 2 ? pages : pages + ROOM - bytes;
		tables_t tables = make_tables(at, round % 3 ? "zR" : "zRS", usual_start,
					      sizeof(usual_start), program, sizeof(program));
		unsigned changes = 1 + (unsigned)(mw_rng_next(&rng) % 4);
		for (unsigned i = 0; i < changes; i++) {
			uint64_t random = mw_rng_next(&rng);
			at[random % bytes] = (uint8_t)(random >> 32);
		}
		/* Cut short now and then. */
		if (round % 5 == 0)
			tables.area.hi = tables.area.lo + mw_rng_next(&rng) % bytes;
		use_everything(&tables);
	}
}

static void test_random_programs(void) {
	uint8_t program[64], initial[16];
	mw_rng_t rng;
	mw_rng_init(&rng, 43);
	for (unsigned round = 0; round < 100000 / TEST_SLOWNESS; round++) {
		for (unsigned i = 0; i < sizeof(program); i++)
			program[i] = (uint8_t)mw_rng_next(&rng);
		for (unsigned i = 0; i < sizeof(initial); i++)
			initial[i] = (uint8_t)mw_rng_next(&rng);
		tables_t tables = make_tables(pages, "zR", initial, round % sizeof(initial),
					      program, sizeof(program));
		use_everything(&tables);
		mw_expr_value_t value;
		(void)mw_expr_reduce(mw_reader(program, program + sizeof(program)), round % 2,
				     tables.text, &value);
	}
}

/* --- the tables of this very program and of libc ------------------------------------------------
 */

static unsigned walk_table(const mw_os_object_t *object, unsigned *lost) {
	mw_cfi_area_t area = {(const uint8_t *)object->data_lo, (const uint8_t *)object->data_hi};
	const uint8_t *hdr = (const uint8_t *)object->eh_frame_hdr;
	uint32_t count;
	memcpy(&count, hdr + 8, sizeof(count));
	for (uint32_t i = 0; i < count; i++) {
		int32_t offset;
		memcpy(&offset, hdr + 12 + 8 * (size_t)i, sizeof(offset));
		uintptr_t start = object->eh_frame_hdr + (uintptr_t)(intptr_t)offset;
		mw_cfi_fde_t fde;
		const uint8_t *at = mw_cfi_search(&area, hdr, start);
		CHECK(at != NULL);
		CHECK(mw_cfi_parse(&area, at, &fde));
		CHECK_EQ(fde.pc_lo, start);
		for (uintptr_t pc = fde.pc_lo; pc < fde.pc_hi; pc += TEST_SLOWNESS)
			*lost += mw_cfi_rule(&fde, pc).kind == MW_RULE_LOST;
	}
	return count;
}

static void test_real_tables(void) {
	const void *const inside[] = {
		(const void *)test_real_tables,
#ifdef __GLIBC__ /* musl's libc has no tables */
		(const void *)qsort,
#endif
	};
	mw_os_object_start();
	for (unsigned i = 0; i < sizeof inside / sizeof *inside; i++) {
		mw_os_object_t object;
		unsigned lost = 0;
		CHECK(mw_os_object_find((uintptr_t)inside[i], &object));
		CHECK(object.is_permanent);
		CHECK(object.eh_frame_hdr != 0);
		CHECK(walk_table(&object, &lost) > 10);
		printf("# bytes of code beyond rules: %u of %zu\n", lost,
		       (size_t)(object.text_hi - object.text_lo));
		/* Prologues that realign the stack; libc has 0.01 % of such. */
		CHECK(lost < (object.text_hi - object.text_lo) / 1000);
	}
}

int main(void) {
	pages = guarded_pages();
	RUN(test_frame_pointer_function);
	RUN(test_search);
	RUN(test_other_instructions);
	RUN(test_plt);
	RUN(test_realigned_stack);
	RUN(test_signal_frame);
	RUN(test_beyond_rules);
	RUN(test_expressions);
	RUN(test_digest);
	RUN(test_mutations);
	RUN(test_random_programs);
	RUN(test_real_tables);
	return 0;
}
