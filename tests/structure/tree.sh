#!/bin/sh
# tree.sh ROOT: rules about the files of the project that no compiler checks. ROOT may hold build folders; they are left out.
set -eu
root=$1
cd "$root"
failed=0
complain() { printf '%s\n' "$*"; failed=1; }

sources() { find src include cl cmake tools tests .ci -type f "$@"; }
texts() { sources \( -name '*.[ch]' -o -name '*.cl' -o -name '*.clh' -o -name '*.def' -o -name '*.sh' -o -name '*.cmake' -o -name '*.in' -o \
    -name '*.cpp' -o -name '*.py' -o -name '*.supp' -o -name '*.md' -o -name 'CMakeLists.txt' -o -path .ci/run \); ls README.md CHANGELOG.md CMakeLists.txt; }
count=$(texts | wc -l)
[ "$count" -ge 50 ] || complain "only $count files: is $root a checkout?"

# Files that can be read in one go.
for file in $(texts); do
    lines=$(wc -l < "$file")
    [ "$lines" -le 800 ] || complain "$file has $lines lines, more than 800"
done

# Nothing of the machine it was written on, and no package registry by name: those come from the user's own settings.
# shellcheck disable=SC2046 # file names of ours hold no spaces
grep -nE 'pypi[.]org|pythonhosted[.]|deb[.]debian[.]|conda[.]|/[r]oot/|/[w]ork/|/[h]ome/' $(texts) && complain "machine paths or registry hosts"

# Every family of operators has its five files, every operator a builder with its parameters' meaning.
families=$(sed -n 's/^PCT_OP([a-z0-9_]*, *\([a-z0-9_]*\)).*/\1/p' src/op/ops.def | sort -u)
[ -n "$families" ] || complain "src/op/ops.def lists no families"
for family in $families; do
    for file in src/op/op_$family.c src/backend/cpu/cpu_$family.c cl/$family.cl src/backend/cl/cl_$family.c tests/ops/$family.c; do
        [ -f "$file" ] || complain "family $family lacks $file"
    done
done
for op in $(sed -n 's/^PCT_OP(\([a-z0-9_]*\),.*/\1/p' src/op/ops.def); do
    # The planner's own: it puts values into the layouts that implementations read.
    [ "$op" = reorder ] && continue
    grep -qE "^PCT_BUILDER\($op,|pct_status pct_$op\(" include/pct/ops.h || complain "operator $op has no builder in include/pct/ops.h"
done

# A kernel file says at its top what it computes, and each kernel's launch shape stands somewhere in its file.
for file in cl/*.cl; do
    head -n 1 "$file" | grep -q '^/\*' || complain "$file does not begin with a comment"
    grep -q '__kernel' "$file" && ! grep -qi 'launch' "$file" && complain "$file never says how its kernels are launched"
done

# What only the compiler makes, and what nobody should commit.
left=$(find src include cl cmake tools tests data -type f \( -name '*.o' -o -name '*.so' -o -name '*.a' -o -name '*.orig' -o -name '*.pyc' \))
[ -z "$left" ] || complain "compiled or left-over files: $left"
echo "$count files"
exit $failed
