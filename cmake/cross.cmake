# SPDX-License-Identifier: MIT
# Builds for TARE_TRIPLE with Debian's cross compiler and the libraries that scripts/sysroot has put
# into TARE_SYSROOT. Tests run under qemu-user; 32-bit x86 runs by itself, with the loader and the
# libraries of that folder.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TARE_TRIPLE TARE_SYSROOT)
string(REGEX REPLACE "-.*" "" CMAKE_SYSTEM_PROCESSOR "${TARE_TRIPLE}")
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_C_COMPILER ${TARE_TRIPLE}-gcc)
set(CMAKE_SYSROOT ${TARE_SYSROOT})

string(REPLACE i686 i386 multiarch "${TARE_TRIPLE}")
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${TARE_SYSROOT})
set(ENV{PKG_CONFIG_LIBDIR}
    ${TARE_SYSROOT}/usr/lib/${multiarch}/pkgconfig:${TARE_SYSROOT}/usr/share/pkgconfig)
set(CMAKE_LIBRARY_ARCHITECTURE ${multiarch})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
if(CMAKE_SYSTEM_PROCESSOR STREQUAL i686)
  string(CONCAT CMAKE_EXE_LINKER_FLAGS_INIT "-Wl,--dynamic-linker=${TARE_SYSROOT}/lib/ld-linux.so.2 "
         "-Wl,-rpath,${TARE_SYSROOT}/lib/${multiarch}:${TARE_SYSROOT}/usr/lib/${multiarch}")
else()
  set(CMAKE_CROSSCOMPILING_EMULATOR qemu-${CMAKE_SYSTEM_PROCESSOR} -L ${TARE_SYSROOT})
endif()
