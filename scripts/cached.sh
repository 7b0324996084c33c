# SPDX-License-Identifier: MIT
# shellcheck shell=bash
#
# For scripts to source: cached NAME STAMP COMMAND... makes the folder build/NAME with COMMAND FOLDER.
# STAMP is a text that says what is in it, such as a list of pins: nothing is done where the folder has
# this stamp, which is written last, so that what was begun and not finished is made anew. Where
# TARE_CACHE names a folder, as .ci/run does, build/NAME is a link to a folder in that one, which other
# clones use, too: of two that come at the same time one waits. What nobody has used for 30 days is
# removed there.

cached() { # NAME STAMP COMMAND...
    local place=build/$1 stamp=$2 folder
    if cached_is_made "$place" "$stamp"; then
        [ ! -L "$place" ] || touch -c "$place" # in use
        return
    fi
    mkdir -p build
    if [ -z "${TARE_CACHE:-}" ]; then
        [ ! -L "$place" ] || rm "$place" # and not what it leads to
        cached_make "$PWD/$place" "${@:2}"
        return
    fi
    mkdir -p "$TARE_CACHE"
    cached_remove_old "$TARE_CACHE/$1"
    folder=$TARE_CACHE/$1-$(sha256sum <<<"$stamp" | cut -c -16)
    (
        flock 9 || exit
        cached_is_made "$folder" "$stamp" || cached_make "$folder" "${@:2}"
    ) 9>"$folder.lock" || return
    touch "$folder"
    [ -L "$place" ] || rm -rf "$place"
    ln -sfn "$folder" "$place"
}

cached_is_made() { # FOLDER STAMP
    cmp -s - "$1/requirements.txt" <<<"$2"
}

cached_make() { # FOLDER STAMP COMMAND...
    rm -rf "$1" && "${@:3}" "$1" </dev/null && printf '%s\n' "$2" >"$1/requirements.txt"
}

# The stamp goes first, so that no folder has one that is half removed.
cached_remove_old() { # PREFIX
    local old
    find "${1%/*}" -maxdepth 1 -type d -name "${1##*/}-*" -mtime +30 | while read -r old; do
        rm -f "$old/requirements.txt"
        rm -rf "$old" "$old.lock"
    done
}
