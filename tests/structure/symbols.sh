#!/bin/sh
# symbols.sh ROOT LIBRARY NM: the shared library exports what the public headers declare with PCT_API and nothing else, all
# named pct_*, at most 80 of them.
set -eu
root=$1 library=$2 nm=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
"$nm" -D --defined-only "$library" | awk '{ print $NF }' | sed 's/@.*//' | sort -u > "$scratch/exported"
# One declaration a line, then the name before its parameters.
cat "$root"/include/pct/*.h | tr '\n' ' ' | sed 's/PCT_API/\n&/g' | sed -n 's/^PCT_API [^(;]*[ *]\(pct_[a-z0-9_]*\)(.*/\1/p' |
    sort -u > "$scratch/declared"

grep -v '^pct_' "$scratch/exported" > "$scratch/foreign" && { echo "exported, but not named pct_*:"; cat "$scratch/foreign"; failed=1; }
comm -23 "$scratch/exported" "$scratch/declared" > "$scratch/hidden"
comm -13 "$scratch/exported" "$scratch/declared" > "$scratch/missing"
[ -s "$scratch/hidden" ] && { echo "exported, but declared in no public header:"; cat "$scratch/hidden"; failed=1; }
[ -s "$scratch/missing" ] && { echo "declared, but not exported:"; cat "$scratch/missing"; failed=1; }
count=$(wc -l < "$scratch/exported")
echo "$count exported functions"
[ "$count" -ge 20 ] || { echo "too few: is this the library?"; failed=1; }
[ "$count" -le 80 ] || { echo "more than 80"; failed=1; }
exit $failed
