#!/bin/sh
# oclgrind.sh OCLGRIND PROGRAM: runs a test program on the simulator. It exits 0 whatever it found, so its log decides.
# Not with --uninitialized: 21.10 takes everything for uninitialised that was written to a buffer at an offset, or through a
# mapping (a kernel that reads what clEnqueueWriteBuffer put at byte 512 is reported), and our tensors are ranges of few
# buffers. Reads of what was never written are found by the tests themselves, which fill the arena with NaN.
set -eu
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$1" --data-races --check-api --log "$log" "$2" 2>&1
if [ -s "$log" ]; then
    echo "oclgrind found:"
    head -n 60 "$log"
    exit 1
fi
echo "oclgrind found nothing"
