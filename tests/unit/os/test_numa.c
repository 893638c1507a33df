/* SPDX-License-Identifier: MIT
 * test_numa.c -- what this machine says, and that its kernel takes our calls. */
#include "os/memory/numa.h"

#include <errno.h>
#include <unistd.h>

#include "os/memory/map.h"
#include "test.h"

static void the_system_is_asked(void) {
	errno = 4711;
	mw_os_numa_start();
	CHECK_EQ(errno, 4711);
	bool second = access("/sys/devices/system/node/node1", F_OK) == 0;
	if (!second)
		CHECK(!mw_os_numa_several && mw_os_numa_here() == MW_OS_NUMA_ANY);
	CHECK(mw_os_numa_here_slow() <= MW_OS_NUMA_ANY);
	printf("%s\n", mw_os_numa_several ? "several nodes" : "one node");
}

/* The policy of a mapping, as the kernel shows it. */
static void preference_is_set(void) {
	char *base = mw_os_map(1 << 20), line[1024], address[32];
	CHECK(base);
	errno = 4711;
	mw_os_numa_prefer(base, 1 << 20, 0);
	CHECK_EQ(errno, 4711);
	memset(base, 1, 1 << 20);
	FILE *file = fopen("/proc/self/numa_maps", "r");
	if (!file)
		return; /* a kernel without nodes */
	snprintf(address, sizeof address, "%lx ", (unsigned long)base);
	bool found = false;
	while (!found && fgets(line, sizeof line, file))
		found = strncmp(line, address, strlen(address)) == 0;
	fclose(file);
	CHECK(found && strstr(line, "prefer"));
}

int main(void) {
	RUN(the_system_is_asked);
	RUN(preference_is_set);
	return 0;
}
