(defun fib (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(format t "~a ~a ~a ~,6f~%" (fib 15) (expt 2 100) (mapcar #'1+ '(1 2 3)) (sqrt 2d0))
(format t "~a~%" (handler-case (error "thrown") (error (c) (princ-to-string c))))
