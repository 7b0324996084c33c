# SPDX-License-Identifier: MIT
# Builds for TARE_TRIPLE with Debian's cross compiler and the libraries of its multiarch packages;
# tests run under qemu-user (32-bit x86 runs by itself).
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARE_TRIPLE)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${TARE_TRIPLE}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${TARE_TRIPLE}-gcc)

string(REPLACE i686 i386 multiarch "${TARE_TRIPLE}")
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/${multiarch}/pkgconfig:/usr/share/pkgconfig)
set(CMAKE_LIBRARY_ARCHITECTURE ${multiarch})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL i686)
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR})
endif()
