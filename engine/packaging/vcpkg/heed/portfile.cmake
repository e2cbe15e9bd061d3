# This overlay port builds the sources that it is part of.
get_filename_component(SOURCE_PATH "${CURRENT_PORT_DIR}/../../../.." ABSOLUTE)
vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS FEATURES
  cpu HEED_CPU
  onnx HEED_ONNX
  text HEED_TEXT
  vulkan HEED_VULKAN)
vcpkg_cmake_configure(SOURCE_PATH "${SOURCE_PATH}" OPTIONS
  ${FEATURE_OPTIONS}
  -DHEED_BUILD_TESTS=OFF
  -DHEED_BUILD_SAMPLES=OFF
  -DHEED_BUILD_BENCH=OFF
  -DHEED_WERROR=OFF
  -DHEED_CCACHE=OFF)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(PACKAGE_NAME heed CONFIG_PATH lib/cmake/heed)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share"
                    "${CURRENT_PACKAGES_DIR}/share/licenses")
vcpkg_copy_pdbs()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
