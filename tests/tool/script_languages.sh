#!/bin/bash
# SPDX-License-Identifier: MIT
# script_languages.sh BUILD_DIR -- functions of Perl, PHP and Ruby are in the stacks: each stack is
# what the interpreter itself says at that point, in the profile of a killed process.  Those that
# are not installed are named.
source "$(dirname "$0")/lib.bash"
needs python3

# Each program allocates blocks at many points, writes what the interpreter says of each point as
# "file<TAB>line<TAB>name" lines, innermost first, an empty line behind each stack, and kills
# itself.

cat >points.pl <<'END'
use strict; use warnings;
use lib '.';
our (@kept, @points);
my $size = 300000;
sub trace {
    my @stack;
    for (my $i = 0; my @at = caller($i); $i++) {
        my @around = caller($i + 1);
        my $name = @around ? $around[3] : '(main)';
        # A block of eval is part of its sub: the place in it is that of the sub.
        my $is_string = @around && defined $around[6];
        $name = '(require)' if @around && $around[7];
        push @stack, [$at[1], $at[2], $name]
            unless $i > 0 && @at && $at[3] eq '(eval)' && !defined $at[6] && !$at[7];
        $stack[-1][2] = $name;
    }
    push @points, \@stack;
}
sub probe { push @kept, "x" x $size; trace(); }
sub deep { my $n = shift; return $n ? deep($n - 1) : probe(); }
package Some::Thing {
    sub new { my $self = bless {}, shift; $self->fill(3); return $self; }
    sub fill { my ($self, $n) = @_; main::probe() for 1 .. $n; }
    sub TIESCALAR { return bless {}, shift; }
    sub FETCH { main::probe(); return 1; }
    sub DESTROY { main::probe(); }
    use overload '+' => sub { main::probe(); return 1; };
}
package main;
sub by_key { probe(); return $a <=> $b; }
sub from_two_lines {
    probe();
    probe();
    foreach my $i (1 .. 2) {
        while (1) { probe(); last; }
    }
}
sub everything {
    deep($_) for 0 .. 30;
    my $thing = Some::Thing->new;
    my $sum = $thing + 1;
    tie my $tied, 'Some::Thing';
    $sum += $tied;
    my @sorted = sort by_key 3, 1, 2;
    from_two_lines();
    my $anonymous = sub { probe(); };
    $anonymous->();
    map { probe() } 1 .. 2;
    eval { probe(); die "no\n" };
    eval "probe();\n\nprobe(); 1" or die;
    for my $n (1 .. 300) {
        my $lines = "\n" x ($n % 7);
        eval "sub made_$n {$lines probe() }\n made_$n(); 1" or die;
    }
    (my $text = "aXbX") =~ s/X/probe(); ''/e;
    local $SIG{__WARN__} = sub { probe() };
    warn "told\n";
    require Loaded;
}
open my $module, '>', 'Loaded.pm' or die;
print $module "package Loaded;\nmain::probe();\nsub import { main::probe() }\n1;\n";
close $module;
everything();
Loaded->import;
open my $out, '>', $ARGV[0] or die;
print $out join('', map { "$_->[0]\t$_->[1]\t$_->[2]\n" } @$_), "\n" for @points;
close $out;
kill 9, $$;
END

cat >points.php <<'END'
<?php
$kept = []; $points = [];
function trace($line) {
    global $points;
    $stack = []; $file = __FILE__; $index = 0;
    $calls = debug_backtrace(DEBUG_BACKTRACE_IGNORE_ARGS);
    array_shift($calls); // trace itself
    foreach ($calls as $call) {
        $name = $call['function'];
        if (in_array($name, ['include', 'require', 'eval'])) $name = '{main}';
        $class = isset($call['class']) ? $call['class'] . '::' : '';
        $stack[] = [$file, $line, $class . $name];
        $file = $call['file'] ?? ''; $line = $call['line'] ?? 0;
    }
    $stack[] = [$file, $line, '{main}'];
    $points[] = $stack;
}
function probe() { global $kept; $kept[] = str_repeat('x', 300000); trace(__LINE__); }
function deep($n) { return $n ? deep($n - 1) : probe(); }
class Thing implements IteratorAggregate {
    function __construct() { probe(); $this->fill(2); }
    function fill($n) { for ($i = 0; $i < $n; $i++) probe(); }
    static function made() { probe(); return new self; }
    function __get($name) { probe(); return 1; }
    function __toString() { probe(); return 'thing'; }
    function getIterator(): Iterator { foreach ([1, 2] as $i) { probe(); yield $i; } }
}
function by_key($a, $b) { probe(); return $a - $b; }
function from_two_lines() {
    probe();
    probe();
}
function everything() {
    for ($n = 0; $n < 30; $n++) deep($n);
    $thing = Thing::made();
    $thing->other;
    "$thing";
    foreach ($thing as $i) probe();
    $list = [3, 1, 2];
    usort($list, 'by_key');
    array_map(function ($x) { probe(); return $x; }, [1, 2]);
    array_map(fn($x) => probe(), [1]);
    call_user_func('from_two_lines');
    try { probe(); throw new Exception; } catch (Exception $e) { probe(); } finally { probe(); }
    for ($n = 0; $n < 100; $n++)
        eval(str_repeat("\n", $n % 7) . "function made_$n() { probe(); }\n made_$n();");
    file_put_contents('included.php',
        "<?php\nprobe();\nfunction other() {\n probe();\n}\nother();\n");
    include './included.php';
}
everything();
$out = '';
foreach ($points as $stack) {
    foreach ($stack as $frame) $out .= implode("\t", $frame) . "\n";
    $out .= "\n";
}
file_put_contents($argv[1], $out);
posix_kill(getmypid(), 9);
END

cat >points.rb <<'END'
$kept, $points = [], []
# Methods in C have the place of their caller; native frames show them.
IN_C = %w[each map times sort_by send instance_eval eval define_method call public_send new loop
          require load resume require_relative each_with_index inject yield]
def trace(places) = $points << places.map { |at| [at.path, at.lineno, at.label] }
def probe; $kept << "x" * 300000; trace(caller_locations(0)); end
def deep(n) = n > 0 ? deep(n - 1) : probe
class Thing
  def initialize; probe; fill(2); end
  def fill(n); n.times { probe }; end
  def self.made; probe; Thing.new; end
  def method_missing(name, *rest); probe; end
  def respond_to_missing?(name, all = false) = true
  def to_s; probe; "thing"; end
  def each_part; yield 1; probe; yield 2; end
end
def by_key(x); probe; -x; end
def from_two_lines
  probe
  probe
end
def everything
  30.times { |n| deep(n) }
  thing = Thing.made
  thing.other
  "#{thing}"
  thing.each_part { |i| probe }
  [3, 1, 2].sort_by { |x| by_key(x) }
  [1, 2].map do |x|
    probe
  end
  from_two_lines
  lambda { probe }.call
  send(:from_two_lines)
  begin
    probe
    raise "no"
  rescue
    probe
  ensure
    probe
  end
  100.times do |n|
    text = "\n" * (n % 7) + "def made_#{n}; probe; end\n made_#{n}"
    eval(text, binding, "(made #{n % 5})")
  end
  fiber = Fiber.new { probe; Fiber.yield 1; probe }
  fiber.resume
  probe
  fiber.resume
  long
end
# A method with more positions than the near part of the table of lines has.
lines = 200.times.map { |n| "  x#{n} = #{n}.to_s + 'a'\n" + (n % 20 == 0 ? "  probe\n" : "") }
eval("def long\n" + lines.join + "end", nil, "(long)")
everything
Thread.new { everything }.join
File.open(ARGV[0], "w") do |out|
  $points.each do |stack|
    stack.each { |frame| out << frame.join("\t") << "\n" unless IN_C.include?(frame[2]) }
    out << "\n"
  end
end
Process.kill(9, $$)
END

# Stacks of the profile in which probe's line allocates, and the interpreter's.  Functions of
# extensions, and of the interpreter's own files, stand in both or are left out of both.
cat >compare.py <<'END'
import json, sys
def is_shown(frame):
    return not frame[0].startswith("<internal:")
wanted = set()
for stack in open(sys.argv[1]).read().split("\n\n"):
    frames = [line.split("\t") for line in stack.strip().split("\n")]
    if len(frames[0]) == 3:
        wanted.add(tuple((f[0], int(f[1]), f[2]) for f in frames if is_shown(f)))
innermost = next(iter(wanted))[0]
found = set()
for stack in json.load(open(sys.argv[2]))["stacks"]:
    # Native frames are "[file]": nothing is symbolized.
    script = [(f.get("file", ""), f.get("line", 0), f["name"]) for f in stack["frames"]
              if not f["name"].startswith("[")]
    script = [frame for frame in script if is_shown(frame)]
    while script and script[0][1] == 0:
        script.pop(0)
    if script and script[0] == innermost:
        found.add(tuple(script))
for stack in list(wanted - found)[:2]:
    print("not in the profile:", *stack, sep="\n    ")
for stack in list(found - wanted)[:2]:
    print("in the profile only:", *stack, sep="\n    ")
print(f"{len(wanted)} stacks, {len(wanted - found)} missing, {len(found - wanted)} wrong")
sys.exit(wanted != found or len(wanted) < 100)
END

# try_language NAME SUFFIX PROGRAM VERSION: the program is run when its version can be read.
try_language() {
    local name=$1 suffix=$2 program=$3 version=$4
    if ! command -v "$program" >/dev/null; then
        echo "not run: $name, which is not installed"
        return
    fi
    LD_PRELOAD=$build/lib/libmallow.so MALLOW_CONF=prof_sample:1,prof_bt_max:512 \
        USE_ZEND_ALLOC=0 "$program" "points.$suffix" wanted &
    pid=$!
    wait $pid 2>/dev/null
    started+=("$pid")
    try 0 "$mallow" traces --json --symbolize=none "$pid"
    python3 compare.py wanted out >compared || {
        cat compared
        fail "$name: stacks differ"
    }
    ok "$name $version: $(tail -1 compared)"
}
try_language perl pl perl "$(perl -e 'print $^V')"
try_language php php php "$(php -r 'echo PHP_VERSION;')"
try_language ruby rb ruby "$(ruby -e 'print RUBY_VERSION')"
