# Shell: arithmetic, functions, loops, substitution, here-documents, case, traps.
square() { echo $(($1 * $1)); }
total=0
i=0
while [ $i -lt 50 ]; do
    total=$((total + i * 3 % 7))
    i=$((i + 1))
done
name=archive.tar.gz
echo "$total ${name%%.*} ${name##*.} ${#name} $(square 12)"
case $name in *.zip) echo zip ;; *.tar.*) echo tar ;; esac
for word in one two three; do printf '%-6s|' "$word"; done
echo
while read -r line; do set -- $line; echo "$2 $1"; done <<END
a b
c d
END
trap 'echo leaving' EXIT
(exit 3) || echo "status $?"
echo one two | { read first rest; echo "$rest-$first"; }
