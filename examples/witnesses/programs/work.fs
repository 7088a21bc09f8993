: fib ( n -- f ) dup 2 < if exit then dup 1- recurse swap 2 - recurse + ;
: squares 10 0 do i i * . loop ;
20 fib . squares cr 355e 113e f/ f. cr bye
