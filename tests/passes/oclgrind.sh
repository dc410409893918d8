#!/bin/sh
# oclgrind.sh OCLGRIND PROGRAM: runs a test program on the simulator. It exits 0 whatever it found, so its log decides.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$1" --data-races --uninitialized --check-api --log "$log" "$2" 2>&1
if [ -s "$log" ]; then
    echo "oclgrind found:"
    head -n 60 "$log"
    exit 1
fi
echo "oclgrind found nothing"
