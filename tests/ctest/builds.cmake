# Formatting, compilers' figures for kernels, and builds with other compilers, options and systems.

heed_test(harness LABELS quick all COST 1 COUNTED COMMAND ${tests}/harness/counted_test.sh)
heed_test(format LABELS quick all COST 7 COUNTED COMMAND ${tests}/format.sh --check)
# Detects shaders that were changed without their SPIR-V, and SPIR-V made by another compiler.
heed_test(shaders LABELS all COST 52 COMMAND ${PROJECT_SOURCE_DIR}/shaders/compile.sh --check)

# Registers, spills, occupancy and instructions for a third of each family of kernels (Intel: an eighteenth), on one GPU of each maker,
# which need not be installed. tests/gpu/isa.sh without options compiles all kernels, for three more generations of AMD's GPUs and two of
# Intel's.
heed_test(compilers.loops LABELS quick all compilers COST 1 COUNTED COMMAND ${tests}/gpu/tests.py)
heed_test(compilers LABELS all COST 150 COUNTED NEEDS driver.lavapipe-26 COMMAND ${tests}/gpu/isa.sh --one)

# Labels and names as RenderDoc shows them.
heed_test(capture LABELS all driver COST 5 COUNTED NEEDS driver.lavapipe
  COMMAND ${with} lavapipe ${tests}/vulkan/renderdoc.sh $<TARGET_FILE:heed_tests> ${PROJECT_BINARY_DIR}/capture)

# Memory errors, leaks and undefined arithmetic, in the tests that need no Vulkan device and in the tour. Clang compiles the library if it
# is installed, so that its warnings are errors, too. There is no precompiled header, so that missing includes are errors, and hardly any
# optimization, which halves the time. The tests are those of this build, linked with that library. This runs a 24th of each table, and
# leaves out a speed test, 200 steps of one training, kernels for every head size, and tests of the ordinary build's instruction sets.
set(sanitized ${PROJECT_SOURCE_DIR}/build-sanitize)
set(sanitizers SET ASAN_OPTIONS=detect_stack_use_after_return=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
  LSAN_OPTIONS=suppressions=${tests}/drivers/leaks.txt:print_suppressions=0)
heed_test(sanitize.build LABELS all sanitize COST 110 MAKES sanitize.build
  COMMAND ${tests}/harness/build_sanitized.sh ${sanitized} ${PROJECT_BINARY_DIR})
heed_catch_test(sanitize.tests none
  [=[~[.]~[model]~[language_model]~[speech_model]~[curve]~"Bpe takes a megabyte*"~"Highway*"~"attention on matrix units fits*"]=]
  PROGRAM ${sanitized}/tests/heed_tests LABELS all sanitize COST 100 NEEDS sanitize.build ${sanitizers} HEED_TEST_EVERY=24+1
  DEFAULTS HEED_RANDOM_CASES=30)
heed_catch_test(sanitize.c none "" PROGRAM ${sanitized}/tests/heed_c_tests LABELS all sanitize COST 20 NEEDS sanitize.build ${sanitizers})
heed_test(sanitize.tour LABELS all sanitize COST 20 COUNTED NEEDS sanitize.build ${sanitizers}
  COMMAND ${with} none ${samples}/tour/test.sh ${sanitized}/samples/tour/tour ${sanitized}/tour-test)

# Races between threads of the CPU device: its pool, a host's, and several plans at once. Random graphs run one after the other, so that a
# third of them is enough here.
set(tsan ${PROJECT_SOURCE_DIR}/build-tsan)
heed_build(tsan ${tsan} TARGETS heed_cpu_tests LABELS all tsan COST 130 OPTIONS -DCMAKE_BUILD_TYPE=RelWithDebInfo -DHEED_WERROR=OFF
  -DCMAKE_UNITY_BUILD=ON -DHEED_VULKAN=OFF -DHEED_BUILD_SAMPLES=OFF "-DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-O1 -g1" -DHEED_SANITIZE=thread)
heed_catch_test(tsan.tests system "[cpu]" PROGRAM ${tsan}/tests/heed_cpu_tests LABELS all tsan COST 30 NEEDS tsan.build
  SET HEED_TEST_EVERY=3)

# The samples, the goldens, and a program with the bundle, on a Debian 13 that has nothing but a compiler. This finds packages that nothing
# installs, what its GCC 14 rejects in the library, and newer packages that break heed. A slow test runs the quick tests there, whose results
# equal those here. tests/drivers/roots.sh does the same on Debian 12 and sid; tests/drivers/compilers.sh builds the library with other
# compilers.
heed_test(packages.roots LABELS all COST 10 MAKES packages.roots ALONE_WITH apt
  COMMAND ${tests}/harness/or_skip.sh ${tests}/drivers/install.sh roots)
heed_test(roots LABELS all COST 250 COUNTED NEEDS packages.roots packaging.bundles AFTER packages.python
  COMMAND ${tests}/drivers/roots.sh bundle samples 13)
heed_test(roots.tests LABELS slow COUNTED NEEDS packages.roots COMMAND ${tests}/drivers/roots.sh tests 13)

# 64-bit Arm, emulated.
heed_test(aarch64 LABELS slow COUNTED COMMAND ${tests}/cpu/aarch64.sh ${PROJECT_SOURCE_DIR}/build-aarch64)

# Windows, as far as MinGW and Wine can test it: everything that needs no GPU, and goldens on lavapipe through Wine's Vulkan.
set(windows ${PROJECT_SOURCE_DIR}/build-windows)
set(toolchain ${windows}/sysroot/toolchain.cmake)
heed_test(packages.windows LABELS slow MAKES packages.windows ALONE_WITH apt
  COMMAND ${tests}/harness/or_skip.sh ${tests}/drivers/install.sh windows)
heed_test(windows.toolchain LABELS slow windows MAKES windows.toolchain NEEDS packages.windows
  COMMAND ${tests}/harness/or_skip.sh ${tests}/drivers/windows.sh ${windows}/sysroot)
heed_build(windows ${windows} TARGETS heed_cpu_tests heed_program LABELS slow windows NEEDS windows.toolchain IF ${toolchain}
  OPTIONS -DCMAKE_TOOLCHAIN_FILE=${toolchain} -DCMAKE_BUILD_TYPE=Release -DHEED_WERROR=ON -DHEED_BUILD_TESTS=ON -DHEED_BUILD_SAMPLES=ON)
heed_catch_test(windows.cpu system "~[.]" PROGRAM ${windows}/tests/heed_cpu_tests.exe LABELS slow windows NEEDS windows.build
  IF ${toolchain} RUN_BY ${tests}/harness/under_wine.sh ${windows}/wine-text)
# Wine's Vulkan needs a display from the start. A path that begins with a slash would be an option on Windows.
heed_test(windows.goldens LABELS slow windows driver COUNTED NEEDS windows.build driver.lavapipe IF ${toolchain}
  COMMAND ${tests}/goldens/all_on.sh llvmpipe xvfb-run -a ${with} lavapipe ${tests}/harness/under_wine.sh ${windows}/wine-window
          ${windows}/samples/heed/heed.exe verify --device all tests/goldens)

# What a release consists of, made in a clean root by Zig's Clang, and each file used by itself: for this machine's system alone, and for all.
heed_test(release.linux LABELS slow release MAKES release.linux NEEDS packages.roots AFTER godot.root
  COMMAND ${tests}/packaging/release.sh --make ${PROJECT_BINARY_DIR}/release-linux linux-x86_64)
heed_test(release.linux.use LABELS slow release COUNTED NEEDS release.linux IF ${PROJECT_BINARY_DIR}/release-linux/SHA256SUMS
  COMMAND ${tests}/packaging/release.sh ${PROJECT_BINARY_DIR}/release-linux files linux)
heed_test(release.all LABELS slow MAKES release.all NEEDS packages.roots AFTER godot.root
  COMMAND ${tests}/packaging/release.sh --make ${PROJECT_BINARY_DIR}/release-all)
heed_test(release.all.use LABELS slow COUNTED NEEDS release.all IF ${PROJECT_BINARY_DIR}/release-all/SHA256SUMS
  COMMAND ${tests}/packaging/release.sh ${PROJECT_BINARY_DIR}/release-all)
