# FetchContent with Clang, each file by itself. Finds what Clang warns of, as errors, and files that do not include what they use.
about="FetchContent, built with Clang"
needs="build"
stage() { check_ctest fetch; }
