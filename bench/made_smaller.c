/* SPDX-License-Identifier: MIT
 * made_smaller.c FROM TO [TURNS] -- blocks that realloc makes smaller.  Without TURNS: 100 MiB of
 * blocks, all kept; prints the resident memory in MiB.  With TURNS: a buffer that is read into,
 * made smaller and freed, so often; prints the nanoseconds a turn of processor time, the read(2) of
 * /dev/zero among them. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define KEPT_BYTES (100l << 20)

static int keep(long from, long to) {
	long blocks = KEPT_BYTES / from, kilobytes = 0;
	char **kept = malloc((size_t)blocks * sizeof *kept);
	for (long i = 0; kept && i < blocks; i++) {
		char *block = malloc((size_t)from);
		kept[i] = block ? realloc(memset(block, 1, (size_t)from), (size_t)to) : NULL;
	}
	char line[200];
	FILE *status = fopen("/proc/self/status", "r");
	while (status && fgets(line, sizeof line, status))
		if (sscanf(line, "VmRSS: %ld", &kilobytes) == 1)
			break;
	printf("%.1f\n", (double)kilobytes / 1024);
	return !kept || !kept[blocks - 1];
}

static int read_and_free(long from, long to, long turns) {
	int zeros = open("/dev/zero", O_RDONLY);
	struct timespec start, end;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &start);
	for (long i = 0; i < turns; i++) {
		char *buffer = malloc((size_t)from);
		if (!buffer || read(zeros, buffer, (size_t)to) != to)
			return 1;
		char *smaller = realloc(buffer, (size_t)to);
		free(smaller ? smaller : buffer);
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &end);
	double ns =
		(double)(end.tv_sec - start.tv_sec) * 1e9 + (double)(end.tv_nsec - start.tv_nsec);
	printf("%.1f\n", ns / (double)turns);
	return 0;
}

int main(int argc, char **argv) {
	if (argc < 3)
		return 2;
	long from = atol(argv[1]), to = atol(argv[2]);
	return argc > 3 ? read_and_free(from, to, atol(argv[3])) : keep(from, to);
}
