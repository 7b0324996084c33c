# SPDX-License-Identifier: MIT
# What a wheel consists of, beside the modules in python/tare: the library and the extension, the
# command among the scripts, its manual pages and completions below share/. Included when
# scikit-build-core builds.

# The library is there once. Its name is that of the release, as a process may have another libtare;
# and it has no links, for a wheel would hold a copy for each.
set_target_properties(tare_shared PROPERTIES OUTPUT_NAME tare-${PROJECT_VERSION})
set_property(TARGET tare_shared PROPERTY VERSION)
set_property(TARGET tare_shared PROPERTY SOVERSION)
# Nothing of the libraries inside it is anybody else's business.
set(origin $ORIGIN)
if(APPLE)
  set(origin @loader_path)
  # From the start: the signature covers them.
  set_target_properties(tare_shared PROPERTIES INSTALL_NAME_DIR @rpath BUILD_WITH_INSTALL_NAME_DIR ON)
  set_target_properties(tare_shared tare_python_core tare PROPERTIES BUILD_WITH_INSTALL_RPATH ON)
elseif(WIN32)
  target_compile_definitions(tare_objects PRIVATE TARE_BUILD_DLL)
  target_compile_definitions(tare_llama_objects PRIVATE TARE_BUILD_DLL)
else()
  target_link_options(tare_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/wheel.map)
endif()
install(TARGETS tare_shared LIBRARY DESTINATION tare COMPONENT python RUNTIME DESTINATION tare COMPONENT python)
set_target_properties(tare_python_core PROPERTIES INSTALL_RPATH "${origin}")
install(TARGETS tare_python_core LIBRARY DESTINATION tare COMPONENT python)

# From the scripts to the package: where pip puts both, whatever the release of Python, in an
# environment and below a prefix, and with --target.
set(places "")
foreach(minor RANGE 11 20)
  foreach(place lib/python3.${minor}/site-packages lib64/python3.${minor}/site-packages
          lib/python3.${minor}/dist-packages)
    list(APPEND places "${origin}/../${place}/tare")
  endforeach()
endforeach()
set_target_properties(tare PROPERTIES INSTALL_RPATH "${places};${origin}/../tare")
if(WIN32) # where a program finds its library; scripts/wheels adds a script that starts it
  install(TARGETS tare RUNTIME DESTINATION tare COMPONENT python)
  return()
endif()
install(TARGETS tare RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)

set(self_dir ${PROJECT_BINARY_DIR}/self)
set(TARE_WHEEL_COMMAND "$<TARGET_FILE:tare>" CACHE STRING "a command that runs here")
add_custom_command(OUTPUT ${self_dir}/stamp VERBATIM DEPENDS tare
  COMMENT "Writing man pages and completions"
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/self-document ${self_dir} ${TARE_WHEEL_COMMAND})
add_custom_target(tare_self ALL DEPENDS ${self_dir}/stamp)
set(share ${SKBUILD_DATA_DIR}/share)
install(DIRECTORY ${self_dir}/man1 DESTINATION ${share}/man COMPONENT python)
install(FILES ${self_dir}/bash/tare DESTINATION ${share}/bash-completion/completions COMPONENT python)
install(FILES ${self_dir}/zsh/_tare DESTINATION ${share}/zsh/site-functions COMPONENT python)
install(FILES ${self_dir}/fish/tare.fish DESTINATION ${share}/fish/vendor_completions.d COMPONENT python)

set_target_properties(tare_static PROPERTIES EXCLUDE_FROM_ALL ON)
