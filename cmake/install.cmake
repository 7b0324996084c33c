# SPDX-License-Identifier: MIT
# What `cmake --install` puts where: libraries, headers, a CMake package and a pkg-config file that
# both keep working when the whole prefix is moved.
include(CMakePackageConfigHelpers)

set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/tare)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

install(DIRECTORY include/tare DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN "*.hpp" PATTERN private EXCLUDE)
install(TARGETS tare_shared EXPORT tare-shared LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tare_static EXPORT tare-static ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})

if(TARGET tare_cuda)
  set_target_properties(tare_shared PROPERTIES INSTALL_RPATH "$ORIGIN" # loads the other
                        BUILD_WITH_INSTALL_RPATH ON)
  install(TARGETS tare_cuda LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(FILES cuda/include/tare/cuda.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tare)
endif()

# The static library names the libraries it needs, the shared one needs nothing of its user: two
# export sets, so that find_package(tare) asks for the former only with COMPONENTS static.
install(EXPORT tare-shared NAMESPACE tare:: DESTINATION ${cmake_dir} FILE tareShared.cmake)
install(EXPORT tare-static NAMESPACE tare:: DESTINATION ${cmake_dir} FILE tareStatic.cmake)
configure_package_config_file(cmake/tareConfig.cmake.in tareConfig.cmake
                              INSTALL_DESTINATION ${cmake_dir})
write_basic_package_version_file(tareConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/tareConfig.cmake ${PROJECT_BINARY_DIR}/tareConfigVersion.cmake
        DESTINATION ${cmake_dir})

if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  set(pc_prefix ${CMAKE_INSTALL_PREFIX})
else()
  file(RELATIVE_PATH up /prefix/${pkgconfig_dir} /prefix)
  string(REGEX REPLACE "/$" "" up "${up}")
  set(pc_prefix "\${pcfiledir}/${up}")
endif()
foreach(kind LIB INCLUDE)
  if(IS_ABSOLUTE "${CMAKE_INSTALL_${kind}DIR}")
    set(pc_${kind}DIR "${CMAKE_INSTALL_${kind}DIR}")
  else()
    set(pc_${kind}DIR "\${prefix}/${CMAKE_INSTALL_${kind}DIR}")
  endif()
endforeach()
configure_file(cmake/tare.pc.in tare.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/tare.pc DESTINATION ${pkgconfig_dir})
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(DIRECTORY docs DESTINATION ${CMAKE_INSTALL_DOCDIR} # where README's links lead
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.png")
# What the documents name.
install(DIRECTORY contrib examples tools DESTINATION ${CMAKE_INSTALL_DOCDIR} USE_SOURCE_PERMISSIONS
        PATTERN __pycache__ EXCLUDE)

# The command, with the man pages and completions that it writes about itself.
if(TARGET tare)
  file(RELATIVE_PATH to_lib ${CMAKE_INSTALL_FULL_BINDIR} ${CMAKE_INSTALL_FULL_LIBDIR})
  set_target_properties(tare PROPERTIES INSTALL_RPATH "$ORIGIN/${to_lib}" BUILD_WITH_INSTALL_RPATH ON)
  # The build tree's search path is the installed one, too: one that is replaced when it is installed
  # ends with a colon until then, and that is the current directory.
  get_filename_component(lib_link ${PROJECT_BINARY_DIR}/cli/${to_lib} ABSOLUTE)
  get_filename_component(lib_link_dir ${lib_link} DIRECTORY)
  file(MAKE_DIRECTORY ${lib_link_dir})
  file(CREATE_LINK ${PROJECT_BINARY_DIR}/src ${lib_link} SYMBOLIC)
  install(TARGETS tare RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(DIRECTORY cli/schemas DESTINATION ${CMAKE_INSTALL_DATADIR}/tare)
  if(NOT CMAKE_CROSSCOMPILING OR CMAKE_CROSSCOMPILING_EMULATOR)
    set(self_dir ${PROJECT_BINARY_DIR}/self)
    add_custom_command(OUTPUT ${self_dir}/stamp VERBATIM DEPENDS tare
      COMMENT "Writing man pages and completions"
      COMMAND ${PROJECT_SOURCE_DIR}/scripts/self-document ${self_dir}
              ${CMAKE_CROSSCOMPILING_EMULATOR} $<TARGET_FILE:tare>)
    add_custom_target(tare_self ALL DEPENDS ${self_dir}/stamp)
    install(DIRECTORY ${self_dir}/man1 DESTINATION ${CMAKE_INSTALL_MANDIR})
    install(FILES ${self_dir}/bash/tare
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
    install(FILES ${self_dir}/zsh/_tare DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions)
    install(FILES ${self_dir}/fish/tare.fish
            DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
  endif()
endif()

# Last, when all files are in place: libraries of the system's folders are found without search paths,
# which distributions refuse there.
configure_file(cmake/system-folders.cmake.in system-folders.cmake @ONLY)
install(SCRIPT ${PROJECT_BINARY_DIR}/system-folders.cmake)
