#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""generate.py DIR [UNITS]: a C++ program with much debug information and heavy inlining.

Each unit instantiates the standard library's containers for types of its own: some 9 MB of DWARF at
-O2 -g.  The program allocates from every one of them along several ways."""
import pathlib
import sys

STORES = 20  # types a unit
WAYS = 6  # ways to each unit

UNIT = """// Made by generate.py.
#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>
namespace unit{number} {{
template <int K> struct Item {{
	std::string name;
	std::vector<std::unique_ptr<std::string>> parts;
}};
template <int K> struct Store {{
	std::map<std::string, Item<K>> by_name;
	std::unordered_map<int, std::vector<Item<K>>> by_id;
	std::deque<Item<K>> queue;
	std::set<std::string> names;
	std::vector<std::string> kept;
	__attribute__((noinline)) void add(int i) {{
		Item<K> item;
		item.name = std::to_string(i) + "-" + std::to_string(K);
		for (int j = 0; j < 3; j++)
			item.parts.push_back(std::make_unique<std::string>(64 + K, 'x'));
		names.insert(item.name);
		Item<K> other;
		other.name = item.name + " again";
		by_id[i % 7].push_back(std::move(other));
		queue.emplace_back();
		queue.back().name = item.name;
		by_name.emplace(item.name, std::move(item));
		std::vector<std::string> some;
		for (auto &name : names)
			if (some.size() < 4)
				some.push_back(name);
		std::sort(some.begin(), some.end(), [](auto &a, auto &b) {{ return a > b; }});
		std::ostringstream text;
		for (auto &name : some)
			text << name;
		kept.push_back(text.str());
	}}
}};
void run(int count) {{
	std::regex pattern("a+b");
	std::regex_match("aab", pattern);
{body}}}
}} // namespace unit{number}
"""

STORE = """	static Store<{k}> store{k};
	for (int i = 0; i < count; i++)
		store{k}.add(i);
"""


def main():
    folder = pathlib.Path(sys.argv[1])
    units = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    folder.mkdir(parents=True, exist_ok=True)
    body = "".join(STORE.format(k=k) for k in range(STORES))
    for number in range(units):
        (folder / f"unit{number}.cc").write_text(UNIT.format(number=number, body=body))
    lines = ["// Made by generate.py."]
    lines += [f"namespace unit{n} {{ void run(int count); }}" for n in range(units)]
    for way in range(WAYS):
        lines.append(f"__attribute__((noinline)) static void way{way}(int count) {{")
        lines += [f"\tunit{n}::run(count);" for n in range(units)]
        lines.append('\t__asm__ volatile("" ::: "memory");\n}')
    lines.append("int main() {")
    lines += [f"\tway{way}(40);" for way in range(WAYS)]
    lines.append("\treturn 0;\n}")
    (folder / "main.cc").write_text("\n".join(lines) + "\n")


main()
