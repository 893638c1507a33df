// SPDX-License-Identifier: MIT
// containers.cc MODE -- C++'s own containers.  Modes: maps (ordered and hashed maps of strings,
// filled and emptied), lists (lists, deques and shared pointers), words (an index of the words of a
// text).
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "workload.h"

namespace {

uint64_t seed = 31;

std::string word(unsigned kinds) {
	uint64_t number = wl_below(&seed, kinds) * UINT64_C(0x9e3779b97f4a7c15);
	std::string text;
	for (unsigned i = 0; i < 4 + number % 28; i++)
		text.push_back(static_cast<char>('a' + (number >> i) % 26));
	return text;
}

uint64_t maps() {
	std::map<std::string, std::string> ordered;
	std::unordered_map<std::string, std::vector<int>> hashed;
	uint64_t sum = 0;
	for (int i = 0; i < 500000; i++) {
		ordered[word(30000)] = word(1000000);
		auto &numbers = hashed[word(20000)];
		numbers.push_back(i);
		if (numbers.size() > 20)
			hashed.erase(word(20000));
		if (i % 4 == 0)
			sum += ordered.erase(word(30000));
	}
	return sum + ordered.size() + hashed.size();
}

struct item {
	uint64_t value;
	std::shared_ptr<item> before;
};

uint64_t lists() {
	uint64_t sum = 0;
	for (int round = 0; round < 60; round++) {
		std::list<std::unique_ptr<uint64_t>> numbers;
		std::deque<std::shared_ptr<item>> items;
		std::shared_ptr<item> last;
		for (uint64_t i = 0; i < 40000; i++) {
			numbers.push_back(std::make_unique<uint64_t>(i));
			last = std::make_shared<item>(item{i, i % 8 ? last : nullptr});
			items.push_back(last);
			if (items.size() > 1000) {
				sum += items.front()->value;
				items.pop_front();
			}
		}
		numbers.remove_if([](const auto &number) { return *number % 3 == 0; });
		for (const auto &number : numbers)
			sum += *number;
	}
	return sum;
}

uint64_t words() {
	std::map<std::string, std::vector<std::string>> index;
	for (int i = 0; i < 260000; i++) {
		std::string before = word(4000);
		index[before].push_back(before + " " + word(4000) + " " + word(4000));
	}
	uint64_t sum = 0;
	for (const auto &[key, texts] : index)
		for (const auto &text : texts)
			sum += text.size() * key.size();
	return sum;
}

} // namespace

int main(int argc, char **argv) {
	std::string mode = argc > 1 ? argv[1] : "maps";
	if (mode == "lists")
		return wl_finish(lists());
	return wl_finish(mode == "words" ? words() : maps());
}
