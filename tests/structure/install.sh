#!/bin/sh
# install.sh ROOT BUILD CC CXX VERSION: installs into a scratch prefix, moves it, and there builds and runs a program of its
# own, in C and C++, through pkg-config and through find_package.
set -eu
root=$1 build=$2 cc=$3 cxx=$4 version=$5
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cmake --install "$build" --prefix "$scratch/first" > "$scratch/log" || { cat "$scratch/log"; exit 1; }
mv "$scratch/first" "$scratch/moved" # what is installed must not remember where
prefix=$scratch/moved
for file in bin/clbench bin/clpredict share/pct/imagenet_classes.txt include/pct/pct.h; do
    [ -s "$prefix/$file" ] || { echo "not installed: $file"; exit 1; }
done
[ -n "$(find "$prefix/share/doc" -name LICENSE)" ] || { echo "not installed: LICENSE"; exit 1; }
[ "$(find "$prefix/include" -type f | wc -l)" = "$(find "$root/include" -type f | wc -l)" ] || { echo "headers are missing"; exit 1; }

pc=$(find "$prefix" -name pct.pc)
PKG_CONFIG_PATH=$(dirname "$pc")
export PKG_CONFIG_PATH
[ "$(pkg-config --modversion pct)" = "$version" ] || { echo "pct.pc: version $(pkg-config --modversion pct)"; exit 1; }
libdir=$(dirname "$(dirname "$pc")")
cp "$root/tests/structure/consumer/consumer.c" "$scratch/consumer.cpp"
# shellcheck disable=SC2046 # lists of options
{
    "$cc" -std=c11 -pedantic -Wall -Wextra -Werror -o "$scratch/by_pc_c" "$root/tests/structure/consumer/consumer.c" $(pkg-config --cflags --libs pct) -lm
    "$cxx" -std=c++17 -pedantic -Wall -Wextra -Werror -o "$scratch/by_pc_cxx" "$scratch/consumer.cpp" $(pkg-config --cflags --libs pct)
}
readelf -d "$scratch/by_pc_c" | grep -q 'NEEDED.*libpct\.so\.0\]' || { echo "the program does not ask for libpct.so.0"; exit 1; }
export LD_LIBRARY_PATH="$libdir"
for program in by_pc_c by_pc_cxx; do
    echo "$program:"
    "$scratch/$program"
done
unset LD_LIBRARY_PATH

cmake -S "$root/tests/structure/consumer" -B "$scratch/consumer" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_CXX_COMPILER="$cxx" > "$scratch/log" && cmake --build "$scratch/consumer" >> "$scratch/log" || { cat "$scratch/log"; exit 1; }
for program in consumer_c consumer_cxx; do
    echo "$program:"
    "$scratch/consumer/$program"
done
grep -rl "$build" "$prefix" --include='*.cmake' --include='*.pc' --include='*.h' && { echo "the installed files name the build folder"; exit 1; }
"$prefix/bin/clpredict" --version
"$prefix/bin/clbench" --version
