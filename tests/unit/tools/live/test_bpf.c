/* SPDX-License-Identifier: MIT
 * test_bpf.c -- the table of instructions, BTF, the verifier's reason; all programs are loaded
 * where the kernel permits that. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "live/bpf/bpf_call.h"
#include "live/bpf/kernel_types.h"
#include "live/bpf/programs.h"
#include "test.h"

static void jumps_lead_to_labels(void) {
	mw_bpf_code_t code = {.count = 0};
	mw_bpf_label(&code, 1);
	mw_bpf_jump_if_constant(&code, BPF_JEQ, 1, 7, 2); /* forward over two instructions */
	mw_bpf_set_wide(&code, 3, 0x123456789abcdef0u);   /* takes two */
	mw_bpf_label(&code, 2);
	mw_bpf_jump(&code, 1); /* back to the first */
	mw_bpf_exit(&code, 1);
	CHECK(mw_bpf_finish(&code));
	CHECK_EQ(code.count, 6);
	CHECK_EQ(code.table[0].off, 2);
	CHECK_EQ(code.table[3].off, -4);
	CHECK_EQ((uint32_t)code.table[1].imm, 0x9abcdef0u);
	CHECK_EQ((uint32_t)code.table[2].imm, 0x12345678u);
}

static void labels_may_be_used_again(void) {
	mw_bpf_code_t code = {.count = 0};
	mw_bpf_jump(&code, 1);
	CHECK(!mw_bpf_close_labels(&code)); /* not placed */
	mw_bpf_label(&code, 1);
	CHECK(mw_bpf_close_labels(&code));
	CHECK_EQ(code.table[0].off, 0);
	mw_bpf_jump(&code, 1);
	mw_bpf_exit(&code, 0);
	mw_bpf_label(&code, 1);
	mw_bpf_exit(&code, 0);
	CHECK(mw_bpf_finish(&code));
	CHECK_EQ(code.table[1].off, 2);
}

static void a_long_program_is_not_loaded(void) {
	mw_bpf_code_t code = {.count = 0};
	for (int i = 0; i < MW_BPF_CODE_MAX + 5; i++)
		mw_bpf_set_constant(&code, BPF_MOV, 0, i);
	CHECK_EQ(code.count, MW_BPF_CODE_MAX);
	CHECK(!mw_bpf_finish(&code));
	mw_error_t error;
	CHECK_EQ(mw_bpf_program_load(&code, "long", 0, &error), -1);
	CHECK(strstr(error.text, "too long") != NULL);
}

/* BTF with an int, a struct of two members, a function prototype and two functions. */
static size_t make_btf(unsigned char *btf) {
	static const char strings[] = "\0other\0sought\0int";
	static const uint32_t types[] = {
		14, 1u << 24,      4, 32,                 /* int, with four bytes behind it */
		0,  4u << 24 | 2,  8, 0,  1, 0, 0, 1, 32, /* struct */
		0,  13u << 24 | 1, 0, 0,  1,              /* prototype with one parameter */
		1,  12u << 24,     3,                     /* function "other" */
		7,  12u << 24,     3,                     /* function "sought": number 5 */
	};
	const uint32_t header[] = {0x0001eb9f,     24, 0, sizeof(types), sizeof(types),
				   sizeof(strings)};
	memcpy(btf, header, sizeof(header));
	memcpy(btf + sizeof(header), types, sizeof(types));
	memcpy(btf + sizeof(header) + sizeof(types), strings, sizeof(strings));
	return sizeof(header) + sizeof(types) + sizeof(strings);
}

static void functions_are_found_in_btf(void) {
	unsigned char btf[512];
	size_t bytes = make_btf(btf);
	CHECK_EQ(mw_btf_find_function(btf, bytes, "other"), 4);
	CHECK_EQ(mw_btf_find_function(btf, bytes, "sought"), 5);
	CHECK_EQ(mw_btf_find_function(btf, bytes, "int"), 0); /* no function */
	CHECK_EQ(mw_btf_find_function(btf, bytes, "sough"), 0);
	/* Cut anywhere, and with each byte changed: nothing is read behind the end (ASan). */
	for (size_t cut = 0; cut < bytes; cut++) {
		unsigned char *copy = malloc(cut + 1);
		memcpy(copy, btf, cut);
		mw_btf_find_function(copy, cut, "sought");
		free(copy);
	}
	for (size_t i = 0; i < bytes; i++) {
		unsigned char *copy = malloc(bytes);
		memcpy(copy, btf, bytes);
		copy[i] ^= 0xff;
		mw_btf_find_function(copy, bytes, "sought");
		free(copy);
	}
}

static void the_verifier_says_why_in_one_line(void) {
	char log[] = "0: (85) call foo\nR1 type=scalar expected=fp\n"
		     "processed 1 insns (limit 1000000)\n\n";
	CHECK_STR(mw_bpf_verifier_reason(log), "R1 type=scalar expected=fp");
	char empty[] = "";
	CHECK_STR(mw_bpf_verifier_reason(empty), "");
}

static bool are_permitted(mw_probe_maps_t *maps) {
	mw_error_t error;
	if (mw_probe_maps_open(maps, 512 << 10, &error) == 0)
		return true;
	CHECK(strstr(error.text, "CAP_BPF") != NULL || strstr(error.text, "no BPF") != NULL);
	printf("skipped: %s\n", error.text);
	return false;
}

static void all_programs_load(void) {
	mw_probe_maps_t maps;
	mw_error_t error;
	uint32_t session_type;
	if (!are_permitted(&maps))
		return;
	bool has_sessions = mw_probe_way(&session_type) == MW_PROBE_SESSION;
	for (int way = has_sessions ? 0 : 1; way < 2; way++) {
		const mw_probe_plan_t plan = {
			.maps = &maps,
			.way = (mw_probe_way_t)way,
			.session_type = session_type,
			.new_bytes_max = 1 << 30,
		};
		for (int kind = 0; kind < MW_PROBE_KINDS; kind++) {
			int fd = mw_probe_load(&plan, (mw_probe_kind_t)kind, &error);
			if (fd < 0)
				fprintf(stderr, "%s\n", error.text);
			CHECK(fd >= 0);
			close(fd);
			fd = mw_probe_load_counter(&plan, (mw_probe_kind_t)kind, true, &error);
			CHECK(fd >= 0);
			close(fd);
		}
		int fd = mw_probe_load_return(&plan, &error);
		CHECK(fd >= 0);
		close(fd);
	}
	mw_probe_maps_close(&maps);
}

static void a_bad_program_is_refused_with_the_reason(void) {
	mw_bpf_code_t code = {.count = 0};
	mw_probe_maps_t maps;
	mw_error_t error;
	if (!are_permitted(&maps))
		return;
	mw_probe_maps_close(&maps);
	mw_bpf_load(&code, BPF_DW, 0, 3, 0); /* register 3 has no value */
	mw_bpf_exit(&code, 0);
	CHECK_EQ(mw_bpf_program_load(&code, "bad", 0, &error), -1);
	CHECK(strstr(error.text, "verifier refuses it: ") != NULL);
	CHECK(strchr(error.text, '\n') == NULL);
	CHECK(strstr(error.text, "R3") != NULL);
}

/* The mean of what a program draws: of each gap between two quantiles, the middle. */
static void gaps_have_the_mean(void) {
	mw_probe_maps_t maps;
	static uint64_t gaps[MW_PROBE_GAPS + 1];
	uint32_t key[2] = {0, 0};
	double sum = 0;
	if (!are_permitted(&maps))
		return;
	CHECK(mw_bpf_map_read(maps.gaps, key, gaps));
	for (int i = 0; i < MW_PROBE_GAPS; i++) {
		CHECK(gaps[i] < gaps[i + 1]);
		sum += ((double)gaps[i] + (double)gaps[i + 1]) / 2 / MW_PROBE_GAPS;
	}
	/* Straight lines between quantiles lie above the curve by some millionths. */
	CHECK_NEAR(sum / (512 << 10), 1, 1e-3);
	/* Half of the gaps are shorter than the median, ln 2 of the mean. */
	CHECK_NEAR((double)gaps[MW_PROBE_GAPS / 2] / (512 << 10), 0.6931472, 1e-5);
	mw_probe_maps_close(&maps);
}

int main(void) {
	RUN(jumps_lead_to_labels);
	RUN(labels_may_be_used_again);
	RUN(a_long_program_is_not_loaded);
	RUN(functions_are_found_in_btf);
	RUN(the_verifier_says_why_in_one_line);
	RUN(all_programs_load);
	RUN(a_bad_program_is_refused_with_the_reason);
	RUN(gaps_have_the_mean);
	return 0;
}
