#!/bin/sh
# headers.sh ROOT CC CXX: every public header compiles alone, twice in a row, as strict C11 and as C++17; so does the README's
# example, in C.
set -eu
root=$1 cc=$2 cxx=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0 failed=0
for header in "$root"/include/pct/*.h; do
    name=pct/${header##*/}
    printf '#include "%s"\n#include "%s"\nint main(void);\nint main(void) { return 0; }\n' "$name" "$name" > "$scratch/x.c"
    printf '#include "%s"\n#include "%s"\nint main() { return 0; }\n' "$name" "$name" > "$scratch/x.cpp"
    strict="-pedantic -Wall -Wextra -Werror -fsyntax-only -I$root/include"
    # shellcheck disable=SC2086 # a list of options
    "$cc" -std=c11 -Wstrict-prototypes $strict "$scratch/x.c" || { echo "$name does not compile as C11"; failed=1; }
    # shellcheck disable=SC2086
    "$cxx" -std=c++17 $strict "$scratch/x.cpp" || { echo "$name does not compile as C++17"; failed=1; }
    grep -q "\"$name\"" "$root/include/pct/pct.h" || [ "$name" = pct/pct.h ] || { echo "pct.h leaves out $name"; failed=1; }
    count=$((count + 1))
done
sed -n '/^```c$/,/^```$/p' "$root/README.md" | sed '/^```/d' > "$scratch/readme.c"
grep -q '^int main' "$scratch/readme.c" || { echo "README.md has no example in C"; failed=1; }
# shellcheck disable=SC2086
"$cc" -std=c11 $strict "$scratch/readme.c" || { echo "the README's example does not compile"; failed=1; }
[ "$count" -ge 5 ] || { echo "only $count headers in $root/include/pct"; failed=1; }
echo "$count headers"
exit $failed
