proc fib n { expr {$n < 2 ? $n : [fib [expr {$n - 1}]] + [fib [expr {$n - 2}]]} }
foreach word {the cat and the dog} { dict incr counts $word }
puts "[fib 15] $counts [lsort -integer {30 4 100}] [string toupper abc] [expr {2**70}]"
puts [regsub -all {[aeiou]} "hello world" {<&>}]
