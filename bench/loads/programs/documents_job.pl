#!/usr/bin/env perl
# JSON, regular expressions and compression, in Perl and its own modules. Ends with an error if a result is wrong.
#
#     perl bench/loads/programs/documents_job.pl [SCALE]
#
# Perl asks its C library for every scalar, array, hash and body of text, and grows texts by realloc; zlib adds windows of
# 256 KiB. A log is written, taken apart by patterns, turned to documents and back, and compressed. What it does depends
# on nothing but SCALE (and hashes are not randomised: see the environment in documents.toml). The milliseconds of each
# part go to the file $SNUG_FIGURES, if that is set.
use strict;
use warnings;
use Compress::Zlib qw(compress uncompress);
use JSON::PP;
use Time::HiRes qw(time);

my $scale = shift // 5;
my $state = 1;

sub random {
  $state = ($state * 1103515245 + 12345) % 2147483648;
  return ($state >> 16) % $_[0];
}

sub expect {
  my ($what, $found, $wanted) = @_;
  die "documents_job.pl: $what: found $found, wanted $wanted\n" if $found ne $wanted;
}

my (@lines, %by_host, @documents);

sub written_log {
  my @verbs = qw(GET PUT POST DELETE);
  for my $number (1 .. 25_000 * $scale) {
    push @lines, sprintf('10.0.%d.%d [%d] "%s /path/%s/%x" %d %d', random(4), random(250), $number, $verbs[random(4)],
      'seg' x random(8), random(32768), 200 + random(300), random(30000));
  }
  expect('lines', scalar @lines, 25_000 * $scale);
}

sub patterns {
  for my $line (@lines) {
    $line =~ /^(?<host>[\d.]+) \[(\d+)\] "(?<verb>\w+) (?<path>\S+)" (\d+) (?<size>\d+)$/
      or die "documents_job.pl: a line was damaged: $line\n";
    my %entry = (number => $2, verb => $+{verb}, path => $+{path}, size => 0 + $+{size});
    my $host = $+{host};
    $entry{path} =~ s/(?:seg)+/s/g;
    push @{ $by_host{$host} }, \%entry;
  }
  my $entries = 0;
  $entries += @$_ for values %by_host;
  expect('entries', $entries, scalar @lines);
}

sub json {
  my $coder = JSON::PP->new->canonical;
  for my $host (sort keys %by_host) {
    my $entries = $by_host{$host};
    # A part of each is enough: this coder is slow.
    my @part = @{$entries}[0 .. ($#$entries < 11 ? $#$entries : 11)];
    my $text = $coder->encode({ host => $host, entries => \@part });
    my $back = $coder->decode($text);
    expect('size', $back->{entries}[0]{size}, $entries->[0]{size});
    expect('text', $coder->encode($back), $text);
    push @documents, $text;
  }
}

sub compression {
  for my $round (1 .. 4) {
    for my $first (map { $_ * 500 } 0 .. @lines / 500 - 1) {
      my $text = join "\n", @lines[ $first .. $first + 499 ];
      my $packed = compress($text);
      expect('unpacked', length uncompress($packed), length $text);
      $documents[ random(scalar @documents) ] = $packed;
    }
  }
}

my @figures;
for my $part ([log => \&written_log], [patterns => \&patterns], [json => \&json], [compression => \&compression]) {
  my $start = time;
  $part->[1]->();
  my $ms = (time - $start) * 1000;
  printf "%-12s %8.1f ms\n", $part->[0], $ms;
  push @figures, sprintf '"%s": {"value": %.3f, "unit": "ms", "better": "lower"}', $part->[0], $ms;
}
if (defined $ENV{SNUG_FIGURES}) {
  open my $file, '>', $ENV{SNUG_FIGURES} or die "documents_job.pl: $ENV{SNUG_FIGURES}: $!\n";
  print $file '{' . join(",\n", @figures) . "}\n";
  close $file or die "documents_job.pl: $ENV{SNUG_FIGURES}: $!\n";
}
