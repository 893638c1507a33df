/* SPDX-License-Identifier: MIT
 * test_detectors.c -- each detector on facts written down by hand: what it finds, and what it must
 * not say. */
#include "advise/advise.h"
#include "test.h"

#define MIB ((int64_t)1 << 20)
#define SECOND_NS ((int64_t)1000000000)

/* 100 MiB resident, 80 MiB in use, a minute that took ten seconds of CPU time. */
static mw_facts_t make_facts(mw_fact_function_t *functions, size_t function_count,
			     mw_fact_block_t *blocks, size_t block_count) {
	return (mw_facts_t){.functions = functions,
			    .function_count = function_count,
			    .blocks = blocks,
			    .block_count = block_count,
			    .alloc_objects = 200000000,
			    .alloc_bytes = 10000 * MIB,
			    .live_bytes = 80 * MIB,
			    .resident_bytes = 100 * MIB,
			    .cpu_ns = 10 * SECOND_NS,
			    .cpu_is_known = true,
			    .time_ns = 1060 * SECOND_NS,
			    .began_ns = 1000 * SECOND_NS};
}

/* Runs the detector and checks what it found: `count` findings, the first of `name`. */
static void check_found(mw_detector_t *detect, const mw_facts_t *facts, size_t count,
			const char *name, double share, const char *says) {
	mw_findings_t found = {0};
	detect(facts, &found);
	CHECK_EQ(found.count, count);
	if (count > 0) {
		CHECK_STR(found.all[0].function != NULL ? found.all[0].function : "", name);
		CHECK_NEAR(found.all[0].share, share, 0.002);
		if (strstr(found.all[0].text, says) == NULL)
			fprintf(stderr, "%s\n", found.all[0].text);
		CHECK(strstr(found.all[0].text, says) != NULL);
	}
	mw_findings_free(&found);
}
#define CHECK_NOTHING(detect, facts) check_found(detect, facts, 0, "", 0, "")

static void reserve(void) {
	/* A million vectors that doubled up to 4 KiB: 3 copies each. */
	mw_fact_rung_t doubling[] = {{512, 1000000, 900},
				     {1024, 1000000, 900},
				     {2048, 1000000, 900},
				     {4096, 900000, 900}};
	mw_fact_function_t f[] = {{.name = "collect_rows",
				   .grows = "a std::vector",
				   .rungs = doubling,
				   .rung_count = 4}};
	mw_facts_t facts = make_facts(f, 1, NULL, 0);
	double ns = 2900000 * 20.0 + 0.2 * (512e6 + 1024e6 + 0.9 * 2048e6);
	check_found(mw_detect_reserve, &facts, 1, "collect_rows", ns / 10e9,
		    "a std::vector larger by copying it 2.90M times, 3.15 GiB in all");
	check_found(mw_detect_reserve, &facts, 1, "collect_rows", ns / 10e9,
		    "; the time assumes 20 ns a copy and 0.2 ns a byte");
	/* Ten times the CPU time: not worth a word. */
	facts.cpu_ns *= 10;
	CHECK_NOTHING(mw_detect_reserve, &facts);
	facts.cpu_ns /= 10;
	/* What is allocated once in each of many sizes does not grow from one to the next. */
	for (size_t i = 1; i < 4; i++)
		doubling[i].objects = doubling[i - 1].objects / 5;
	CHECK_NOTHING(mw_detect_reserve, &facts);
	/* One size. */
	f[0].rung_count = 1;
	CHECK_NOTHING(mw_detect_reserve, &facts);
	/* Nothing between the function and malloc makes anything larger. */
	f[0].rung_count = 4;
	for (size_t i = 0; i < 4; i++)
		doubling[i].objects = 1000000;
	f[0].grows = NULL;
	CHECK_NOTHING(mw_detect_reserve, &facts);
}

static void freed_at_once(void) {
	mw_fact_function_t f[] = {{.name = "format_key",
				   .alloc_objects = 50000000,
				   .alloc_samples = 900,
				   .alloc_bytes = 50000000LL * 48,
				   .freed_objects = 50000000,
				   .freed_at_once = 49000000}};
	mw_facts_t facts = make_facts(f, 1, NULL, 0);
	check_found(mw_detect_freed_at_once, &facts, 1, "format_key", 49e6 * 20 / 10e9,
		    "49.0M blocks of 48 B on average that were freed within 10 us");
	check_found(mw_detect_freed_at_once, &facts, 1, "format_key", 49e6 * 20 / 10e9,
		    "; the time assumes 20 ns a block");
	/* Most live longer. */
	f[0].freed_at_once = 24000000;
	CHECK_NOTHING(mw_detect_freed_at_once, &facts);
	/* Seldom: a thousand a second. */
	f[0] = (mw_fact_function_t){.name = "format_key",
				    .alloc_objects = 60000,
				    .alloc_samples = 900,
				    .freed_objects = 60000,
				    .freed_at_once = 60000};
	CHECK_NOTHING(mw_detect_freed_at_once, &facts);
}

static void other_threads(void) {
	mw_fact_function_t f[] = {{.name = "make_job",
				   .alloc_objects = 9000000,
				   .alloc_samples = 900,
				   .freed_objects = 9000000,
				   .freed_elsewhere = 8900000}};
	mw_facts_t facts = make_facts(f, 1, NULL, 0);
	check_found(mw_detect_other_threads, &facts, 1, "make_job", 8.9e6 * 50 / 10e9,
		    "8.90M blocks that another thread freed");
	check_found(mw_detect_other_threads, &facts, 1, "make_job", 8.9e6 * 50 / 10e9,
		    "; the time assumes 50 ns a block");
	f[0].freed_elsewhere = 4000000;
	CHECK_NOTHING(mw_detect_other_threads, &facts);
}

static void fragmentation(void) {
	mw_fact_function_t f[] = {
		{.name = "dense", .live_bytes = 60 * MIB, .pinned_bytes = 10 * MIB},
		{.name = "open_session",
		 .live_bytes = 2 * MIB,
		 .live_objects = 20000,
		 .live_samples = 8,
		 .pinned_bytes = 30 * MIB}};
	mw_facts_t facts = make_facts(f, 2, NULL, 0);
	check_found(mw_detect_fragmentation, &facts, 1, "open_session", 0.3,
		    "keeps 30.0 MiB of free memory resident: its 20000 blocks in use, 2.00 MiB");
	/* Few samples of many blocks: they may be there by chance. */
	f[1].live_samples = 1;
	CHECK_NOTHING(mw_detect_fragmentation, &facts);
	/* The walk of the heap has found it, whoever keeps it. */
	facts.used_bytes = 3 * MIB;
	facts.free_between_bytes = 40 * MIB;
	check_found(
		mw_detect_fragmentation, &facts, 1, "", 0.4,
		"40.0 MiB of free memory stays resident between blocks in use, 3.00 MiB; few of "
		"these blocks are sampled, most of them allocated by open_session");
	facts.function_count = 0;
	check_found(mw_detect_fragmentation, &facts, 1, "", 0.4, "blocks are sampled");
	facts.function_count = 2;
	/* Most of it has a name. */
	f[1].live_samples = 8;
	check_found(mw_detect_fragmentation, &facts, 1, "open_session", 0.3, "30.0 MiB");
	/* Pages with more blocks in use than free ones. */
	f[1].live_samples = 1;
	facts.used_bytes = 41 * MIB;
	CHECK_NOTHING(mw_detect_fragmentation, &facts);
	facts.used_bytes = facts.free_between_bytes = 0;
	f[1].live_samples = 8;
	f[1].pinned_bytes = MIB / 2;
	CHECK_NOTHING(mw_detect_fragmentation, &facts);
}

/* Fills in a block of 1 MiB for each of these ages in seconds. */
static void set_ages(mw_fact_block_t *blocks, size_t count, const mw_facts_t *facts,
		     const int *ages) {
	for (size_t i = 0; i < count; i++)
		blocks[i] = (mw_fact_block_t){.usable_bytes = MIB,
					      .requested_bytes = MIB,
					      .objects = 1,
					      .bytes = MIB,
					      .samples = 1,
					      .made_ns = facts->time_ns - ages[i] * SECOND_NS,
					      .untouched_bytes = -1};
}

static void only_grows(void) {
	mw_fact_function_t f[] = {{.name = "remember",
				   .alloc_objects = 20,
				   .live_objects = 20,
				   .alloc_bytes = 20 * MIB,
				   .live_bytes = 20 * MIB}};
	mw_fact_block_t blocks[20];
	mw_facts_t facts = make_facts(f, 1, blocks, 20);
	set_ages(blocks, 20, &facts, (const int[]){58, 55, 52, 49, 46, 43, 40, 37, 34, 31,
						   28, 25, 22, 19, 16, 13, 10, 7,  4,  1});
	check_found(mw_detect_only_grows, &facts, 1, "remember", 0.2,
		    "holds 20.0 MiB in 20 blocks and frees hardly any (0 of 20); the last 15.0 s "
		    "added 5.00 MiB");
	/* Some are freed: they may have made room for younger ones. */
	f[0].freed_objects = 2;
	CHECK_NOTHING(mw_detect_only_grows, &facts);
	facts.grown_bytes = 6 * MIB;
	CHECK_NOTHING(mw_detect_only_grows, &facts);
	/* All that came in the second and third quarter is growth. */
	facts.grown_bytes = 10 * MIB;
	check_found(mw_detect_only_grows, &facts, 1, "remember", 0.2,
		    "holds 20.0 MiB in 20 blocks and keeps 20 of 20; the last 15.0 s added");
	f[0].freed_objects = 0;
	/* All is made at the start. */
	set_ages(blocks, 20, &facts, (const int[]){59, 59, 59, 59, 59, 58, 58, 58, 58, 58,
						   57, 57, 57, 57, 57, 56, 56, 56, 56, 56});
	CHECK_NOTHING(mw_detect_only_grows, &facts);
	/* A moment says nothing. */
	set_ages(blocks, 20, &facts, (const int[20]){0});
	facts.began_ns = facts.time_ns - 2 * SECOND_NS;
	CHECK_NOTHING(mw_detect_only_grows, &facts);
}

static void untouched(void) {
	mw_fact_function_t f[] = {{.name = "reserve_pool"}};
	mw_fact_block_t blocks[4];
	mw_facts_t facts = make_facts(f, 1, blocks, 4);
	set_ages(blocks, 4, &facts, (const int[]){9, 9, 9, 9});
	for (size_t i = 0; i < 4; i++) {
		blocks[i].bytes = 10 * MIB; /* a sample stands for ten */
		blocks[i].objects = 10;
		blocks[i].untouched_bytes = MIB * 9 / 10;
	}
	check_found(mw_detect_untouched, &facts, 1, "reserve_pool", 36.0 / 80,
		    "36.0 MiB that were never touched, of 40.0 MiB in 40 blocks");
	for (size_t i = 0; i < 4; i++)
		blocks[i].untouched_bytes = MIB / 10;
	CHECK_NOTHING(mw_detect_untouched, &facts);
	/* Just allocated, or not known. */
	set_ages(blocks, 4, &facts, (const int[]){0, 0, 0, 9});
	blocks[0].untouched_bytes = blocks[1].untouched_bytes = MIB;
	blocks[0].bytes = blocks[1].bytes = blocks[3].bytes = 10 * MIB;
	CHECK_NOTHING(mw_detect_untouched, &facts);
}

static void sizes(void) {
	static const struct {
		int64_t requested, usable, below;
	} ways[] = {
		{1032, 1280, 1024},
		{129, 160, 128},
		{33, 48, 32},
		{4100, 5120, 4096},
		/* Too far above, at the upper end, exact, a class that the library has not, large.
		 */
		{1200, 1280, 0},
		{1280, 1280, 0},
		{140, 160, 0},
		{1100, 1104, 0},
		{70000, 73728, 0},
	};
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		mw_fact_function_t f[] = {{.name = "make_node", .live_bytes = 50 * MIB}};
		mw_fact_block_t blocks[] = {{.usable_bytes = ways[i].usable,
					     .requested_bytes = ways[i].requested,
					     .objects = 1000,
					     .bytes = 40 * MIB,
					     .samples = 80,
					     .untouched_bytes = -1}};
		mw_facts_t facts = make_facts(f, 1, blocks, 1);
		double saved = (double)(ways[i].usable - ways[i].below) / (double)ways[i].usable;
		if (ways[i].below == 0)
			CHECK_NOTHING(mw_detect_sizes, &facts);
		else
			check_found(mw_detect_sizes, &facts, 1, "make_node", saved * 40 / 80,
				    "bytes less would make them");
		/* Requests of many sizes: a few of them lie just above a class by chance. */
		f[0].live_bytes = 81 * MIB;
		CHECK_NOTHING(mw_detect_sizes, &facts);
	}
}

static void duplicates(void) {
	mw_fact_function_t f[] = {{.name = "load_table"}, {.name = "load_other"}};
	mw_fact_block_t blocks[6];
	mw_facts_t facts = make_facts(f, 2, blocks, 6);
	set_ages(blocks, 6, &facts, (const int[6]){0});
	blocks[5].function = 1;
	for (size_t i = 0; i < 6; i++)
		blocks[i].content = i < 4 ? 17 : 18 + i; /* four are equal */
	check_found(mw_detect_duplicates, &facts, 1, "load_table", 3.0 / 80,
		    "holds 4 large blocks with the same contents: one of each would save 3.00 MiB");
	for (size_t i = 0; i < 6; i++)
		blocks[i].content = 0;
	CHECK_NOTHING(mw_detect_duplicates, &facts);
	/* Equal hashes of blocks of two sizes. */
	for (size_t i = 0; i < 6; i++) {
		blocks[i].content = 17;
		blocks[i].requested_bytes = MIB - (int64_t)i;
	}
	CHECK_NOTHING(mw_detect_duplicates, &facts);
}

static void stacks(void) {
	char start[] = "serve_deeply";
	mw_fact_stacks_t all[] = {{.name = "small",
				   .threads = 100,
				   .resident_bytes = 2 << 20,
				   .largest_bytes = 1 << 20},
				  {.function = start,
				   .name = "server",
				   .threads = 8,
				   .resident_bytes = 24 << 20,
				   .largest_bytes = 4 << 20}};
	mw_facts_t facts = make_facts(NULL, 0, NULL, 0);
	facts.stacks = all;
	facts.stack_count = 2;
	check_found(mw_detect_stacks, &facts, 1, "serve_deeply", 0.24,
		    "8 threads (\"server\") started in serve_deeply have 24.0 MiB of stack "
		    "resident, up to 4.00 MiB");
	facts.stack_count = 1;
	CHECK_NOTHING(mw_detect_stacks, &facts);
}

static void option(void) {
	mw_facts_t facts = make_facts(NULL, 0, NULL, 0);
	CHECK_NOTHING(mw_detect_option, &facts);
	facts.kept_bytes = 30 * MIB;
	facts.kept_ns = 12 * SECOND_NS;
	check_found(mw_detect_option, &facts, 1, "", 0.3,
		    "30.0 MiB of free memory stayed resident "
		    "for 12.0 s");
	facts.kept_bytes = MIB / 2;
	CHECK_NOTHING(mw_detect_option, &facts);
}

static void mapped(void) {
	mw_facts_t facts = make_facts(NULL, 0, NULL, 0);
	CHECK_NOTHING(mw_detect_mapped, &facts);
	facts.mapped_bytes = 60 * MIB;
	check_found(mw_detect_mapped, &facts, 1, "", 0.6,
		    "60.0 MiB are mapped by the program itself, past malloc: "
		    "MALLOW_CONF=prof_mappings:true names who maps them");
	facts.mapped_arenas = "pymalloc's arenas";
	facts.mapped_by_known = true;
	check_found(mw_detect_mapped, &facts, 1, "", 0.6,
		    "itself, such as pymalloc's arenas, past malloc: 'mallow report --sample-type "
		    "inuse_mapped' shows who mapped them; what is in them goes to malloc with "
		    "PYTHONMALLOC=malloc");
	facts.mapped_arenas = "V8's heap";
	check_found(mw_detect_mapped, &facts, 1, "", 0.6, "shows who mapped them");
}

/* The largest share first; what cannot be answered is not looked for; the command can be pasted. */
static void all_together(void) {
	mw_fact_function_t f[] = {
		{.name = "small", .live_bytes = MIB, .pinned_bytes = 2 * MIB},
		{.name = "f(char const*)::{lambda()#1}", .pinned_bytes = 20 * MIB},
		{.name = "below", .live_bytes = MIB, .pinned_bytes = MIB + MIB / 8}};
	mw_facts_t facts = make_facts(f, 3, NULL, 0);
	mw_findings_t found = {0};
	f[2].pinned_bytes = MIB * 99 / 100; /* below 1 % */
	facts.kept_bytes = 5 * MIB;
	mw_advise(&facts, &found);
	CHECK_EQ(found.count, 3);
	CHECK_STR(found.all[0].function, f[1].name);
	CHECK_EQ(found.all[1].kind, MW_FINDING_option);
	CHECK_STR(found.all[2].function, "small");
	char *command = mw_finding_command(&found.all[0], "4711");
	CHECK_STR(command, "mallow report --sample-type pinned_space 4711");
	free(command);
	found.all[0].kind = MW_FINDING_untouched;
	command = mw_finding_command(&found.all[0], "it's here");
	CHECK_STR(command, "mallow sizes --focus='^f.char const..::.lambda..#1.$' 'it'\\''s here'");
	free(command);
	mw_findings_free(&found);
	facts.unanswered[MW_FINDING_fragmentation] = "why";
	mw_advise(&facts, &found);
	CHECK_EQ(found.count, 1);
	mw_findings_free(&found);
}

/* Without resident memory the share is of memory in use. */
static void base_of_share(void) {
	mw_facts_t facts = make_facts(NULL, 0, NULL, 0);
	CHECK_STR(mw_finding_of(MW_FINDING_fragmentation, &facts), "of resident memory");
	CHECK_STR(mw_finding_of(MW_FINDING_reserve, &facts), "of CPU time, estimated");
	facts.resident_bytes = 0;
	facts.cpu_is_known = false;
	CHECK_STR(mw_finding_of(MW_FINDING_fragmentation, &facts), "of memory in use");
	CHECK_STR(mw_finding_of(MW_FINDING_reserve, &facts), "of the time, estimated");
}

int main(void) {
	RUN(reserve);
	RUN(freed_at_once);
	RUN(other_threads);
	RUN(fragmentation);
	RUN(only_grows);
	RUN(untouched);
	RUN(sizes);
	RUN(duplicates);
	RUN(stacks);
	RUN(option);
	RUN(mapped);
	RUN(all_together);
	RUN(base_of_share);
	return 0;
}
