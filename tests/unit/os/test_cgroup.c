/* SPDX-License-Identifier: MIT
 * test_cgroup.c -- limits of made-up trees of /proc and /sys/fs/cgroup, and the system's own. */
#include "os/file/cgroup.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test.h"

#define MIB ((uint64_t)1 << 20)
#define MOUNT_V1 "31 30 0:26 / /sys/fs/cgroup/memory rw,nosuid - cgroup cgroup rw,memory\n"
#define MOUNT_V2 "29 23 0:25 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw\n"

static char root[64];

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
	(void)info, (void)type, (void)where;
	return remove(path);
}

static void put(const char *name, const char *text) {
	char path[1024];
	snprintf(path, sizeof path, "%s%s", root, name);
	for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	FILE *file = fopen(path, "w");
	CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

/* A new tree with these two files. */
static void begin(const char *cgroup, const char *mountinfo) {
	if (root[0])
		nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	strcpy(root, "/tmp/mallow-test-cgroup-XXXXXX");
	CHECK(mkdtemp(root));
	put("/proc/self/cgroup", cgroup);
	put("/proc/self/mountinfo", mountinfo);
}

static void without_files_there_is_no_limit(void) {
	CHECK(mw_os_cgroup_limit_bytes("/nowhere") == UINT64_MAX);
	begin("0::/a\n", "");
	CHECK(mw_os_cgroup_limit_bytes(root) == UINT64_MAX);
	begin("", MOUNT_V2);
	CHECK(mw_os_cgroup_limit_bytes(root) == UINT64_MAX);
}

static void version_2(void) {
	begin("0::/app/web\n", "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n" MOUNT_V2);
	put("/sys/fs/cgroup/app/web/memory.max", "max\n");
	CHECK(mw_os_cgroup_limit_bytes(root) == UINT64_MAX);
	put("/sys/fs/cgroup/app/web/memory.max", "104857600\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 100 * MIB);
	put("/sys/fs/cgroup/app/web/memory.high", "83886080\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 80 * MIB);
	put("/sys/fs/cgroup/app/memory.max", "52428800\n"); /* the group around it is smaller */
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 50 * MIB);
	put("/sys/fs/cgroup/other/memory.max", "4096\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 50 * MIB);
	put("/sys/fs/cgroup/app/memory.max", "0\n"); /* nothing at all: a limit like others */
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 0);
}

static void version_1(void) {
	begin("9:name=systemd:/\n4:hugetlb,memory:/docker/f00\n3:cpu:/x\n",
	      "30 23 0:25 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n" MOUNT_V1);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
	put("/sys/fs/cgroup/memory/docker/f00/memory.limit_in_bytes", "9223372036854771712\n");
	CHECK(mw_os_cgroup_limit_bytes(root) == UINT64_MAX);
	put("/sys/fs/cgroup/memory/docker/f00/memory.limit_in_bytes", "99999999999999999999\n");
	CHECK(mw_os_cgroup_limit_bytes(root) == UINT64_MAX);
	put("/sys/fs/cgroup/memory/docker/f00/memory.limit_in_bytes", "268435456\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 256 * MIB);
	put("/sys/fs/cgroup/memory/docker/memory.limit_in_bytes", "134217728\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 128 * MIB);
}

/* Both at once, as systemd's hybrid layout: the smaller counts. */
static void hybrid(void) {
	begin("4:memory:/a\n0::/b\n",
	      MOUNT_V1 "32 30 0:27 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "268435456\n");
	put("/sys/fs/cgroup/unified/b/memory.max", "67108864\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 64 * MIB);
	put("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "33554432\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 32 * MIB);
}

/* A container sees its own group as the root of the mount, by the host's path or by "/". */
static void containers(void) {
	static const char mount[] = "31 30 0:26 /docker/f00 /sys/fs/cgroup/memory ro - cgroup "
				    "cgroup rw,memory\n";
	begin("4:memory:/docker/f00\n", mount);
	put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 256 * MIB);
	put("/proc/self/cgroup", "4:memory:/docker/f00/inner\n");
	put("/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "134217728\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 128 * MIB);
	/* "f00b" is no part of "f00". */
	put("/proc/self/cgroup", "4:memory:/docker/f00b\n");
	put("/sys/fs/cgroup/memory/b/memory.limit_in_bytes", "4096\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 256 * MIB);
	put("/proc/self/cgroup", "0::/../elsewhere\n");
	put("/proc/self/mountinfo", MOUNT_V2);
	put("/sys/fs/cgroup/memory.max", "67108864\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 64 * MIB);
	put("/proc/self/cgroup", "0::/\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 64 * MIB);
}

static void odd_names_and_long_lines(void) {
	begin("0::/a b\n", "29 23 0:25 / /sys/fs/my\\040groups rw - cgroup2 cgroup2 rw\n");
	put("/sys/fs/my groups/a b/memory.max", "67108864\n");
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 64 * MIB);
	char text[20000];
	memset(text, 'x', sizeof text);
	strcpy(text + 10000, " - cgroup2\n29 23 0:25 / /sys/fs/my\\040groups rw - cgroup2 x rw\n"
			     "garbage\n - \n\n1 - cgroup2\n");
	put("/proc/self/mountinfo", text);
	CHECK_EQ(mw_os_cgroup_limit_bytes(root), 64 * MIB);
}

static void the_system_answers(void) {
	uint64_t bytes = mw_os_cgroup_limit_bytes("");
	printf("this process: %llu MiB\n", (unsigned long long)(bytes / MIB));
	CHECK(bytes > 16 * MIB); /* this test runs within it */
}

int main(void) {
	RUN(without_files_there_is_no_limit);
	RUN(version_2);
	RUN(version_1);
	RUN(hybrid);
	RUN(containers);
	RUN(odd_names_and_long_lines);
	RUN(the_system_answers);
	nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	return 0;
}
