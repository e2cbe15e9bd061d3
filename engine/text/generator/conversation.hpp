// The inside of a TextConversation.
#pragma once

#include "text/generator/generator_shared.hpp"
#include "text/generator/stop_strings.hpp"

namespace heed {

struct TextMessage {
  std::string role, content;
};

struct TextConversation::Impl {
  Impl(std::shared_ptr<TextGenerator::Shared> of, const TextConversationOptions& wanted);

  std::shared_ptr<TextGenerator::Shared> shared;
  TextConversationOptions options;
  std::string date;
  SampleWords settings = {};
  std::shared_ptr<TextRoom> room;  // null only while a conversation is made
  size_t row = 0;                  // in the room

  std::vector<TextMessage> messages;  // none in a raw text
  std::vector<int32_t> ids;           // the whole text
  std::vector<int32_t> stored;        // the tokens whose keys and values are in the State
  size_t there = 0;                   // how many of `ids` need not be read, since they begin `stored`

  bool answering = false;
  bool ahead = false;    // no answer is wanted: steps read only
  size_t answer_at = 0;  // where the answer begins in `ids`
  std::string answer;
  TextEnd end = TextEnd::None;
  BpeStream stream;
  StopStrings stops;
  TextGuide guide;
  int32_t draws = 0;  // since the conversation's beginning

  // The run in which it takes part, or the one that is over and was not asked for yet.
  bool finished = false;
  Status run_status = Status::Ok;
  size_t run_count = 0;
  std::vector<int32_t> run_ids;
  int32_t next = -1;
  uint64_t begun_at = 0;  // which of all runs that polls began was this conversation's last
  bool let_pass = false;  // it left its turn to others
  bool expected = false;  // the host polls it, so that it comes by again soon
  // The State's text has this token at this place, as the last run drew it.
  size_t drawn_at = SIZE_MAX;
  int32_t drawn = -1;

  const Log& log() const { return shared->log; }
  size_t context() const { return static_cast<size_t>(shared->context); }

  // What is said, in conversation_text.cpp.
  Status check_text(std::string_view text, const char* what) const;
  // With what begins an answer, if one is wanted.
  Status render(const std::vector<TextMessage>& list, bool answer, std::vector<int32_t>* to) const;
  Status ask();                                        // makes `ids` of the messages, and begins an answer
  Status ask_raw(std::span<const int32_t> more);       // adds to `ids`, and begins an answer
  bool make_room();                                    // for one more token, within an answer
  std::vector<int32_t> recent(size_t at_least) const;  // of a raw text: its first tokens and its last ones
  void set_ids(std::vector<int32_t> fresh);
  void begin_answer();

  // Answers, in conversation_steps.cpp.
  Status launch(bool wait);
  Status prepare();  // the run of the next step
  void join(TextRun* run, bool speaks);
  Status take(TextPiece* piece);  // what the finished run gave
  Status take_token(int32_t id, TextPiece* piece);
  void end_answer(TextEnd how, TextPiece* piece);
  void keep_answer();   // as a message
  void give_up();       // after a failure
  void stop_reading();  // if it reads ahead
  bool is_control(int32_t id) const { return shared->bpe.type(id) == TokenType::Control; }

  // Saved conversations, in saved.cpp.
  static Status save_all(std::span<const TextConversation* const> conversations, const TextSaveOptions& options,
                         std::vector<std::byte>* bytes);
  static Status load_all(const TextGenerator& model, TextGenerator::Shared& shared, std::span<const std::byte> bytes,
                         const std::string& name, std::vector<TextConversation>* conversations);

  // Steps together with others, in together.cpp.
  Status take_seat();  // in a room
  void leave();        // the conversation ends
  bool takes_part() const;
  void wait();         // for a run under way
  Status free_room();  // waits for a run of its room, by whomever
  bool speaks() const;
  bool may_share() const;  // its next run with others
  bool is_ready() const;   // to go on in a run of others
  bool is_about_to_speak() const;
  std::vector<Impl*> company();  // who takes part in the next run for this conversation, by row
  bool may_begin();              // a step by poll, in turn with the other conversations
  void begins();
};

}  // namespace heed
