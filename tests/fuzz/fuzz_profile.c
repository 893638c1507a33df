/* SPDX-License-Identifier: MIT
 * fuzz_profile.c -- libFuzzer target: any bytes as a profile; what can be read is reported and
 * written in every format. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "formats/read.h"
#include "formats/write.h"
#include "report/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length) {
	static FILE *sink;
	if (sink == NULL)
		sink = fopen("/dev/null", "w");
	mw_profile_t *p;
	mw_error_t error;
	if (sink == NULL || mw_read_profile_bytes("fuzz", bytes, length, &p, &error) != 0)
		return 0;
	mw_report_options_t options = {.by_line = length % 2 == 0, .columns = 80};
	mw_report_print(sink, p, &options, &error);
	mw_write_profile(p, "/dev/null", MW_FORMAT_PROTO, MW_GZIP_OFF, &error);
	mw_write_profile(p, "/dev/null", MW_FORMAT_JEMALLOC, MW_GZIP_OFF, &error);
	mw_write_profile(p, "/dev/null", MW_FORMAT_GPERFTOOLS, MW_GZIP_OFF, &error);
	mw_profile_free(p);
	return 0;
}
