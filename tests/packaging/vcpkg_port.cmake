# Runs heed's port for vcpkg as vcpkg would, with stand-ins for vcpkg's functions: cmake -DFEATURES=cpu;text -P vcpkg_port.cmake. Then
# a program uses the package by find_package. The libraries for the build are the system's.
#   FEATURES   of the port
#   SOURCE, BUILD, WORK, COMPILER, GENERATOR, LAUNCHER   as in check.cmake
cmake_minimum_required(VERSION 3.21)
include(${CMAKE_CURRENT_LIST_DIR}/common.cmake)
file(REMOVE_RECURSE ${WORK})
set(CURRENT_PORT_DIR ${SOURCE}/engine/packaging/vcpkg/heed)
set(CURRENT_PACKAGES_DIR ${WORK}/package)

# vcpkg_check_features(OUT_FEATURE_OPTIONS VARIABLE FEATURES feature OPTION ...)
function(vcpkg_check_features)
  cmake_parse_arguments(GIVEN "" "OUT_FEATURE_OPTIONS" "FEATURES" ${ARGN})
  set(options "")
  while(GIVEN_FEATURES)
    list(POP_FRONT GIVEN_FEATURES feature option)
    set(value OFF)
    if(feature IN_LIST FEATURES)
      set(value ON)
    endif()
    list(APPEND options -D${option}=${value})
  endwhile()
  set(${GIVEN_OUT_FEATURE_OPTIONS} ${options} PARENT_SCOPE)
endfunction()

# An unknown option would only be a line in a user's log, which nobody reads.
function(vcpkg_cmake_configure)
  cmake_parse_arguments(GIVEN "" "SOURCE_PATH" "OPTIONS" ${ARGN})
  run(${configure} -S ${GIVEN_SOURCE_PATH} -B ${WORK}/build -DCMAKE_BUILD_TYPE=Release -DHEED_OBJECTS_OF=${BUILD}
      -DCMAKE_INSTALL_PREFIX=${CURRENT_PACKAGES_DIR} ${GIVEN_OPTIONS})
  if(run_output MATCHES "not used by the project:[^-]*")
    message(FATAL_ERROR "the port gives heed options that it does not know: ${run_output}")
  endif()
endfunction()

function(vcpkg_cmake_install)
  run(${CMAKE_COMMAND} --build ${WORK}/build --target install)
endfunction()

# vcpkg moves the files to share/ and corrects their paths; here they stay.
function(vcpkg_cmake_config_fixup)
  cmake_parse_arguments(GIVEN "" "PACKAGE_NAME;CONFIG_PATH" "" ${ARGN})
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${GIVEN_CONFIG_PATH}/${GIVEN_PACKAGE_NAME}-config.cmake)
    message(FATAL_ERROR "heed installs no package into ${GIVEN_CONFIG_PATH}")
  endif()
endfunction()

function(vcpkg_copy_pdbs)
endfunction()

function(vcpkg_install_copyright)
  cmake_parse_arguments(GIVEN "" "" "FILE_LIST" ${ARGN})
  file(MAKE_DIRECTORY ${CURRENT_PACKAGES_DIR}/share/heed)
  file(COPY_FILE ${GIVEN_FILE_LIST} ${CURRENT_PACKAGES_DIR}/share/heed/copyright)
endfunction()

include(${CURRENT_PORT_DIR}/portfile.cmake)
foreach(file IN ITEMS include/heed/heed.hpp share/heed/copyright)
  if(NOT EXISTS ${CURRENT_PACKAGES_DIR}/${file})
    message(FATAL_ERROR "the package has no ${file}")
  endif()
endforeach()
check_consumer(-DHEED_FROM=package -DCMAKE_PREFIX_PATH=${CURRENT_PACKAGES_DIR})
