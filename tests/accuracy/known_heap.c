/* SPDX-License-Identifier: MIT
 * known_heap.c -- 100 MiB in ten sizes from 16 B to 64 KiB, ten MiB each: what the state file says
 * is live against what is, over 20 seeds with 20 rounds each.
 *
 * One round has about 200 samples, so its total is off by 7 %, and the mean of 20 rounds still by
 * 1.6 %: that a mean is within 1 % says something about the method only with some hundred rounds
 * (0.35 %).  Usage: known_heap LIBRARY */
#include <inttypes.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "launch.h"
#include "own_state.h"
#include "state_entry.h"
#include "test.h"

enum { SIZES = 10, SEEDS = 20, ROUNDS = 20 };
#define BYTES_A_SIZE ((size_t)10 << 20)
#define MEAN_BYTES 524288.0
static const size_t sizes[SIZES] = {16, 48, 112, 320, 1024, 2048, 5120, 12288, 32768, 65536};

static size_t count_of(int k) {
	return BYTES_A_SIZE / sizes[k];
}

/* ---- the program that is measured ---- */

/* Sums the weights of the live records of each size. */
static void read_estimates(const char *base, double estimates[SIZES]) {
	const mw_state_live_t *live = state_entry(base, MW_SECTION_LIVE, 0);
	for (int k = 0; k < SIZES; k++)
		estimates[k] = 0;
	for (uint64_t i = 1; i < live->records_used; i++) {
		const mw_state_record_t *record = state_entry(base, MW_SECTION_RECORDS, i);
		for (int k = 0; k < SIZES; k++)
			if (record->stack != MW_RECORD_FREE && record->requested_bytes == sizes[k])
				estimates[k] += (double)record->weight_q16 / 65536;
	}
}

static void measure(int output) {
	size_t total = 0;
	for (int k = 0; k < SIZES; k++)
		total += count_of(k);
	void **blocks = mmap(NULL, total * sizeof *blocks, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(blocks != MAP_FAILED);
	const char *base = own_state_map();
	for (int round = 0; round < ROUNDS; round++) {
		size_t made = 0, steps = count_of(0);
		/* The sizes take turns, each as often as its number asks for. */
		for (size_t step = 0; step < steps; step++)
			for (int k = 0; k < SIZES; k++)
				if ((step + 1) * count_of(k) / steps > step * count_of(k) / steps)
					CHECK((blocks[made++] = malloc(sizes[k])));
		CHECK(made == total);
		double estimates[SIZES];
		read_estimates(base, estimates);
		CHECK(write(output, estimates, sizeof estimates) == sizeof estimates);
		for (size_t i = 0; i < total; i++)
			free(blocks[i]);
	}
}

/* ---- the judge ---- */

int main(int argc, char **argv) {
	if (argc == 4) {
		measure(atoi(argv[2]));
		return 0;
	}
	CHECK(argc == 2);
	double sums[SIZES] = {0}, total_error = 0, first_error = 0;
	int rounds = 0;
	double truth_bytes = (double)BYTES_A_SIZE * SIZES;
	for (int seed = 1; seed <= SEEDS; seed++) {
		int output, status;
		pid_t child = launch(argv[1], seed, "", &output);
		double estimates[SIZES];
		for (int round = 0; round < ROUNDS; round++, rounds++) {
			CHECK(read(output, estimates, sizeof estimates) == sizeof estimates);
			double bytes = 0;
			for (int k = 0; k < SIZES; k++) {
				sums[k] += estimates[k];
				bytes += estimates[k] * (double)sizes[k];
			}
			total_error += bytes / truth_bytes - 1;
			first_error += round == 0 ? bytes / truth_bytes - 1 : 0;
		}
		close(output);
		CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	printf("# mean error of the total: %+.2f %% over %d rounds, %+.2f %% over the first of "
	       "each "
	       "seed\n",
	       100 * total_error / rounds, rounds, 100 * first_error / SEEDS);
	CHECK_NEAR(total_error / rounds, 0, 0.01);
	for (int k = 0; k < SIZES; k++) {
		double count = (double)count_of(k), chance = -expm1(-(double)sizes[k] / MEAN_BYTES);
		double deviation = sqrt((1 - chance) / chance / count / rounds);
		double error = sums[k] / rounds / count - 1;
		printf("# %5zu B: %+.2f %%, standard error %.2f %%\n", sizes[k], 100 * error,
		       100 * deviation);
		CHECK_NEAR(error, 0, 3.5 * deviation);
	}
	printf("ok known_heap\n");
	return 0;
}
