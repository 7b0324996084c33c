#!/bin/bash
# SPDX-License-Identifier: MIT
#
# device.sh TARE FOLDER NAME: --device of the command. FOLDER has a libtare_cuda.so.0, the emulation or not;
# NAME is that of the device. Guards against: other bytes than without, a fall-back to the CPU that is silent or said twice, a wrong
# name that is taken for a device.
set -u
tare=$1 library=$2 name=$3 others=${LD_LIBRARY_PATH:-}
folder=$(mktemp -d) || exit
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit
failures=0

fail() { # TEXT
    echo "FAIL: $1"
    cat err
    failures=$((failures + 1))
}
with() { LD_LIBRARY_PATH=$library${others:+:$others} "$tare" "$@" 2>err >out; }
without() { LD_LIBRARY_PATH=$others "$tare" "$@" 2>err >out; }
says() { # LINES TEXT
    [ "$(grep -c . err)" = "$1" ] && { [ "$1" = 0 ] || grep -qF "$2" err; } || fail "says: $1 $2"
}

without synth llama-tiny m.gguf --type bf16 && without pack m.gguf m.wcodec || fail 'set-up'
with unpack m.wcodec a.gguf --device cuda:0 && cmp m.gguf a.gguf || fail 'unpack'
says 0
with convert m.wcodec a.safetensors --device cuda --type f16 || fail 'convert'
without convert m.wcodec b.safetensors --type f16 && cmp a.safetensors b.safetensors ||
    fail 'convert, without'
with verify m.wcodec --device cuda:0 || fail 'verify'

without unpack m.wcodec c.gguf --device cuda:0 && cmp m.gguf c.gguf || fail 'no library'
says 1 'libtare_cuda.so.0 is not installed; the CPU decodes'
with unpack m.wcodec d.gguf --device cuda:9 && cmp m.gguf d.gguf || fail 'no such device'
says 1 'number'
without pack m.gguf tuned.wcodec --base m.gguf || fail 'pack against a base'
with unpack tuned.wcodec e.gguf --base m.gguf --device cuda && cmp m.gguf e.gguf || fail 'base'
says 0
with verify m.wcodec --deep --write-manifest a.sha256 --device cuda || fail 'verify --deep'
says 0
without verify m.wcodec --write-manifest b.sha256 && cmp a.sha256 b.sha256 || fail 'manifest'
with bench m.gguf --device cuda:0 --json || fail 'bench'
says 0
grep -qF "\"device\": \"$name\"" out && grep -q '"device_gb_per_s": [0-9.e-]*[1-9]' out || fail 'bench, JSON'
with bench m.gguf --device cuda:0 && grep -q 'DEVICE GB/S' out || fail 'bench, text'
grep -qF "DEVICE: layers in the memory of $name" out || fail 'bench, the name'
without bench m.gguf --device cuda:0 && ! grep -q DEVICE out || fail 'bench without the library'
says 1 'libtare_cuda.so.0 is not installed; the CPU decodes'

with unpack m.wcodec f.gguf --device gpu
[ $? = 2 ] || fail 'a wrong name'
says 1 'neither "cuda" nor "cuda:N"'
echo "$failures failures"
[ "$failures" = 0 ]
