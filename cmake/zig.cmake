# SPDX-License-Identifier: MIT
# A toolchain for what runs on other systems than the one it is built on: zig's C compiler, which has the
# headers and libraries of all of them. The environment names the system, TARE_ZIG_TARGET; without it,
# it is that of wheels, with the interfaces of glibc 2.28, and TARE_ZIG_DEPENDENCIES is a folder with
# the headers (include) and static libraries (lib) that this system has; scripts/wheel makes it.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARE_ZIG_DEPENDENCIES)
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/../scripts/zig-cc)
set(CMAKE_C_COMPILER_WORKS TRUE)
if(TARE_ZIG_DEPENDENCIES)
  set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${TARE_ZIG_DEPENDENCIES}/include)
  set(CMAKE_INCLUDE_PATH ${TARE_ZIG_DEPENDENCIES}/include)
  set(CMAKE_LIBRARY_PATH ${TARE_ZIG_DEPENDENCIES}/lib)
endif()

# What nothing calls is left out, and so are tables for walking up a stack, a tenth of the code.
set(CMAKE_C_FLAGS_INIT "-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables")
set(leave_out "-Wl,--gc-sections")
if(DEFINED ENV{TARE_ZIG_TARGET})
  string(REGEX MATCH "^([^-]+)-([^-.]+)" target $ENV{TARE_ZIG_TARGET})
  set(CMAKE_SYSTEM_PROCESSOR ${CMAKE_MATCH_1})
  set(CMAKE_SYSTEM_VERSION 1)
  if(CMAKE_MATCH_2 STREQUAL windows)
    set(CMAKE_SYSTEM_NAME Windows)
    # zig compiles its start-up code with these options, too, which has such a table.
    set(leave_out "${leave_out} -fasynchronous-unwind-tables")
  elseif(CMAKE_MATCH_2 STREQUAL macos)
    set(CMAKE_SYSTEM_NAME Darwin)
    set(leave_out "-Wl,-dead_strip")
  else()
    set(CMAKE_SYSTEM_NAME Linux)
    if($ENV{TARE_ZIG_TARGET} MATCHES musl AND NOT SKBUILD)
      set(leave_out "${leave_out} -static")
    endif()
  endif()
  # zig has its own archiver, and what it links is stripped by the linker: a signature covers it.
  set(CMAKE_AR ${CMAKE_CURRENT_LIST_DIR}/../scripts/zig-ar)
  set(CMAKE_RANLIB ${CMAKE_CURRENT_LIST_DIR}/../scripts/zig-ar)
  set(leave_out "${leave_out} -s")
  set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
  set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
  set(CMAKE_FIND_ROOT_PATH /nonexistent)
  # Each is there, whether or not a test program can be linked.
  set(CMAKE_HAVE_LIBC_PTHREAD TRUE)
  set(CMAKE_OSX_ARCHITECTURES "")
  set(CMAKE_C_LINKER_SUPPORTS_PDB OFF)
endif()
set(CMAKE_EXE_LINKER_FLAGS_INIT "${leave_out}")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "${leave_out}")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "${leave_out}")
# A wheel is downloaded more often than its few hot loops need -O3: they are written out over lanes.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
# Names, keys and tokenizers of llama.cpp, but for what decodes tensors, requests to servers, pickles and
# options.
set(TARE_SMALL_FILES "/src/(llama/([^/]+|(arch|restore|tokenizer)/.+)|(remote|format/torch|format/hf|ops/options|ops/adapters)/[^/]+)$" CACHE STRING "")
