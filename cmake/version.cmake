# generated/pct_build.h: version and commit, made anew at each build so that a commit is never stale.
set(_generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
file(MAKE_DIRECTORY ${_generated})
add_custom_target(pct_build_header
  COMMAND ${CMAKE_COMMAND} -DSOURCE=${CMAKE_CURRENT_SOURCE_DIR} -DVERSION=${PROJECT_VERSION}
          -DOUTPUT=${_generated}/pct_build.h -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/write_version.cmake
  BYPRODUCTS ${_generated}/pct_build.h)
