program heat
  implicit none
  integer, parameter :: n = 40
  real(8) :: a(n, n), b(n, n)
  integer :: step
  a = 0
  a(1, :) = 100
  do step = 1, 50
    b = a
    a(2:n-1, 2:n-1) = (b(1:n-2, 2:n-1) + b(3:n, 2:n-1) + b(2:n-1, 1:n-2) + b(2:n-1, 3:n)) / 4
  end do
  print '(f20.15, es24.16, i6)', a(2, n / 2), sum(matmul(a, transpose(a))), count(a > 1)
end program
