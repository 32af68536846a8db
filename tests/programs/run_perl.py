"""run_perl.py: perl reads a text, counts, sorts, substitutes and builds strings and nested hashes."""

from service import Trial, libraries_from_arguments, need

JOB = r"""
use strict; use warnings;
my (%count, %by_length, @lines);
my $state = 42;
sub draw { $state = ($state * 1103515245 + 12345) % 2147483648; return $state % $_[0]; }
for my $n (1 .. 30000) { push @lines, join ' ', map { join '', map { chr(97 + draw(14)) } 0 .. draw(9) } 0 .. draw(8); }
for (@lines) { for my $word (split) { $count{$word}++; push @{$by_length{length $word}}, $word; } }
my $text = join "\n", @lines;
(my $changed = $text) =~ s/\b([a-f]+)([g-n]+)\b/$2-$1/g;
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$_ $count{$_}\n" for @top[0 .. 999];
print "$_: ", scalar @{$by_length{$_}}, " ", substr(join('', sort @{$by_length{$_}}), 0, 400), "\n" for sort { $a <=> $b } keys %by_length;
print length($changed), " ", unpack('%32C*', $changed), "\n";
my %nested; $nested{$_ % 7}{$_ % 101}{$_} = "value $_" x ($_ % 5) for 1 .. 60000;
delete $nested{3};
print join(',', map { my $k = $_; $k . '=' . scalar(map { keys %$_ } values %{$nested{$k}}) } sort keys %nested), "\n";
"""


def main() -> None:
    trial = Trial(libraries_from_arguments())
    perl = need("perl")
    trial.expect_equal("output", {
        allocator.name: allocator.run(perl, "-e", JOB, PERL_HASH_SEED="0", PERL_DESTRUCT_LEVEL="2") for allocator in trial.all})
    trial.expect_service(("perl",))
    trial.close()


main()
