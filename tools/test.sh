#!/bin/sh
# Everything that can be tested on a machine without a GPU: the suite on the machine's OpenCL devices and the CPU path, and its
# passes on PoCL with small work-groups, Intel's OpenCL runtime, oclgrind, other instruction sets, with sanitizers, and the
# library for aarch64. One CTest run, whose summary comes last. What a pass needs and cannot be had is said and left out.
#
# usage: tools/test.sh [ctest options]      for example -L main, or -R op_conv2d
set -eu
# shellcheck source=tools/setup.sh
. "$(dirname "$0")/setup.sh"

# intel_runtime FOLDER: Intel's OpenCL runtime for CPUs in a Python environment of its own, and an ICD folder with it alone.
intel_runtime()
{
    [ "$(uname -m)" = x86_64 ] || { note "Intel's OpenCL runtime is for x86-64 only"; return 1; }
    if [ ! -f "$1/complete" ]; then
        rm -rf "$1"
        mkdir -p "$1/icd"
        if ! { python3 -m venv "$1/venv" && "$1/venv/bin/python" -m pip install -q --disable-pip-version-check --retries 2 \
            --timeout 30 intel-opencl-rt intel-cmplr-lib-rt; } > "$1/log" 2>&1; then
            tail -n 3 "$1/log"
            return 1
        fi
        # The package's own ICD file names a folder that exists on no machine.
        realpath "$1/venv/lib/libintelocl.so" > "$1/icd/intel.icd"
    fi
    # A library that lacks another one is left out by the loader without a word.
    OCL_ICD_VENDORS=$1/icd clinfo --list 2>&1 | grep -q 'Device #0' || { note "its library does not load"; return 1; }
    : > "$1/complete"
}

step "Packages"
# PoCL is the device of the main pass where there is no other.
install_build_packages g++ clinfo pocl-opencl-icd oclgrind gcc-aarch64-linux-gnu binutils
note "all there"

step "Build"
mkdir -p "$build"
sanitizers=$build/sanitizers
configure "$sanitizers" -DPCT_SANITIZE=address,undefined
options="-DPCT_TEST_SANITIZER_BUILD=$sanitizers"

intel=$build/intel
if intel_runtime "$intel"; then
    options="$options -DPCT_TEST_INTEL_ICD=$intel/icd"
else
    note "Intel's OpenCL runtime could not be set up (offline?): its pass is left out"
    options="$options -DPCT_TEST_INTEL_ICD="
fi

aarch64=$build/aarch64
if "$root/tools/sysroot.sh" "$build/arm64-root"; then
    configure "$aarch64" -DCMAKE_TOOLCHAIN_FILE="$root/cmake/aarch64.cmake" -DPCT_SYSROOT="$build/arm64-root" -DPCT_TOOLS=OFF -DPCT_TESTS=OFF
    options="$options -DPCT_TEST_AARCH64_BUILD=$aarch64"
else
    note "the arm64 packages could not be fetched (offline?): the library is not built for aarch64"
    options="$options -DPCT_TEST_AARCH64_BUILD="
fi

# shellcheck disable=SC2086 # a list of options
configure "$build" $options
note "as released:"
compile "$build" all
note "with sanitizers:"
compile "$sanitizers" all
if [ -f "$aarch64/build.ninja" ]; then
    note "for aarch64:"
    compile "$aarch64" pct
fi

step "Demo weights and pictures"
if "$root/tools/fetch_demo.sh"; then
    note "in data/demo"
else
    note "Tests with trained weights skip."
fi

step "Tests"
cd "$build"
# Most tests wait for one core's double-precision loops; those that look at clocks run alone.
jobs=$(nproc)
[ "$jobs" -le 4 ] || jobs=4
exec ctest --parallel "$jobs" --output-on-failure --timeout 900 "$@"
