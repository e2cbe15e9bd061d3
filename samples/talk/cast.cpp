#include "cast.hpp"

#include <fstream>
#include <sstream>

namespace talk {

int save_cast(const std::vector<Character>& cast, const std::string& path) {
  std::string names;
  std::vector<const heed::TextConversation*> conversations;
  for (const Character& one : cast) {
    names += one.source + '\n';
    conversations.push_back(&one.conversation);
  }
  std::vector<std::byte> bytes;
  const heed::Status status = heed::TextConversation::save_all(conversations, {}, &bytes);
  if (status != heed::Status::Ok) return failed("the conversations cannot be saved", status);
  std::ofstream file(path, std::ios::binary);
  file << names << '\n';
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.flush() ? kOk : bad_input(path + " cannot be written");
}

int load_cast(Session& session, const std::string& path, std::vector<Character>* cast) {
  std::string all, error;
  if (!read_file(path, &all, &error)) return bad_input(error);
  const size_t end = all.find("\n\n");
  if (end == std::string::npos) return bad_input(path + " holds no saved characters");
  std::vector<heed::TextConversation> conversations;
  const auto bytes = std::as_bytes(std::span(all)).subspan(end + 2);
  const heed::Status status = heed::TextConversation::load_all(session.model, bytes, &conversations);
  if (status != heed::Status::Ok) return failed(path, status);
  std::vector<Character> fresh;
  std::istringstream names(all.substr(0, end));
  for (std::string source; std::getline(names, source);) {
    if (fresh.size() == conversations.size()) return bad_input(path + " has more names than conversations");
    Character one = {source, {}, std::move(conversations[fresh.size()])};
    if (!read_persona(source, &one.persona, &error)) return bad_input(error);
    fresh.push_back(std::move(one));
  }
  if (fresh.size() < conversations.size()) return bad_input(path + " has fewer names than conversations");
  *cast = std::move(fresh);
  return kOk;
}

}  // namespace talk
