(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(display (list (fib 15) (expt 2 100) (map (lambda (x) (* x x)) '(1 2 3)) (/ 1 3) (string-append "a" "b")))
(newline)
