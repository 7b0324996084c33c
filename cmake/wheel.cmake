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
target_link_options(tare_shared PRIVATE -Wl,--version-script=${PROJECT_SOURCE_DIR}/cmake/wheel.map)
install(TARGETS tare_shared LIBRARY DESTINATION tare COMPONENT python)
set_target_properties(tare_python_core PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS tare_python_core LIBRARY DESTINATION tare COMPONENT python)

# From the scripts to the package: where pip puts both, whatever the release of Python, in an
# environment and below a prefix, and with --target.
set(places "")
foreach(minor RANGE 11 20)
  foreach(place lib/python3.${minor}/site-packages lib64/python3.${minor}/site-packages
          lib/python3.${minor}/dist-packages)
    list(APPEND places "$ORIGIN/../${place}/tare")
  endforeach()
endforeach()
set_target_properties(tare PROPERTIES INSTALL_RPATH "${places};$ORIGIN/../tare")
install(TARGETS tare RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR} COMPONENT python)

set(self_dir ${PROJECT_BINARY_DIR}/self)
add_custom_command(OUTPUT ${self_dir}/stamp VERBATIM DEPENDS tare
  COMMENT "Writing man pages and completions"
  COMMAND ${PROJECT_SOURCE_DIR}/scripts/self-document ${self_dir} $<TARGET_FILE:tare>)
add_custom_target(tare_self ALL DEPENDS ${self_dir}/stamp)
set(share ${SKBUILD_DATA_DIR}/share)
install(DIRECTORY ${self_dir}/man1 DESTINATION ${share}/man COMPONENT python)
install(FILES ${self_dir}/bash/tare DESTINATION ${share}/bash-completion/completions COMPONENT python)
install(FILES ${self_dir}/zsh/_tare DESTINATION ${share}/zsh/site-functions COMPONENT python)
install(FILES ${self_dir}/fish/tare.fish DESTINATION ${share}/fish/vendor_completions.d COMPONENT python)

set_target_properties(tare_static PROPERTIES EXCLUDE_FROM_ALL ON)
