#!/bin/bash
# SPDX-License-Identifier: MIT
# perl.sh BUILD_DIR -- perl: hashes, strings that grow, regular expressions, sorts, fork, pipes.
. "$(dirname "$0")/lib.sh"
need perl

cat >"$work/script.pl" <<'END'
use strict;
use warnings;
my (%count, @rows, $text);
for my $i (1 .. 200000) {
    my $key = "k" . ($i * 7919 % 30011);
    $count{$key}++;
    push @rows, [$i, $key, "v" x ($i % 23)] if $i % 4 == 0;
    $text .= "$key;" if $i % 3 == 0;
}
my @sorted = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @sorted[0 .. 19];
my %seen;
$seen{length $1}++ while $text =~ /k(\d+);/g;
print "$_ $seen{$_}\n" for sort keys %seen;
splice @rows, 1000, 30000;
print scalar(@rows), " ", join(",", map { $_->[1] } @rows[0 .. 9]), "\n";
$text =~ s/k(\d)/<$1>/g;
print length($text), " ", unpack("%32C*", $text), "\n";
for my $child (1 .. 20) {
    my $pid = open(my $pipe, "-|") // die "fork: $!";
    if (!$pid) {
        my %own = map { $_ => "x" x ($_ % 50) } 1 .. 5000;
        print scalar(keys %own) * $child, "\n";
        exit 0;
    }
    print <$pipe>;
    close $pipe or die "child: $?";
}
END
PERL_HASH_SEED=0 same perl perl "$work/script.pl"
