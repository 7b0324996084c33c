# SPDX-License-Identifier: MIT
# A toolchain for wheels that run on older systems than the one they are built on: zig's C compiler,
# with the interfaces of glibc 2.28. TARE_ZIG_DEPENDENCIES is a folder with the headers (include)
# and static libraries (lib) that the system has; scripts/wheel makes it.
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARE_ZIG_DEPENDENCIES)
set(CMAKE_C_COMPILER ${CMAKE_CURRENT_LIST_DIR}/../scripts/zig-cc)
set(CMAKE_C_COMPILER_WORKS TRUE)
set(CMAKE_C_STANDARD_INCLUDE_DIRECTORIES ${TARE_ZIG_DEPENDENCIES}/include)
set(CMAKE_INCLUDE_PATH ${TARE_ZIG_DEPENDENCIES}/include)
set(CMAKE_LIBRARY_PATH ${TARE_ZIG_DEPENDENCIES}/lib)
# What nothing calls is left out, and so are tables for walking up a stack, a tenth of the code.
set(CMAKE_C_FLAGS_INIT "-ffunction-sections -fdata-sections -fno-asynchronous-unwind-tables -fno-unwind-tables")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--gc-sections")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,--gc-sections")
set(CMAKE_MODULE_LINKER_FLAGS_INIT "-Wl,--gc-sections")
# A wheel is downloaded more often than its few hot loops need -O3: they are written out over lanes.
set(CMAKE_C_FLAGS_RELEASE "-O2 -DNDEBUG" CACHE STRING "")
# Names, keys and tokenizers of llama.cpp, but for what decodes tensors, requests to servers, pickles and
# options.
set(TARE_SMALL_FILES "/src/(llama/([^/]+|(arch|restore|tokenizer)/.+)|(remote|format/torch|format/hf|ops/options|ops/adapters)/[^/]+)$" CACHE STRING "")
