# bash: arrays, associative arrays, patterns, arithmetic, pipelines with programs.
declare -A ages=([ann]=31 [bob]=25)
list=(delta alpha charlie bravo)
for name in $(printf '%s\n' "${!ages[@]}" | sort); do echo "$name ${ages[$name]}"; done
printf '%s\n' "${list[@]}" | sort -r | head -2 | tr a-z A-Z
printf B0123456789abcdef >&198
a=0 b=1
for ((i = 0; i < 20; i++)); do ((c = a + b, a = b, b = c)); done
text="${list[*]}"
text=${text//a/4}
[[ $text =~ ([a-z]+)4([a-z]+) ]]
printf E0123456789abcdef >&198
echo "$a $text ${BASH_REMATCH[1]} ${text:2:5} ${list[@]: -1} ${#list[@]}"
seq 1 20 | while read n; do ((n % 7)) || echo "seven $n"; done
