#!/bin/sh
# From a bare Debian 12 to measured networks: installs what is missing, builds in build/, fetches demo weights and pictures,
# measures the OpenCL device and the CPU path with clbench, and lets both say what is in a picture. Run it again as often as
# you like: what is there stays, and only the measurements take time.
#
# usage: tools/quickstart.sh
set -eu
# shellcheck source=tools/setup.sh
. "$(dirname "$0")/setup.sh"

step "Packages"
install_build_packages clinfo
# A machine without any OpenCL device gets PoCL, which makes the processor one. Drivers that are there are left alone.
if ! clinfo --list 2> /dev/null | grep -q 'Device #0'; then
    install_packages pocl-opencl-icd
fi
note "all there"

step "Build"
configure "$build"
compile "$build" clbench clpredict pct

step "Demo weights and pictures"
cd "$root" # short names in what follows
weights=data/demo/efficientnet-lite0-57934424.pth
picture=data/demo/chelsea.png
if tools/fetch_demo.sh; then
    note "in data/demo"
else
    note "Going on without them: the networks run with synthetic weights, so what they say of the picture means nothing."
    weights=synthetic
    picture=tests/data/files/ramp.jpg
fi

step "clbench --quick"
build/tools/clbench --quick

predict() { build/tools/clpredict "$@" --model efficientnet_lite0 --weights "$weights" "$picture"; }
# The device that clbench has just taken: the first GPU, else the first there is.
device=$(build/tools/clbench --list --format json | python3 -c '
import json, sys
devices = json.load(sys.stdin)["devices"]
first = next((d for d in devices if d["type"] == "gpu"), devices[0] if devices else None)
if first: print("--platform", first["platform_index"], "--device", first["device_index"])')
if [ -n "$device" ]; then
    step "clpredict $device"
    # shellcheck disable=SC2086 # two options
    predict $device
else
    note "no OpenCL device"
fi
step "clpredict --cpu"
predict --cpu

step "Done"
if [ "$weights" = synthetic ]; then
    note "Everything works, with synthetic weights. With a network, run this again for the trained ones."
else
    note "Everything works. Next: build/tools/clbench --help, build/tools/clpredict --help"
fi
