# shellcheck shell=sh disable=SC2034 # the variables are for those who source this
# What quickstart.sh and test.sh share; sourced by them. Nothing here asks questions or does twice what is done.

root=$(cd "$(dirname "$0")/.." && pwd)
build=$root/build

step() { printf '\n== %s\n' "$*"; }
note() { printf '%s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# missing_packages NAME...: those that dpkg does not have.
missing_packages()
{
    for package in "$@"; do
        case $(dpkg-query -W -f '${db:Status-Status}' "$package" 2> /dev/null) in
        installed) ;;
        *) printf ' %s' "$package" ;;
        esac
    done
}

# install_packages NAME...: installs what is missing; without a way to do so says what to install by hand.
install_packages()
{
    if ! command -v dpkg-query > /dev/null; then
        note "not a Debian system: packages like these must be there: $*"
        return 0
    fi
    missing=$(missing_packages "$@")
    [ -n "$missing" ] || return 0
    as_root=
    if [ "$(id -u)" != 0 ]; then
        command -v sudo > /dev/null || die "missing packages, and neither root nor sudo to install them:$missing"
        as_root=sudo
    fi
    note "installing:$missing"
    # shellcheck disable=SC2086 # a list of names
    {
        $as_root apt-get -q update > "${TMPDIR:-/tmp}/pct-apt.$$" 2>&1 &&
            $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends install $missing >> "${TMPDIR:-/tmp}/pct-apt.$$" 2>&1
    } || {
        tail -n 20 "${TMPDIR:-/tmp}/pct-apt.$$" >&2
        rm -f "${TMPDIR:-/tmp}/pct-apt.$$"
        die "these packages could not be installed (offline?):$missing"
    }
    rm -f "${TMPDIR:-/tmp}/pct-apt.$$"
}

# install_build_packages NAME...: compiler and libraries, what fetch_demo.sh unpacks with, and those named.
install_build_packages()
{
    install_packages gcc libc6-dev cmake ninja-build pkg-config git ocl-icd-opencl-dev libclblast-dev libopenblas-openmp-dev \
        libjpeg62-turbo-dev libpng-dev libcjson-dev libcmocka-dev python3-venv ca-certificates "$@"
}

# configure FOLDER OPTION...: with Ninja; a folder that knows its options already is left to Ninja.
configure()
{
    folder=$1
    shift
    if [ ! -f "$folder/build.ninja" ] || [ "$(cat "$folder/.options" 2> /dev/null)" != "$*" ]; then
        rm -f "$folder/.options"
        cmake -S "$root" -B "$folder" -G Ninja "$@" > "$folder.log" 2>&1 || { cat "$folder.log" >&2; die "cmake failed"; }
        rm -f "$folder.log"
        printf '%s' "$*" > "$folder/.options"
    fi
}

# compile FOLDER TARGET...
compile()
{
    folder=$1
    shift
    cmake --build "$folder" --target "$@" > "$folder/build.log" 2>&1 || { grep -vE '^\[[0-9]+/' "$folder/build.log" | tail -n 60 >&2; die "the build failed: $folder/build.log"; }
    tail -n 1 "$folder/build.log"
}
