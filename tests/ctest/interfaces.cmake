# Tests of how heed is included, installed, fetched and called: headers, packages, C, Python, a host's GLSL. packaging/ has its own tests.
set(installed ${PROJECT_BINARY_DIR}/packaging/shared/moved/${CMAKE_INSTALL_LIBDIR}/libheed.so)

# Headers that need others before them, functions that are not marked for export, and interfaces of C and Python or shader constants that
# differ from the generator's output.
heed_test(headers.gcc LABELS quick all headers COST 20 COUNTED COMMAND ${tests}/headers/check.sh g++)
heed_test(headers.clang LABELS all headers COST 30 COUNTED COMMAND ${tests}/headers/check.sh clang++)
heed_test(headers.generated LABELS quick all headers COST 2 COUNTED COMMAND ${PROJECT_SOURCE_DIR}/engine/c/generate.py --check)
heed_test(headers.generator LABELS quick all headers COST 5 COUNTED COMMAND ${tests}/c/generator_test.py)

# The manual: undocumented public names, dead links, overlong pages, and misspelt words in the whole tree.
heed_test(manual LABELS all COST 15 COUNTED COMMAND ${PROJECT_SOURCE_DIR}/engine/manual/build.sh --check)

# All of the C interface, used rightly and wrongly; declarations of C# and Zig with other struct layouts; a shared library that Rust cannot
# link or call.
heed_catch_test(c.cpu none "" PROGRAM $<TARGET_FILE:heed_c_tests> LABELS all c COST 10)
# Runs on the CPU only, where a driver would compile for a minute and other tests run the functions behind the C interface.
heed_catch_test(c.lavapipe lavapipe [[~"C: fingerprints*"~"C: reproducible answers*"~"C: reproducible sentence*"]]
  PROGRAM $<TARGET_FILE:heed_c_tests> LABELS all c COST 8 SET GALLIVM_PERF=nopt)
heed_test(c.declarations LABELS all c COST 5 COUNTED NEEDS packaging.shared
  COMMAND ${tests}/c/declarations.py ${PROJECT_BINARY_DIR}/declarations ${installed})
heed_test(c.rust LABELS all c COST 2 COUNTED NEEDS packaging.shared
  COMMAND ${tests}/c/rust/check.sh ${installed} ${PROJECT_BINARY_DIR}/rust)

# The recipes of engine/packaging: their options, versions and libraries must exist in heed, and their builds must succeed; xmake and Conan
# run if they are installed.
heed_test(recipes LABELS all COST 13 COUNTED COMMAND ${tests}/packaging/recipes.py ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/recipes)

# The wheel, built from the objects of this build and installed into a new virtual environment, with tests/python on the CPU and on
# lavapipe, whose compiler takes most of the time. PyTorch and matplotlib are used if Debian's packages are installed, and the build's tools
# if PyPI can be reached.
set(venv ${PROJECT_BINARY_DIR}/python-venv)
set(pip ${venv}/bin/pip install --quiet --disable-pip-version-check)
set(pypi_is_there IF ${venv}/bin/pytest)
heed_test(packages.python LABELS all COST 20 MAKES packages.python ALONE_WITH apt
  COMMAND ${tests}/harness/or_skip.sh ${tests}/drivers/install.sh python)
heed_test(python.venv LABELS all python COST 5 MAKES python.venv NEEDS packages.python
  COMMAND ${tests}/python/make_venv.sh ${venv})
heed_test(python.tools LABELS all python COST 5 MAKES python.tools NEEDS python.venv
  COMMAND ${tests}/harness/or_skip.sh ${pip} "pytest>=7" scikit-build-core cffi pycparser)
# The tools are in the environment already. The folder persists, so that the next build is incremental.
heed_test(python.wheel LABELS all python COST 20 MAKES python.wheel NEEDS python.tools ${pypi_is_there}
  COMMAND ${pip} --no-build-isolation --force-reinstall --no-deps --config-settings=build-dir=${PROJECT_SOURCE_DIR}/build-python
          --config-settings=cmake.define.HEED_WERROR=ON --config-settings=cmake.define.HEED_OBJECTS_OF=${PROJECT_BINARY_DIR}
          ${PROJECT_SOURCE_DIR}/engine/python)
heed_test(python.dependencies LABELS all python COST 3 MAKES python.dependencies NEEDS python.wheel ${pypi_is_there}
  COMMAND ${pip} numpy cffi)
heed_test(python.tests LABELS all python driver COST 100 COUNTED NEEDS python.dependencies ${pypi_is_there}
  COMMAND ${tests}/python/run.sh ${venv})
# Ports of PyTorch models, and the rows of From PyTorch, compared with PyTorch if it is installed.
heed_test(python.ports LABELS all python driver COST 12 COUNTED NEEDS python.dependencies ${pypi_is_there}
  COMMAND ${tests}/python/run.sh ${venv} ${samples}/ports/check.py)
# The ONNX standard's tests of single operators. The counts are those of one version of PyPI's onnx, which has its own folder, since it
# installs a numpy that Debian's PyTorch cannot use.
set(onnx ${PROJECT_BINARY_DIR}/python-onnx)
heed_test(python.onnx_package LABELS all python COST 3 MAKES python.onnx_package NEEDS python.dependencies ${pypi_is_there}
  COMMAND ${tests}/harness/or_skip.sh ${pip} --upgrade --target ${onnx} onnx==1.23.2)
heed_test(python.onnx LABELS all python driver COST 100 COUNTED NEEDS python.onnx_package IF ${onnx}/onnx/__init__.py
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${onnx} ${tests}/python/run.sh ${venv} ${tests}/onnx/run.py)
# Sentence vectors of a small BERT, and of a real one if it can be downloaded, as ONNX files compared with heed::TextEncoder.
set(minilm ${PROJECT_SOURCE_DIR}/.cache/all-MiniLM-L6-v2)
heed_test(python.onnx_sentences LABELS all python driver COST 15 COUNTED NEEDS python.onnx_package model.minilm
  IF ${onnx}/onnx/__init__.py ${minilm}/model.safetensors
  COMMAND ${CMAKE_COMMAND} -E env PYTHONPATH=${onnx} ${tests}/python/run.sh ${venv} ${tests}/onnx/sentences.py ${tests}/search/data/tiny ${minilm})

# Models that Debian's PyTorch exports during the test, and the Python of From ONNX, through the heed program.
heed_test(onnx.pytorch LABELS all onnx driver COST 8 COUNTED NEEDS packages.python driver.lavapipe
  COMMAND ${with} lavapipe ${tests}/onnx/pytorch.sh $<TARGET_FILE:heed_program> ${PROJECT_BINARY_DIR}/exported)

# heed/glsl.hpp with Debian 13's libshaderc, where the system's does not link.
if(HEED_SHADERC_LINKS)
  heed_catch_test(glsl.tests lavapipe "[glsl]" LABELS all glsl COST 10)
else()
  set(glsl_tests ${PROJECT_BINARY_DIR}/glsl/build/heed_glsl_tests)
  heed_test(glsl.build LABELS all glsl COST 25 MAKES glsl.build NEEDS driver.lavapipe-26 ALONE_WITH install_manifest
    COMMAND ${tests}/glsl/debian_13.sh ${PROJECT_BINARY_DIR} ${PROJECT_BINARY_DIR}/glsl)
  heed_catch_test(glsl.tests lavapipe-26 "" PROGRAM ${glsl_tests} LABELS all glsl COST 10 NEEDS glsl.build IF ${glsl_tests})
endif()
