# SPDX-License-Identifier: MIT
# The CUDA compiler, where there is one: a language is enabled above all folders that use it, here the
# library's and the tests'.
include(CheckLanguage)

# PTX of the oldest is for GPUs between the others, that of the newest for later ones.
set(TARE_CUDA_ARCHITECTURES "80;90-real;100-real;120" CACHE STRING
    "GPUs that libtare_cuda has kernels for, some of them as PTX, too")

if(NOT TARE_CUDA STREQUAL OFF AND NOT CMAKE_CROSSCOMPILING)
  check_language(CUDA)
  if(CMAKE_CUDA_COMPILER)
    set(CMAKE_CUDA_ARCHITECTURES ${TARE_CUDA_ARCHITECTURES})
    enable_language(CUDA)
  elseif(TARE_CUDA STREQUAL ON)
    message(FATAL_ERROR "TARE_CUDA is ON, but there is no CUDA toolkit")
  endif()
endif()
