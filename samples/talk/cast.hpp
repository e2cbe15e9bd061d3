// The characters that were met, and a file of them, such as a game's own: lines with their names, an empty one, and heed's bytes.
#pragma once

#include "persona.hpp"
#include "session.hpp"

namespace talk {

struct Character {
  std::string source;  // as --persona and /meet name it
  Persona persona;
  heed::TextConversation conversation;
};

// The first one is who is being talked with. On failure these print why, give the exit code, and change nothing.
int save_cast(const std::vector<Character>& cast, const std::string& path);
int load_cast(Session& session, const std::string& path, std::vector<Character>* cast);

}  // namespace talk
