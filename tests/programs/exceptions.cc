/* SPDX-License-Identifier: MIT
 * exceptions.cc -- C++ exceptions through frames that allocate, in threads; the new handler;
 * bad_alloc of every form of new; aligned new; containers that throw half way. */
#include <atomic>
#include <functional>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "programs.h"

static std::atomic<long> alive;

struct fragile {
	std::string text;
	explicit fragile(int number) : text(static_cast<size_t>(number % 300), 'x') {
		if (number % 7 == 6)
			throw std::runtime_error("number " + std::to_string(number));
		alive++;
	}
	fragile(const fragile &other) : text(other.text) {
		if (text.size() % 13 == 12)
			throw std::length_error(text);
		alive++;
	}
	~fragile() {
		alive--;
	}
};

static long descend(int depth, int number) {
	std::vector<std::string> held(static_cast<size_t>(depth), std::string(100, 'y'));
	if (depth == 0)
		throw std::out_of_range(std::string(static_cast<size_t>(number % 200 + 1), 'z'));
	return descend(depth - 1, number) + static_cast<long>(held.size());
}

static void throwing_thread(int seed) {
	long caught = 0;
	for (int number = seed; number < seed + 3000; number++) {
		try {
			std::vector<fragile> many;
			std::map<int, fragile> by_number;
			for (int i = 0; i < 12; i++) {
				many.emplace_back(number + i);
				by_number.emplace(i, fragile(number + i));
			}
		} catch (const std::exception &error) {
			caught += error.what()[0] != 0;
		}
		try {
			descend(number % 30, number);
		} catch (const std::out_of_range &) {
			caught++;
		}
	}
	MUST(caught >= 3000);
}

/* More than any address space holds; volatile, so that the compiler cannot know. */
static volatile size_t too_much = static_cast<size_t>(1) << 62;

template <class request> static void must_throw(request make) {
	bool caught = false;
	try {
		make();
	} catch (const std::bad_alloc &) {
		caught = true;
	}
	MUST(caught);
}

static int handler_calls;

static void handler() {
	if (++handler_calls == 3)
		std::set_new_handler(nullptr);
}

struct own_error : std::bad_alloc {};

static void exhausted() {
	auto align = static_cast<std::align_val_t>(4096);
	must_throw([] { return ::operator new(too_much); });
	must_throw([] { return ::operator new[](too_much); });
	must_throw([&] { return ::operator new(too_much, align); });
	must_throw([&] { return ::operator new[](too_much, align); });
	MUST(::operator new(too_much, std::nothrow) == nullptr);
	MUST(::operator new[](too_much, std::nothrow) == nullptr);
	MUST(::operator new(too_much, align, std::nothrow) == nullptr);
	MUST(::operator new[](too_much, align, std::nothrow) == nullptr);
	/* The handler is called until it gives up. */
	std::set_new_handler(handler);
	must_throw([] { return ::operator new(too_much); });
	MUST(handler_calls == 3);
	/* What the handler throws comes out of new, and makes NULL of the nothrow form. */
	std::set_new_handler([] { throw own_error(); });
	bool caught = false;
	try {
		::operator delete(::operator new(too_much));
	} catch (const own_error &) {
		caught = true;
	}
	MUST(caught);
	MUST(::operator new(too_much, std::nothrow) == nullptr);
	std::set_new_handler(nullptr);
}

struct alignas(256) wide {
	char bytes[256];
};

static void aligned() {
	for (int i = 0; i < 1000; i++) {
		wide *one = new wide;
		wide *several = new wide[3];
		MUST(reinterpret_cast<size_t>(one) % 256 == 0);
		MUST(reinterpret_cast<size_t>(several) % 256 == 0);
		delete one;
		delete[] several;
	}
}

int main() {
	must_be_mallow();
	std::vector<std::thread> threads;
	for (int i = 0; i < 4; i++)
		threads.emplace_back(throwing_thread, i * 10007);
	for (auto &thread : threads)
		thread.join();
	MUST(alive == 0);
	exhausted();
	aligned();
	printf("exceptions, new handler, bad_alloc, alignment\n");
	return 0;
}
