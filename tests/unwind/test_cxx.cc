// SPDX-License-Identifier: MIT
// test_cxx.cc -- walks in C++: while exceptions pass, in destructors and handlers, through the
// standard library's templates, virtual calls and threads.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

extern "C" {
#include "prof/unwind/unwind.h"
}
#include "test.h"

#ifdef __clang__
#define NOINLINE __attribute__((noinline))
#else
#define NOINLINE __attribute__((noipa))
#endif

struct Captured {
	uint64_t pcs[MW_UNWIND_DEPTH_MAX];
	mw_unwind_result_t result;
};

static thread_local Captured seen;

static NOINLINE void capture() {
	seen.result = mw_unwind_capture(seen.pcs, MW_UNWIND_DEPTH_MAX);
	__asm__ volatile("" ::: "memory");
}

// Is one of the callers of capture() in the 600 bytes from `function` on?
template <typename Function> static bool is_on_stack(Function *function) {
	for (unsigned i = 1; i < seen.result.depth; i++)
		if (seen.pcs[i] - reinterpret_cast<uint64_t>(function) < 600)
			return true;
	return false;
}

// Walks when it is destroyed.
struct Witness {
	std::string name = "a name that needs memory of its own";
	unsigned *walks;
	explicit Witness(unsigned *walks_made) : walks(walks_made) {
	}
	NOINLINE ~Witness() {
		capture();
		++*walks;
	}
};

static NOINLINE void thrower(unsigned depth) {
	if (depth == 0)
		throw std::runtime_error("thrown");
	thrower(depth - 1);
	__asm__ volatile("" ::: "memory");
}

static NOINLINE void passes(unsigned *walks) {
	Witness witness(walks);
	thrower(20);
	__asm__ volatile("" ::: "memory");
}

// The frames outside of the caller are those of `before`; the caller is `extra` calls deeper.  The
// compiler moves what exceptions run to places of their own, so addresses tell nothing there.
static void check_same_root(const Captured &before, unsigned extra) {
	CHECK(!seen.result.truncated);
	CHECK_EQ(seen.result.depth, before.result.depth + extra);
	for (unsigned i = 2; i < before.result.depth; i++)
		CHECK_EQ(seen.pcs[i + extra], before.pcs[i]);
}

static NOINLINE void catches(unsigned *walks) {
	capture();
	Captured before = seen;
	CHECK(seen.pcs[1] - reinterpret_cast<uint64_t>(catches) < 200);
	try {
		passes(walks);
	} catch (const std::runtime_error &error) {
		// The witness saw the stack while the exception was on its way: itself and
		// passes().
		check_same_root(before, 2);
		capture();
		check_same_root(before, 0);
		CHECK_STR(error.what(), "thrown");
		++*walks;
	}
	capture();
	check_same_root(before, 0);
}

static void test_exceptions() {
	for (unsigned i = 0; i < 100; i++) {
		unsigned walks = 0;
		catches(&walks);
		CHECK_EQ(walks, 2);
	}
}

static NOINLINE void sorts() {
	std::vector<int> numbers = {3, 1, 2, 5, 4};
	std::sort(numbers.begin(), numbers.end(), [](int a, int b) {
		capture();
		return a < b;
	});
	CHECK_EQ(numbers[0], 1);
	CHECK(is_on_stack(sorts));
	CHECK(!seen.result.truncated);
}

static void test_templates() {
	sorts();
}

struct First {
	virtual void first() {
	}
	virtual ~First() = default;
};

struct Second {
	virtual void second() = 0;
	virtual ~Second() = default;
};

struct Both : First, Second {
	NOINLINE void second() override {
		capture();
		__asm__ volatile("" ::: "memory");
	}
};

// Through the thunk that adjusts `this`.
static NOINLINE void calls_virtually(Second *object) {
	object->second();
	__asm__ volatile("" ::: "memory");
}

static void test_virtual_calls() {
	Both both;
	calls_virtually(&both);
	CHECK(seen.pcs[2] - reinterpret_cast<uint64_t>(calls_virtually) < 64);
	CHECK(!seen.result.truncated);
}

static NOINLINE void runs(const std::function<void()> &function) {
	function();
	__asm__ volatile("" ::: "memory");
}

static void test_threads() {
	std::vector<std::thread> threads;
	for (unsigned i = 0; i < 4; i++)
		threads.emplace_back([] {
			for (unsigned k = 0; k < 200; k++) {
				unsigned walks = 0;
				catches(&walks);
				runs(capture);
				CHECK(is_on_stack(runs));
				CHECK(!seen.result.truncated);
			}
		});
	for (std::thread &thread : threads)
		thread.join();
}

int main() {
	mw_unwind_start();
	RUN(test_exceptions);
	RUN(test_templates);
	RUN(test_virtual_calls);
	RUN(test_threads);
	return 0;
}
