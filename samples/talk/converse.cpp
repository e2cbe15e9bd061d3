// A conversation with one character at a time.
#include <algorithm>
#include <cstdio>
#include <random>

#include "cast.hpp"
#include "modes.hpp"
#ifdef TALK_HEARS
#include "hear.hpp"
#endif

namespace talk {
namespace {

constexpr const char* kHelp =
    "  /meet NAME   talk with somebody else: blacksmith, innkeeper, dragon, or a persona file\n"
    "  /forget      begin anew\n"
    "  /save FILE   save the conversations with all characters\n"
    "  /load FILE   continue saved conversations\n"
    "  /bye         end; so does Ctrl-D. Ctrl-C stops an answer\n";

class Chat {
 public:
  Chat(const Options& options, Session& session) : options_(options), session_(session) {}

  int run() {
    if (const int code = meet_persona(options_.persona); code != kOk) return code;
    catch_interrupts();
#ifdef TALK_HEARS
    if (options_.listens)
      if (const int code = listener_.open(options_, session_); code != kOk) return code;
#endif
    if (input_is_terminal() && !options_.listens)
      std::printf("%s", in_color(kGrey, "/help tells what else can be typed.\n").c_str());
    greet();
    for (std::string line;;) {
      if (input_is_terminal()) write_text(options_.listens ? "\n" : "\n> ");
      read_ahead();
      const Line read = next_line(&line);
      if (read == Line::End) break;
      if (read == Line::Interrupted && options_.listens) break;
      if (read == Line::Interrupted) {
        std::printf("\n%s", in_color(kGrey, "/bye or Ctrl-D ends the program.").c_str());
        continue;
      }
      if (line.find_first_not_of(" \t") == std::string::npos) continue;
      if (line == "/bye" || line == "/quit" || line == "/exit") break;
      const int code = line[0] == '/' && !options_.listens ? command(line) : answer(line);
      if (code == kFailed) return code;
    }
    if (input_is_terminal()) std::printf("\n");
#ifdef TALK_HEARS
    if (options_.listens && listener_.code() != kOk) return listener_.code();
#endif
    return kOk;
  }

 private:
  Line next_line(std::string* line) {
#ifdef TALK_HEARS
    if (options_.listens) return listener_.read_line(line);
#endif
    return read_line(line);
  }

  // Begins a new conversation with a character, who becomes the present one.
  int meet_persona(const std::string& name) {
    Character fresh = {name, {}, {}};
    std::string error;
    if (!read_persona(name, &fresh.persona, &error)) return bad_input(error);
    const heed::Status status = meet(options_, fresh.persona, seed_of(options_), session_, &fresh.conversation);
    if (status != heed::Status::Ok) return failed(fresh.persona.name, status);
    std::erase_if(cast_, [&](const Character& one) { return one.source == name; });
    cast_.insert(cast_.begin(), std::move(fresh));
    return kOk;
  }

  // Continues the conversation with a character whom the player has met. Returns false if there is none.
  bool meet_again(const std::string& name) {
    const auto found = std::find_if(cast_.begin(), cast_.end(), [&](const Character& c) { return c.source == name; });
    if (found == cast_.end()) return false;
    std::rotate(cast_.begin(), found, found + 1);
    return true;
  }

  const Persona& persona() const { return cast_.front().persona; }
  heed::TextConversation& conversation() { return cast_.front().conversation; }

  // The model reads the text so far while the player types.
  void read_ahead() {
    heed::TextPiece piece;
    heed::Status status = conversation().read_ahead();
    while (status == heed::Status::Ok && conversation().answering()) status = conversation().step(&piece);
  }

  void greet() const {
    if (persona().examples.empty()) return;
    write_colored(persona().color, persona().name + ": ");
    write_text(persona().examples.back().second + "\n");
  }

  int command(const std::string& line) {
    int code = kOk;
    const std::string argument = line.size() > 6 ? line.substr(6) : "";
    if (line == "/forget") {
      code = meet_persona(cast_.front().source);
      if (code == kOk) greet();
    } else if (line.starts_with("/meet ")) {
      if (meet_again(argument)) return kOk;
      code = meet_persona(argument);
      if (code == kOk) greet();
    } else if (line.starts_with("/save ")) {
      code = save_cast(cast_, argument);
    } else if (line.starts_with("/load ")) {
      code = load_cast(session_, argument, &cast_);
    } else {
      std::printf("%s", kHelp);
    }
    return code;
  }

  int answer(const std::string& line) {
    Stopwatch watch;
    heed::Status status = conversation().say(line);
    if (status != heed::Status::Ok) return failed("the message was refused", status);
    write_colored(persona().color, persona().name + ": ");
    heed::TextPiece piece;
    bool begun = false;
    while (status == heed::Status::Ok && conversation().answering()) {
      status = conversation().step(&piece);
      watch.count(piece);
      // Some models begin an answer with a space or an empty line.
      const size_t blank = begun ? 0 : piece.text.find_first_not_of(" \n");
      if (blank != std::string::npos) {
        write_text(std::string_view(piece.text).substr(blank));
        begun = begun || !piece.text.empty();
      }
      if (interrupted() && conversation().answering()) {
        conversation().cancel();
        write_text(" ...");
      }
    }
    std::printf("\n");
    if (status != heed::Status::Ok) return failed("the answer failed", status);
    if (output_is_terminal()) show_status(watch);
    return kOk;
  }

  void show_status(const Stopwatch& watch) {
    const std::string line = "  " + watch.text() + " · " + std::to_string(conversation().tokens()) + " of " +
                             std::to_string(session_.model.context()) + " tokens · " + session_.about;
    std::printf("%s\n", in_color(kGrey, line).c_str());
  }

  const Options& options_;
  Session& session_;
  std::vector<Character> cast_;  // the first one is the present one
#ifdef TALK_HEARS
  Listener listener_;
#endif
};

}  // namespace

uint32_t seed_of(const Options& options) {
  // A script gets the same answer each time; a player does not.
  return options.has_seed || options.has_prompt ? options.sampling.seed : std::random_device{}();
}

heed::Status meet(const Options& options, const Persona& persona, uint32_t seed, Session& session,
                  heed::TextConversation* conversation) {
  heed::TextConversationOptions chosen;
  chosen.system = persona.system;
  chosen.sampling = options.sampling;
  chosen.sampling.seed = seed;
  chosen.stop = options.stop;
  chosen.grammar = options.rules;
  chosen.most_tokens = options.tokens;
  heed::Status status = session.model.begin(chosen, conversation);
  for (const auto& [said, answered] : persona.examples) {
    if (status == heed::Status::Ok) status = conversation->add("user", said);
    if (status == heed::Status::Ok) status = conversation->add("assistant", answered);
  }
  return status;
}

int converse(const Options& options, Session& session) { return Chat(options, session).run(); }

}  // namespace talk
