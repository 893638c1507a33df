/* SPDX-License-Identifier: MIT
 * probes.c OFFSET LIBRARY COMMAND... -- runs a command and prints how often it passed the
 * instruction at this offset of the library, counted by a uprobe.  Status 77: the kernel has or
 * allows none. */
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv) {
	uint32_t type = 0;
	FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	if (argc < 4 || file == NULL || fscanf(file, "%u", &type) != 1)
		return 77;
	fclose(file);
	struct perf_event_attr event;
	memset(&event, 0, sizeof(event));
	event.type = type;
	event.size = sizeof(event);
	event.config1 = (uint64_t)(uintptr_t)argv[2];
	event.config2 = strtoull(argv[1], NULL, 0);
	event.inherit = 1;
	event.enable_on_exec = 1;
	event.disabled = 1;
	int begin[2];
	char byte;
	if (pipe(begin) != 0)
		return 2;
	pid_t child = fork();
	if (child == 0) {
		close(begin[1]);
		if (read(begin[0], &byte, 1) == 1)
			execvp(argv[3], argv + 3);
		_exit(127);
	}
	int counter = (int)syscall(SYS_perf_event_open, &event, child, -1, -1, 0);
	if (counter < 0) {
		perror("perf_event_open");
		close(begin[1]);
		return 77;
	}
	int status;
	uint64_t count = 0;
	if (write(begin[1], "x", 1) != 1 || waitpid(child, &status, 0) != child || status != 0 ||
	    read(counter, &count, sizeof(count)) != sizeof(count))
		return 2;
	printf("%llu\n", (unsigned long long)count);
	return 0;
}
