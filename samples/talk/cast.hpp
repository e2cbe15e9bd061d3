// The characters that the player has met, and a file of them, as a game could write it: a line with the name of each, an empty line, and
// the bytes of heed.
#pragma once

#include "persona.hpp"
#include "session.hpp"

namespace talk {

struct Character {
  std::string source;  // the name for --persona and /meet
  Persona persona;
  heed::TextConversation conversation;
};

// The first character is the present one. A function that fails prints why, returns the exit code, and changes nothing.
int save_cast(const std::vector<Character>& cast, const std::string& path);
int load_cast(Session& session, const std::string& path, std::vector<Character>* cast);

}  // namespace talk
