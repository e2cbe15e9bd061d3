// Many characters answer the same question at once, each in its own conversation.
#include <algorithm>
#include <cstdio>
#include <thread>

#include "../terminal.hpp"
#include "modes.hpp"

namespace talk {
namespace {

constexpr const char* kCast[] = {"blacksmith", "innkeeper", "dragon"};
constexpr const char* kQuestion = "What do you think of adventurers?";
constexpr auto kPause = std::chrono::milliseconds(1);  // a game would draw a frame here

struct Npc {
  Persona persona;
  heed::TextConversation conversation;
};

// The last characters of a line that fit into so many columns, if each is one column wide.
std::string tail(std::string text, size_t columns) {
  std::replace_if(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 32 || c == 127; }, ' ');
  size_t begin = text.size(), count = 0;
  while (begin > 0 && count < columns) {
    --begin;
    if ((static_cast<unsigned char>(text[begin]) & 0xC0) != 0x80) ++count;
  }
  return text.substr(begin);
}

class Crowd {
 public:
  Crowd(const Options& options, Session& session) : options_(options), session_(session) {}

  int run() {
    const std::string question = options_.has_prompt ? options_.prompt : kQuestion;
    if (const int code = gather(); code != kOk) return code;
    heed::Status status = listen();
    catch_interrupts();
    std::printf("> %s\n", question.c_str());
    watch_ = {};
    for (Npc& npc : npcs_)
      if (status == heed::Status::Ok) status = npc.conversation.say(question);
    while (status == heed::Status::Ok && someone_answers()) {
      status = poll_all();
      if (output_is_terminal()) show();
      if (interrupted())
        for (Npc& npc : npcs_) npc.conversation.cancel();
    }
    if (status != heed::Status::Ok) return failed("the answers failed", status);
    print();
    return kOk;
  }

 private:
  int gather() {
    for (int i = 0; i < options_.npcs; ++i) {
      Npc npc;
      std::string error;
      if (!read_persona(kCast[static_cast<size_t>(i) % std::size(kCast)], &npc.persona, &error))
        return bad_input(error);
      const uint32_t seed = seed_of(options_) + static_cast<uint32_t>(i);
      const heed::Status status = meet(options_, npc.persona, seed, session_, &npc.conversation);
      if (status != heed::Status::Ok) return failed(npc.persona.name, status);
      npcs_.push_back(std::move(npc));
    }
    return kOk;
  }

  // All read their descriptions before the question, as a game would do while the player approaches.
  heed::Status listen() {
    for (Npc& npc : npcs_)
      if (const heed::Status status = npc.conversation.read_ahead(); status != heed::Status::Ok) return status;
    while (someone_answers())
      if (const heed::Status status = poll_all(); status != heed::Status::Ok) return status;
    seconds_ahead_ = watch_.elapsed();
    std::swap(read_ahead_, read_);
    return heed::Status::Ok;
  }

  bool someone_answers() const {
    return std::any_of(npcs_.begin(), npcs_.end(), [](const Npc& npc) { return npc.conversation.answering(); });
  }

  heed::Status poll_all() {
    bool any = false;
    heed::TextPiece piece;
    for (Npc& npc : npcs_) {
      if (!npc.conversation.answering()) continue;
      const heed::Status status = npc.conversation.poll(&piece);
      if (status != heed::Status::Ok) return status;
      watch_.count(piece);
      read_ += piece.read;
      any = any || piece.done;
    }
    if (!any) std::this_thread::sleep_for(kPause);
    return heed::Status::Ok;
  }

  void show() {
    std::string all = shown_ ? "\033[" + std::to_string(npcs_.size()) + "A" : "";
    for (const Npc& npc : npcs_) {
      const auto columns = static_cast<size_t>(terminal_columns()) - npc.persona.name.size() - 3;
      all += "\r\033[K" + in_color(npc.persona.color, npc.persona.name + ": ");
      all += tail(npc.conversation.answer(), columns) + "\n";
    }
    std::fwrite(all.data(), 1, all.size(), stdout);
    std::fflush(stdout);
    shown_ = true;
  }

  void print() const {
    if (shown_) std::printf("\033[%zuA\033[J", npcs_.size());
    for (const Npc& npc : npcs_) {
      write_colored(npc.persona.color, npc.persona.name + ": ");
      write_text(npc.conversation.answer() + "\n");
    }
    char ahead[80];
    std::snprintf(ahead, sizeof ahead, "%lld tokens read ahead in %.2f s", static_cast<long long>(read_ahead_),
                  seconds_ahead_);
    const std::string line =
        std::to_string(npcs_.size()) + " conversations, " + watch_.text() + " · " + ahead + " · " + session_.about;
    std::printf("%s\n", in_color(kGrey, line).c_str());
  }

  const Options& options_;
  Session& session_;
  std::vector<Npc> npcs_;
  Stopwatch watch_;
  int64_t read_ = 0, read_ahead_ = 0;  // tokens
  double seconds_ahead_ = 0;
  bool shown_ = false;
};

}  // namespace

int crowd(const Options& options, Session& session) { return Crowd(options, session).run(); }

}  // namespace talk
