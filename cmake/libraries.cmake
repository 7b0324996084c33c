# SPDX-License-Identifier: MIT
# The libraries that tare needs, compiled from their sources by the compiler that tare is compiled with:
# for systems that have no packages of them. TARE_LIBRARY_SOURCES is a folder that
# scripts/library-sources has filled. What is compiled is what tare uses, and without assembler, so that
# all systems get the same code.
set(sources ${TARE_LIBRARY_SOURCES})

function(tare_library name prefix)
  add_library(${name} STATIC ${ARGN})
  # Other people's code: their warnings are theirs. It is hidden as ours is.
  target_compile_options(${name} PRIVATE -w -fno-sanitize=all -ffile-prefix-map=${sources}=sources
    -ffile-prefix-map=${PROJECT_BINARY_DIR}=build)
  set_target_properties(${name} PROPERTIES C_STANDARD 11 C_EXTENSIONS ON)
  add_library(PkgConfig::${prefix} ALIAS ${name})
endfunction()

set(deflate ${sources}/libdeflate)
tare_library(tare_libdeflate LIBDEFLATE ${deflate}/lib/crc32.c ${deflate}/lib/deflate_decompress.c ${deflate}/lib/utils.c
  ${deflate}/lib/x86/cpu_features.c ${deflate}/lib/arm/cpu_features.c)
target_include_directories(tare_libdeflate PUBLIC ${deflate})

file(GLOB zstd_sources ${sources}/zstd/lib/common/*.c ${sources}/zstd/lib/compress/*.c ${sources}/zstd/lib/decompress/*.c)
tare_library(tare_zstd LIBZSTD ${zstd_sources})
target_compile_definitions(tare_zstd PRIVATE ZSTD_DISABLE_ASM ZSTD_LEGACY_SUPPORT=0 XXH_NAMESPACE=ZSTD_
  ZSTDLIB_VISIBLE= ZSTDERRORLIB_VISIBLE=)
target_include_directories(tare_zstd PUBLIC ${sources}/zstd/lib)

# Of libcurl, which is loaded while running, the header.
set(TARE_CURL_INCLUDE ${sources}/curl-header CACHE PATH "where curl/curl.h lies")

# The headers of PCRE2 are made when it is configured; it brings general ones.
set(pcre2 ${PROJECT_BINARY_DIR}/pcre2)
configure_file(${sources}/pcre2/src/config.h.generic ${pcre2}/config.h COPYONLY)
configure_file(${sources}/pcre2/src/pcre2.h.generic ${pcre2}/pcre2.h COPYONLY)
configure_file(${sources}/pcre2/src/pcre2_chartables.c.dist ${pcre2}/pcre2_chartables.c COPYONLY)
set(pcre2_sources ${pcre2}/pcre2_chartables.c)
foreach(part auto_possess compile config context convert dfa_match error extuni find_bracket maketables
        match match_data newline ord2utf pattern_info script_run serialize string_utils study substitute
        substring tables ucd valid_utf xclass)
  list(APPEND pcre2_sources ${sources}/pcre2/src/pcre2_${part}.c)
endforeach()
tare_library(tare_pcre2 PCRE2 ${pcre2_sources})
target_compile_definitions(tare_pcre2 PRIVATE HAVE_CONFIG_H PCRE2_CODE_UNIT_WIDTH=8 SUPPORT_UNICODE
  SUPPORT_PCRE2_8 HAVE_MEMMOVE PUBLIC PCRE2_STATIC)
target_include_directories(tare_pcre2 PUBLIC ${pcre2} PRIVATE ${sources}/pcre2/src)

file(STRINGS ${sources}/7zip/C/7zVersion.h version REGEX "define MY_VER_M(AJOR|INOR) ")
string(REGEX REPLACE ".*MAJOR ([0-9]+).*MINOR 0?([0-9]+).*" "\\1.\\2" version "${version}")
tare_library(tare_sha256 LIBCRYPTO ${sources}/7zip/C/Sha256.c ${sources}/7zip/C/Sha256Opt.c ${sources}/7zip/C/CpuArch.c)
target_include_directories(tare_sha256 PUBLIC ${sources}/7zip/C)
target_compile_definitions(tare_sha256 PUBLIC TARE_SHA256_7ZIP="${version}")
