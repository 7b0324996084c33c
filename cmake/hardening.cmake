# SPDX-License-Identifier: MIT
# What makes a fault in memory hard to exploit: canaries, checked calls of the C library, relocations
# that are done before main and then read only, and on x86-64 jumps only to where one is meant to end.
include(CheckCCompilerFlag)
include(CheckPIESupported)

check_pie_supported(LANGUAGES C)
add_compile_options($<$<COMPILE_LANGUAGE:C>:-fstack-protector-strong>)
# Without optimisation the C library's header warns that it checks nothing.
add_compile_options("$<$<AND:$<COMPILE_LANGUAGE:C>,$<NOT:$<CONFIG:Debug>>>:SHELL:\
-U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2>")
check_c_compiler_flag(-fcf-protection=full TARE_HAS_CF_PROTECTION)
if(TARE_HAS_CF_PROTECTION)
  add_compile_options($<$<COMPILE_LANGUAGE:C>:-fcf-protection=full>)
endif()
add_link_options(LINKER:-z,relro,-z,now)
