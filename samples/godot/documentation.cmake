# Writes OUT, a C++ file with the texts of the files of doc_classes.
#   cmake -DFOLDER=doc_classes -DOUT=documentation.cpp -P documentation.cmake
file(GLOB files "${FOLDER}/*.xml")
set(text "#include \"documentation.hpp\"\n\nstd::span<const char* const> documentation() {\n  static const char* const all[] = {\n")
foreach(file IN LISTS files)
  file(READ "${file}" xml)
  string(APPEND text "R\"xml(${xml})xml\",\n")
endforeach()
file(WRITE "${OUT}" "${text}  };\n  return all;\n}\n")
