program sets;
uses sysutils;
var i, j, primes: integer; composite: array[2..2000] of boolean; letters: set of char; s: string;
begin
  fillchar(composite, sizeof(composite), 0);
  primes := 0;
  for i := 2 to 2000 do
    if not composite[i] then begin
      inc(primes);
      j := i * 2;
      while j <= 2000 do begin composite[j] := true; inc(j, i) end
    end;
  letters := ['a'..'f'] + ['x'];
  s := format('%d primes %.6f %s', [primes, sqrt(2), uppercase('text')]);
  writeln(s, ' ', 'x' in letters);
end.
