# SPDX-License-Identifier: MIT
"""inputs.py -- what the real programs work on, written into the benchmark's work folder.  The same
bytes every time."""
import os

PYTHON = r'''
import ast, json, re
from collections import Counter, OrderedDict
total = 0
class Node:
    def __init__(self, key, children):
        self.key, self.children = key, children
def build(depth):
    return Node(depth, [build(depth - 1) for _ in range(4)] if depth else [])
def walk(node):
    return node.key + sum(walk(child) for child in node.children)
total += walk(build(7))
source = "\n".join(f"def f{i}(a, b):\n    return [a * {i} + b[k] for k in range({i})]"
                   for i in range(700))
total += sum(1 for _ in ast.walk(ast.parse(source)))
compile(source, "generated", "exec")
rows = [{"id": i, "name": f"row {i}", "tags": ["x" * (i % 40), str(i)]} for i in range(20000)]
text = json.dumps(rows)
total += len(json.loads(text))
words = Counter(re.findall(r"\w+", text))
total += len(words)
cache = OrderedDict()
for i in range(120000):
    cache[i % 7919] = bytes(i % 700)
    if i % 3 == 0:
        cache.popitem(last=False)
total += len(cache) + len("".join(f"{i};" for i in range(200000)).split(";"))
print("sum", total)
'''

PERL = r'''
use strict; use warnings;
my (%count, @lines); my $seed = 1; my $total = 0;
sub rnd { $seed = ($seed * 1103515245 + 12345) % 2147483648; return int($seed / 65536) % $_[0]; }
for my $i (1 .. 60000) {
    my $line = join " ", map { "word" . rnd(5000) } 1 .. 6;
    push @lines, $line;
    $count{$_}++ for split / /, $line;
}
for my $line (sort @lines) {
    my $copy = $line; $copy =~ s/word(\d+)/$1+1/ge; $total += length $copy;
}
my @trees;
for my $i (1 .. 30000) {
    push @trees, { id => $i, list => [1 .. $i % 20], name => "n$i" }; shift @trees if @trees > 2000;
}
$total += scalar(keys %count) + @trees;
print "sum $total\n";
'''

SQL = """
create table item(id integer primary key, name text, price real, note text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 60000)
insert into item select i, 'item ' || (i * 7919 % 60000), i * 1.5, substr('{note}', 1, i % 300)
    from n;
create index by_name on item(name);
create table sale(item integer, amount integer);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 80000)
insert into sale select i * 31 % 60000, i % 17 from n;
create index by_item on sale(item);
update item set note = note || name where id % 5 = 0;
delete from item where id % 11 = 0;
select 'sum', sum(length(x)) from (select name || count(*) as x from item
    join sale on sale.item = item.id
    group by name order by x);
select 'sum', count(*) from (select distinct substr(name, 1, 8), amount from item
    join sale on item = id);
""".replace("{note}", "lorem ipsum dolor sit amet " * 12)


def cxx_source(classes):
    """Templates, containers and overloads, as many as wanted."""
    parts = ["#include <map>\n#include <memory>\n#include <string>\n#include <vector>\n"
             "#include <algorithm>\n#include <functional>\n"]
    for i in range(classes):
        parts.append(f"""
template <typename T> struct box{i} {{
    std::map<std::string, std::vector<T>> values;
    T add(const std::string &key, T value) {{
        auto &list = values[key];
        list.push_back(value);
        std::sort(list.begin(), list.end(), [](const T &a, const T &b) {{ return a < b + {i}; }});
        return list.front();
    }}
}};
int use{i}(const std::string &key) {{
    box{i}<int> numbers;
    box{i}<double> reals;
    std::function<int(int)> f = [&](int x) {{ return x + numbers.add(key, x); }};
    return f({i}) + static_cast<int>(reals.add(key, {i}.5));
}}
""")
    return "".join(parts)


def write_inputs(folder):
    """Writes all inputs; returns the folder."""
    os.makedirs(folder, exist_ok=True)
    files = {"work.py": PYTHON, "work.pl": PERL, "work.sql": SQL, "work.cc": cxx_source(5)}
    for name, text in files.items():
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(text)
    return folder
