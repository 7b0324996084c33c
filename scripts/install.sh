#!/bin/sh
# SPDX-License-Identifier: MIT
#
# install.sh [--from PLACE] [PREFIX]: installs the command, its manual pages and completions below PREFIX
# (~/.local unless it is given) from an archive that `make dist` made. PLACE is the folder or URL that has the
# archives and SHA256SUMS: the folder of this script unless it is given. Nothing is built, and
# nothing but PREFIX is written; the archive's digest is checked first.
set -eu
from=$(cd "$(dirname "$0")" && pwd)
if [ "${1:-}" = --from ]; then
    from=${2:?install.sh: --from needs a folder or URL}
    shift 2
fi
case ${1:-} in -*)
    sed -n '4,7s/^# //p' "$0"
    exit 2
    ;;
esac
prefix=${1:-$HOME/.local}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

case $(uname -s) in
Linux) system=linux ;;
Darwin) system=macos ;;
*) fail "no archive for $(uname -s): on Windows unpack the .zip and run tare.exe" ;;
esac
case $(uname -m) in
x86_64 | amd64) machine=x86_64 ;;
aarch64 | arm64) machine=aarch64 ;;
*) fail "no archive for $(uname -m): build from source, README.md says how" ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fetch() { # NAME
    case $from in
    http://* | https://*) curl -fsSL -o "$work/$1" "$from/$1" || fail "cannot be downloaded: $from/$1" ;;
    *) cp "$from/$1" "$work/$1" 2>/dev/null || fail "not there: $from/$1; --from names the folder or URL of the archives that make dist wrote" ;;
    esac
}

fetch SHA256SUMS
archive=$(sed -n "s/^[0-9a-f]* [ *]\(tare-.*-$machine-$system\.tar\.gz\)\$/\1/p" "$work/SHA256SUMS")
[ -n "$archive" ] || fail "SHA256SUMS of $from names no archive for $machine-$system"
fetch "$archive"
check() {
    if command -v sha256sum >/dev/null; then sha256sum -c; else shasum -a 256 -c; fi
}
(cd "$work" && grep " [ *]*$archive\$" SHA256SUMS | check >/dev/null 2>&1) || fail "$archive is damaged: its digest is another one"
tar -C "$work" -xzf "$work/$archive"
top=$work/${archive%.tar.gz}
place() { # FOLDER OF THE ARCHIVE, FOLDER BELOW share
    mkdir -p "$prefix/share/$2"
    cp -R "$top/share/$1/." "$prefix/share/$2/"
}

mkdir -p "$prefix/bin" "$prefix/share/doc/tare"
cp "$top/tare" "$prefix/bin/.tare-new" && chmod 755 "$prefix/bin/.tare-new" && mv -f "$prefix/bin/.tare-new" "$prefix/bin/tare"
place man1 man/man1
place bash bash-completion/completions
place fish fish/vendor_completions.d
place zsh zsh/site-functions
cp -R "$top/licenses" "$top/README.md" "$prefix/share/doc/tare/"
"$prefix/bin/tare" --version
case :$PATH: in *:"$prefix/bin":*) ;; *) echo "$prefix/bin is not in PATH: add it, or run $prefix/bin/tare" ;; esac
