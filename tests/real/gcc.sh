#!/bin/bash
# SPDX-License-Identifier: MIT
# gcc.sh BUILD_DIR -- g++ -O2 on a generated file that draws in much of the standard library:
# driver, compiler, assembler and linker all run with mallow; object and program must come out
# alike.
. "$(dirname "$0")/lib.sh"
need g++

{
    printf '#include <%s>\n' algorithm iostream map regex string
    printf '#include <unordered_map>\n#include <vector>\n#include <functional>\n#include <memory>\n'
    for i in $(seq 1 60); do
        printf 'template <int N> struct shape%d { std::map<std::string, std::vector<int>> m;\n' "$i"
        printf '  long run() { for (int i = 0; i < N; i++)\n'
        printf '      m[std::to_string(i %% %d)].push_back(i);\n' "$i"
        printf '    long s = 0; for (auto &e : m)\n'
        printf '      s += std::count_if(e.second.begin(), e.second.end(),\n'
        printf '      [](int v) { return v %% %d == 1; }); return s; } };\n' "$((i + 1))"
        printf 'long call%d() { shape%d<%d> s; return s.run(); }\n' "$i" "$i" "$((i * 10))"
    done
    printf 'int main() { std::regex r("a+(b|c)*"); long s = std::regex_match("aabcb", r);\n'
    for i in $(seq 1 60); do printf 's += call%d();\n' "$i"; done
    printf 'std::cout << s << "\\n"; }\n'
} >"$work/large.cc"
# -frandom-seed: the only thing g++ would make up anew at each run.
cat >"$work/session.sh" <<END
set -e
g++ -O2 -std=c++17 -frandom-seed=1 -c -o large.o "$work/large.cc"
sha256sum large.o
g++ -o large large.o
sha256sum large
./large
END
same gcc bash "$work/session.sh"
