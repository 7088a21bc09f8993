<?php
$counts = array_count_values(explode(' ', 'the cat and the dog and the end'));
arsort($counts);
echo 'hello from PHP ', json_encode($counts), "\n";
$squares = array_map(fn($i) => $i ** 2, range(1, 10));
printf("%s %.6f %s %s\n", implode(',', $squares), sqrt(2), strrev('abc'), preg_replace('/(\d)/', '<$1>', 'a1b2'));
try { intdiv(1, 0); } catch (DivisionByZeroError $e) { echo get_class($e), ' ', md5('x'), "\n"; }
