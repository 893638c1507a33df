// SPDX-License-Identifier: MIT
// attach_threads.cc THREADS [SECONDS] -- C++ threads that allocate, write, compare and free, for
// the tests of `mallow attach`.  Ends at the end of standard input, or after SECONDS; status 1 if a
// block does not hold what was written to it.
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

static std::atomic<bool> done{false};
static std::atomic<unsigned long> rounds{0};

static void fail(const char *what) {
	fprintf(stderr, "FAILED: %s\n", what);
	_exit(1);
}

static void check_blocks(unsigned seed) {
	unsigned char *blocks[64] = {};
	size_t sizes[64] = {};
	for (unsigned i = 0; i < 2000; i++) {
		seed = seed * 1103515245u + 12345;
		unsigned at = seed >> 16 & 63;
		for (size_t k = 0; k < sizes[at]; k++)
			if (blocks[at][k] != (unsigned char)(at + k))
				fail("a block has changed");
		size_t size = 1 + (seed >> 8) % 600;
		if (seed & 1)
			blocks[at] = (unsigned char *)realloc(blocks[at], size);
		else {
			free(blocks[at]);
			blocks[at] = (unsigned char *)(seed & 2 ? calloc(1, size) : malloc(size));
		}
		sizes[at] = size;
		for (size_t k = 0; k < size; k++)
			blocks[at][k] = (unsigned char)(at + k);
	}
	for (unsigned char *block : blocks)
		free(block);
}

static void check_containers(unsigned seed) {
	std::map<std::string, std::vector<int>> map;
	for (int i = 0; i < 200; i++)
		map["a key that does not fit into the string itself " + std::to_string(i)].assign(
			seed % 50 + 1, i);
	for (int i = 0; i < 200; i++)
		if (map["a key that does not fit into the string itself " + std::to_string(i)]
			    .back() != i)
			fail("a container has changed");
}

static void work(unsigned seed) {
	while (!done) {
		check_blocks(seed++);
		check_containers(seed);
		// Threads of milliseconds.
		if (seed % 64 == 0)
			std::thread(check_blocks, seed).join();
		rounds++;
	}
}

int main(int argc, char **argv) {
	unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 4;
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < count; i++)
		threads.emplace_back(work, i * 7919 + 1);
	puts("ready");
	fflush(stdout);
	if (argc > 2) {
		std::this_thread::sleep_for(std::chrono::seconds(atoi(argv[2])));
	} else {
		char byte;
		while (read(0, &byte, 1) > 0) {
		}
	}
	done = true;
	for (std::thread &thread : threads)
		thread.join();
	printf("%lu rounds\n", rounds.load());
	return 0;
}
