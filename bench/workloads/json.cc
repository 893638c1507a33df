// SPDX-License-Identifier: MIT
// json.cc -- makes a JSON text of some megabytes, reads it into a tree of values, walks it, several
// times.
#include <cctype>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "workload.h"

namespace {

struct value {
	std::string text; // of a string or number
	std::vector<std::unique_ptr<value>> items;
	std::map<std::string, std::unique_ptr<value>> members;
};

class reader {
      public:
	explicit reader(const std::string &text) : text_(text) {
	}

	std::unique_ptr<value> read() {
		skip_space();
		auto result = std::make_unique<value>();
		if (take('['))
			read_items(*result);
		else if (take('{'))
			read_members(*result);
		else if (text_[at_] == '"')
			result->text = read_string();
		else
			while (std::isalnum(static_cast<unsigned char>(text_[at_])))
				result->text.push_back(text_[at_++]);
		return result;
	}

      private:
	void skip_space() {
		while (text_[at_] == ' ' || text_[at_] == '\n')
			at_++;
	}

	bool take(char c) {
		skip_space();
		if (text_[at_] != c)
			return false;
		at_++;
		return true;
	}

	std::string read_string() {
		std::string result;
		for (at_++; text_[at_] != '"'; at_++)
			result.push_back(text_[at_]);
		at_++;
		return result;
	}

	void read_items(value &into) {
		while (!take(']')) {
			into.items.push_back(read());
			take(',');
		}
	}

	void read_members(value &into) {
		while (!take('}')) {
			std::string key = read_string();
			take(':');
			into.members[key] = read();
			take(',');
			skip_space();
		}
	}

	const std::string &text_;
	size_t at_ = 0;
};

uint64_t seed = 37;

void write(std::string &out, unsigned depth) {
	if (depth == 0) {
		if (wl_below(&seed, 2))
			out += std::to_string(wl_below(&seed, 1000000));
		else
			out += '"' + std::string(1 + wl_below(&seed, 40), 'x') + '"';
		return;
	}
	bool list = wl_below(&seed, 2);
	out += list ? '[' : '{';
	for (unsigned i = 0; i < 8; i++) {
		if (i)
			out += ", ";
		if (!list)
			out += "\"member" + std::to_string(i) + "\": ";
		write(out, depth - 1);
	}
	out += list ? ']' : '}';
}

uint64_t count(const value &tree) {
	uint64_t sum = 1 + tree.text.size();
	for (const auto &item : tree.items)
		sum += count(*item);
	for (const auto &[key, member] : tree.members)
		sum += key.size() + count(*member);
	return sum;
}

} // namespace

int main() {
	std::string text;
	write(text, 6);
	uint64_t sum = 0;
	for (int i = 0; i < 3; i++)
		sum += count(*reader(text).read());
	return wl_finish(sum);
}
