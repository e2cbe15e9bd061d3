// The modes for scripts: one answer, token ids, perplexity.
#include <cmath>
#include <cstdio>
#include <filesystem>

#include "../terminal.hpp"
#include "modes.hpp"

namespace talk {
namespace {

void print_ids(const std::vector<int32_t>& ids) {
  std::string list = "[";
  for (const int32_t id : ids) list.append(list.size() > 1 ? ", " : "").append(std::to_string(id));
  std::printf("%s]\n", list.c_str());
}

int open_tokenizer(const std::string& model, heed::Bpe* bpe) {
  std::error_code error;
  heed::Status status = heed::Status::Ok;
  if (std::filesystem::is_directory(model, error)) {
    status = heed::Bpe::open(model, program_log(), bpe);
  } else {
    heed::Gguf file;
    status = heed::Gguf::open(model, program_log(), &file);
    if (status == heed::Status::Ok) status = heed::Bpe::from_gguf(file, program_log(), bpe);
  }
  return status == heed::Status::Ok ? kOk : failed("the model", status);
}

int read_ids(const heed::Bpe& bpe, const std::string& path, std::vector<int32_t>* ids) {
  std::string bytes, error;
  if (!read_file(path, &bytes, &error)) return bad_input(error);
  const heed::Status status = bpe.encode(bytes, {.read_special = true}, ids);
  return status == heed::Status::Ok ? kOk : failed(path, status);
}

heed::Status begin(const Options& options, Session& session, heed::TextConversation* conversation) {
  heed::TextConversationOptions chosen;
  chosen.sampling = options.sampling;
  chosen.sampling.seed = seed_of(options);
  chosen.stop = options.stop;
  chosen.grammar = options.rules;
  chosen.most_tokens = options.tokens;
  return session.model.begin(chosen, conversation);
}

}  // namespace

int tokenize(const Options& options) {
  heed::Bpe bpe;
  std::vector<int32_t> ids;
  int code = open_tokenizer(options.model, &bpe);
  if (code == kOk) code = read_ids(bpe, options.tokenize, &ids);
  if (code == kOk) print_ids(ids);
  return code;
}

int complete(const Options& options, Session& session) {
  heed::TextConversation conversation;
  Persona persona;
  std::string error;
  heed::Status status;
  if (options.raw) {
    status = begin(options, session, &conversation);
    if (status == heed::Status::Ok) status = conversation.prompt(options.prompt);
  } else {
    if (!read_persona(options.persona, &persona, &error)) return bad_input(error);
    status = meet(options, persona, seed_of(options), session, &conversation);
    if (status == heed::Status::Ok) status = conversation.say(options.prompt);
  }
  catch_interrupts();
  std::vector<int32_t> ids;
  heed::TextPiece piece;
  while (status == heed::Status::Ok && conversation.answering()) {
    status = conversation.step(&piece);
    if (piece.token >= 0) ids.push_back(piece.token);
    if (!options.ids) write_text(piece.text);
    if (interrupted()) return kInterrupted;
  }
  if (status != heed::Status::Ok) return failed("no answer", status);
  if (options.ids)
    print_ids(ids);
  else
    std::printf("\n");
  return kOk;
}

int perplexity(const Options& options, Session& session) {
  std::vector<int32_t> ids;
  const int code = read_ids(session.model.tokenizer(), options.perplexity, &ids);
  if (code != kOk) return code;
  double mean = 0;
  size_t count = 0;
  const heed::Status status = session.model.loss(ids, &mean, &count);
  if (status != heed::Status::Ok) return failed(options.perplexity, status);
  std::printf("perplexity %.4f over %zu tokens\n", std::exp(mean), count);
  return kOk;
}

}  // namespace talk
