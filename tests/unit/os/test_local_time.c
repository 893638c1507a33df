/* SPDX-License-Identifier: MIT
 * test_local_time.c -- local time against libc's, in zones of all kinds. */
#include "os/file/local_time.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static void check_moment(const char *zone, time_t now) {
	setenv("TZ", zone, 1);
	tzset();
	mw_os_set_zone(zone);
	struct tm want;
	CHECK(localtime_r(&now, &want));
	mw_local_time_t got = mw_os_local_time((uint64_t)now * 1000000000u + 999999999u);
	CHECK_EQ(got.year, want.tm_year + 1900);
	CHECK_EQ(got.month, want.tm_mon + 1);
	CHECK_EQ(got.day, want.tm_mday);
	CHECK_EQ(got.hour, want.tm_hour);
	CHECK_EQ(got.minute, want.tm_min);
	CHECK_EQ(got.second, want.tm_sec);
}

/* Three times a day over thirty years: all changes of summer time lie in between. */
static void check_zone(const char *zone) {
	for (time_t now = 1000000000; now < 1950000000; now += 28801)
		check_moment(zone, now);
}

static void zones_with_files(void) {
	static const char *const zones[] = {"Europe/Berlin", "America/St_Johns", "Asia/Kathmandu",
					    ":Australia/Lord_Howe", "UTC"};
	if (access("/usr/share/zoneinfo/Europe/Berlin", R_OK) != 0) {
		puts("no zone files here: skipped");
		return;
	}
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++)
		check_zone(zones[i]);
}

static void zones_by_rule(void) {
	check_zone("CET-1");
	check_zone("<+0330>-3:30");
	check_zone("UTC0");
}

/* Whatever TZ holds, there is a time. */
static void damage_is_utc(void) {
	static const char *const zones[] = {"", "../../etc/passwd", "/etc/passwd", "/", "Nowhere"};
	for (size_t i = 0; i < sizeof zones / sizeof *zones; i++) {
		mw_os_set_zone(zones[i]);
		mw_local_time_t t = mw_os_local_time((uint64_t)951827696 * 1000000000u);
		CHECK(t.year == 2000 && t.month == 2 && t.day == 29 && t.hour == 12);
		CHECK(t.minute == 34 && t.second == 56);
	}
}

int main(void) {
	RUN(zones_with_files);
	RUN(zones_by_rule);
	RUN(damage_is_utc);
	return 0;
}
