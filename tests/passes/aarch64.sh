#!/bin/sh
# aarch64.sh ROOT LIBRARY_FOLDER: the cross-built library is complete and exports what the headers declare.
set -eu
library=$2/libpct.so
readelf -h "$library" | grep -q 'Machine: *AArch64' || { echo "$library is not for aarch64"; exit 1; }
sh "$1/tests/structure/symbols.sh" "$1" "$library" aarch64-linux-gnu-nm
