# SPDX-License-Identifier: MIT
# What a wheel consists of, beside the modules in python/tare: the extension, the command among the
# scripts, its manual pages and completions below share/. Included when scikit-build-core builds.
install(TARGETS tare_python_core LIBRARY DESTINATION tare COMPONENT python)
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

set_target_properties(tare_shared PROPERTIES EXCLUDE_FROM_ALL ON)
