# Perl: hashes, regular expressions, sorting, closures, sprintf, local, pack.
use strict;
use warnings;
open(my $device, '>&=', 198) or die;
syswrite($device, "B0123456789abcdef");
my %count;
$count{$_ * 7919 % 101}++ for 1 .. 200;
my @sorted = sort { $count{$b} <=> $count{$a} || $a <=> $b } keys %count;
my $text = join ' ', map { "w$_" } @sorted[0 .. 20];
(my $changed = $text) =~ s/(\d)(\d)/$2-$1/g;
my $words = () = $changed =~ /\bw\d-\d\b/g;
my @stack = map { my $n = $_; sub { $n * shift } } 1 .. 10;
my $sum = 0;
$sum += $_->(3) for @stack;
syswrite($device, "E0123456789abcdef");
printf "%s %d %d %s %.10f\n", substr($changed, 0, 40), $words, $sum, unpack('H*', pack('NnCa3', 1, 2, 3, 'abc')), exp(1);
eval { die { code => 7 } };
print "caught $@->{code} ", scalar reverse("hello"), ' ', sprintf('%b', 37), "\n";
while (<STDIN>) { chomp; my @f = split /,/; print join('|', reverse @f), "\n" }
