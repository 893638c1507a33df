/* SPDX-License-Identifier: MIT
 * test_unwind_file.c -- rules read from libc's file are those of its mapped tables, and a file that
 * is not the mapped one is left alone. */
#include "prof/unwind_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "os/fault.h"
#include "prof/unwind_cfi.h"
#include "test.h"

static mw_os_object_t libc;

static bool mapped_rule(uintptr_t pc, mw_rule_t *rule) {
	const mw_cfi_area_t area = {(const uint8_t *)libc.data_lo, (const uint8_t *)libc.data_hi};
	mw_cfi_fde_t fde;
	const uint8_t *at = mw_cfi_search(&area, (const uint8_t *)libc.eh_frame_hdr, pc);
	if (!at || !mw_cfi_parse(&area, at, &fde) || pc < fde.pc_lo || pc + 1 >= fde.pc_hi)
		return false;
	*rule = mw_cfi_rule(&fde, pc);
	return true;
}

static void test_same_rules(void) {
	unsigned read = 0, missed = 0;
	for (uintptr_t pc = libc.text_lo; pc < libc.text_hi; pc += 397) {
		mw_rule_t mapped, from_file;
		if (!mapped_rule(pc, &mapped))
			continue;
		errno = 4711;
		if (mw_cfi_file_rule(&libc, pc, &from_file)) {
			CHECK(memcmp(&mapped, &from_file, sizeof mapped) == 0);
			read++;
		} else {
			missed++;
		}
		CHECK_EQ(errno, 4711);
	}
	/* Only what does not fit its room is left to the mapping. */
	CHECK(read > 1000 && missed < read / 50);
}

static void test_budget(void) {
	mw_cfi_file_rules = MW_CFI_FILE_RULES - 1;
	CHECK(mw_cfi_file_wanted(&libc));
	mw_rule_t rule;
	CHECK(mw_cfi_file_rule(&libc, (uintptr_t)qsort + 1, &rule));
	CHECK(!mw_cfi_file_wanted(&libc));
	mw_cfi_file_rules = 0;
}

static bool open_fails(mw_os_call_t call) {
	return call == MW_OS_OPEN;
}

static void test_no_file(void) {
	mw_rule_t rule;
	mw_os_fault_hook = open_fails;
	CHECK(!mw_cfi_file_rule(&libc, (uintptr_t)qsort + 1, &rule));
	mw_os_fault_hook = NULL;
	mw_os_object_t other = libc;
	other.path = "libc.so.6"; /* relative: whatever lies in the working directory */
	CHECK(!mw_cfi_file_rule(&other, (uintptr_t)qsort + 1, &rule));
	other.path = "/";
	CHECK(!mw_cfi_file_rule(&other, (uintptr_t)qsort + 1, &rule));
}

/* A copy of libc's file with another byte `at`, cut to `bytes`; -1: as long as it is. */
static void make_copy(const char *path, long at, long bytes) {
	FILE *from = fopen(libc.path, "rb"), *to = fopen(path, "wb");
	CHECK(from && to);
	static char block[1 << 16];
	for (size_t got; (got = fread(block, 1, sizeof block, from)) > 0;)
		CHECK(fwrite(block, 1, got, to) == got);
	CHECK(at < 0 || (fseek(to, at, SEEK_SET) == 0 && fputc(0xee, to) == 0xee));
	CHECK(fclose(to) == 0 && fclose(from) == 0);
	CHECK(bytes < 0 || truncate(path, bytes) == 0);
}

static void test_another_file(void) {
	char path[] = "/tmp/test_unwind_file.XXXXXX";
	int file = mkstemp(path);
	CHECK(file >= 0);
	close(file);
	mw_rule_t rule;
	mw_os_object_t copy = libc;
	copy.path = path;
	make_copy(path, -1, -1);
	CHECK(mw_cfi_file_rule(&copy, (uintptr_t)qsort + 1, &rule));
	/* In the section headers' place, which the ELF header tells: another file of that name. */
	make_copy(path, 0x28, -1);
	CHECK(!mw_cfi_file_rule(&copy, (uintptr_t)qsort + 1, &rule));
	/* Cut while it was replaced. */
	make_copy(path, -1, MW_OS_OBJECT_HEADER_BYTES);
	CHECK(!mw_cfi_file_rule(&copy, (uintptr_t)qsort + 1, &rule));
	make_copy(path, -1, MW_OS_OBJECT_HEADER_BYTES - 1);
	CHECK(!mw_cfi_file_rule(&copy, (uintptr_t)qsort + 1, &rule));
	CHECK(unlink(path) == 0);
	CHECK(!mw_cfi_file_rule(&copy, (uintptr_t)qsort + 1, &rule));
}

int main(void) {
	mw_os_object_start();
	CHECK(mw_os_object_find((uintptr_t)qsort, &libc));
	CHECK(libc.path && libc.data_hi - libc.data_lo > MW_CFI_FILE_MIN_BYTES);
	RUN(test_same_rules);
	RUN(test_budget);
	RUN(test_no_file);
	RUN(test_another_file);
	return 0;
}
