// A character, from a file.
//
//   name: Bram
//   color: 208                          of the terminal's 256; optional
//   ---
//   The system message: who it is.      several lines
//   ---
//   > What somebody said.               examples; the last answer is the greeting
//   What the character answered.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace talk {

struct Persona {
  std::string name = "Model", system;
  int color = 0;                                              // 0: none
  std::vector<std::pair<std::string, std::string>> examples;  // question, answer
};

// `persona` is a file, or the name of a persona that ships with the program. Returns false with a sentence in *error if it fails.
bool read_persona(const std::string& persona, Persona* to, std::string* error);

// The contents of a file of at most 64 MiB.
bool read_file(const std::string& path, std::string* bytes, std::string* error);

}  // namespace talk
