#include "lines.hpp"

#include <fstream>

namespace learn {

using heed::Status;

bool read_lines(const std::string& path, std::vector<Line>* lines, std::string* error) {
  std::ifstream file(path, std::ios::binary);
  std::string text;
  lines->clear();
  *error = path + (file ? " has no line that begins with \"> \"" : " cannot be read");
  while (std::getline(file, text)) {
    if (text.ends_with('\r')) text.pop_back();
    if (text.starts_with("> ")) {
      lines->push_back({text.substr(2), ""});
    } else if (!lines->empty() && !text.empty()) {
      std::string& answer = lines->back().answer;
      answer.append(answer.empty() ? "" : "\n").append(text);
    }
  }
  for (const Line& line : *lines)
    if (line.answer.empty()) {
      *error = path + " has no answer to \"" + line.said + "\"";
      return false;
    }
  return !lines->empty();
}

Status Speech::open(const heed::DecoderModel& model, const heed::Log& log) {
  log_ = log;
  if (model.gguf() == nullptr) return Status::Unsupported;
  const heed::Gguf& file = *model.gguf();
  Status status = heed::Bpe::from_gguf(file, log, &bpe_);
  if (status != Status::Ok) return status;
  const auto jinja = file.value("tokenizer.chat_template").text();
  if (!jinja) return Status::Unsupported;
  status = heed::ChatTemplate::recognize(*jinja, file.name(), log, &chat_);
  eos_ = bpe_.vocabulary().eos;
  answer_end_ = chat_.answer_end().empty() ? eos_ : bpe_.id(chat_.answer_end());
  return status;
}

Status Speech::encode(std::vector<heed::ChatMessage> messages, bool prompts, std::vector<int32_t>* ids) const {
  const heed::BpeVocabulary& vocabulary = bpe_.vocabulary();
  const auto token = [&](int32_t id) { return id < 0 ? std::string_view() : bpe_.token(id); };
  std::vector<heed::ChatPart> parts;
  const Status status =
      chat_.render(messages, {.generation_prompt = prompts, .bos = token(vocabulary.bos), .eos = token(vocabulary.eos)},
                   log_, &parts);
  return status == Status::Ok ? bpe_.encode(heed::text_parts(parts), false, ids) : status;
}

Status Speech::prompt(const std::string& said, std::vector<int32_t>* ids) const {
  return encode({{"user", said}}, true, ids);
}

Status Speech::whole(const Line& line, std::vector<int32_t>* ids, size_t* answer) const {
  std::vector<int32_t> before;
  Status status = prompt(line.said, &before);
  if (status == Status::Ok) status = encode({{"user", line.said}, {"assistant", line.answer}}, false, ids);
  if (status != Status::Ok) return status;
  *answer = 0;
  while (*answer < before.size() && *answer < ids->size() && before[*answer] == (*ids)[*answer]) ++*answer;
  // The template's text after the end of an answer is not the character's.
  while (ids->size() > *answer + 1 && !ends(ids->back())) ids->pop_back();
  return Status::Ok;
}

std::string Speech::text_of(const std::vector<int32_t>& ids) const {
  std::string text;
  static_cast<void>(bpe_.decode(ids, {}, &text));
  return text;
}

}  // namespace learn
