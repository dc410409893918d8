#!/bin/sh
# Unpacks the arm64 packages that the library is built with into a folder, for cmake/aarch64.cmake. Needs apt and its
# settings, no root, and changes nothing of the system's own package lists. A folder that is complete is left alone.
#
# usage: tools/sysroot.sh FOLDER
set -eu
[ $# = 1 ] || { sed -n 's/^# usage:/usage:/p' "$0" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd)
packages="libc6-dev libgomp1 ocl-icd-opencl-dev libclblast-dev libopenblas-openmp-dev libjpeg62-turbo-dev libpng-dev libcjson-dev"
complete="$packages; links inside"
[ "$(cat "$folder/.complete" 2> /dev/null)" = "$complete" ] && exit 0

rm -rf "$folder"
mkdir -p "$folder/apt/lists/partial" "$folder/apt/cache/archives/partial"
: > "$folder/apt/status"
# An apt of its own: other lists, other cache, no installed packages, so that it fetches all that those need.
fetch()
{
    apt-get -q -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o APT::Sandbox::User=root -o Debug::NoLocking=1 \
        -o Dir::State::Lists="$folder/apt/lists" -o Dir::State::status="$folder/apt/status" \
        -o Dir::State::extended_states="$folder/apt/extended" -o Dir::Cache="$folder/apt/cache" "$@" > "$folder/apt/log" 2>&1 ||
        { tail -n 5 "$folder/apt/log" >&2; exit 1; }
}
fetch update
# shellcheck disable=SC2086 # a list of names
fetch install -y --download-only --no-install-recommends $packages
for package in "$folder"/apt/cache/archives/*.deb; do dpkg -x "$package" "$folder"; done
# Links that begin at the root would leave the folder: libm.so is one, and without it the linker takes the static libm.a.
find "$folder" -type l | while read -r link; do
    target=$(readlink "$link")
    case $target in /*) ln -sfn "$folder$target" "$link" ;; esac
done
rm -rf "$folder/apt"
printf '%s' "$complete" > "$folder/.complete"
