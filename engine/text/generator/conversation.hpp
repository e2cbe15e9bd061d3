// The implementation of a TextConversation.
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
  std::shared_ptr<BatchState> batch;  // null only during construction
  size_t row = 0;                     // index of the conversation in its batch

  std::vector<TextMessage> messages;  // empty for a raw text
  std::vector<int32_t> ids;           // all tokens of the text
  std::vector<int32_t> stored;        // tokens whose keys and values are in the State
  size_t there = 0;                   // length of the common prefix of `ids` and `stored`, which is not read again

  bool answering = false;
  bool ahead = false;    // no answer is requested: steps only read
  size_t answer_at = 0;  // index in `ids` of the answer's first token
  std::string answer;
  TextEnd end = TextEnd::None;
  BpeStream stream;
  StopStrings stops;
  TextGuide guide;
  int32_t draws = 0;  // number of draws since the conversation began

  // The run of which this is a member, or the finished run whose result has not been fetched.
  bool finished = false;
  Status run_status = Status::Ok;
  size_t run_count = 0;
  std::vector<int32_t> run_ids;
  int32_t next = -1;
  uint64_t begun_at = 0;  // value of the shared counter of polled runs at this conversation's last one
  bool let_pass = false;  // it skipped its turn in favour of others
  bool expected = false;  // the host polls it, so the next poll should come soon
  // The State's text has the token `drawn` at this index, as the last run drew it.
  size_t drawn_at = SIZE_MAX;
  int32_t drawn = -1;

  const Log& log() const { return shared->log; }
  size_t context() const { return static_cast<size_t>(shared->context); }

  // Functions for input; see conversation_text.cpp.
  Status check_text(std::string_view text, const char* what) const;
  // Renders the messages to tokens, with the generation prompt if `answer`.
  Status render(const std::vector<TextMessage>& list, bool answer, std::vector<int32_t>* to) const;
  Status ask();                                        // sets `ids` from the messages, and begins an answer
  Status ask_raw(std::span<const int32_t> more);       // appends to `ids`, and begins an answer
  bool make_room();                                    // for one more token within an answer
  std::vector<int32_t> recent(size_t at_least) const;  // of a raw text: its first tokens and at least this many of its
                                                       // last ones
  void set_ids(std::vector<int32_t> fresh);
  void begin_answer();

  // Steps of an answer, in conversation_steps.cpp.
  Status launch(bool wait);
  Status prepare();  // prepares the run of the next step
  void join(TextRun* run, bool speaks);
  Status take(TextPiece* piece);  // processes the result of the finished run
  Status take_token(int32_t id, TextPiece* piece);
  void end_answer(TextEnd how, TextPiece* piece);
  void keep_answer();   // stores the answer as a message
  void give_up();       // after a failure of a run
  void stop_reading();  // if it reads ahead
  bool is_control(int32_t id) const { return shared->bpe.type(id) == TokenType::Control; }

  // Saved conversations, in saved.cpp.
  static Status save_all(std::span<const TextConversation* const> conversations, const TextSaveOptions& options,
                         std::vector<std::byte>* bytes);
  static Status load_all(const TextGenerator& model, TextGenerator::Shared& shared, std::span<const std::byte> bytes,
                         const std::string& name, std::vector<TextConversation>* conversations);

  // Batches, in together.cpp.
  Status take_seat();  // finds a free row in a batch
  void leave();        // gives the row up
  bool takes_part() const;
  void wait();         // for the current run, if this is a member
  Status free_room();  // waits for the current run if it uses the same batch
  bool speaks() const;
  bool may_share() const;  // whether the next run may have other members
  bool is_ready() const;   // to decode in another conversation's run
  bool is_about_to_speak() const;
  std::vector<Impl*> company();  // members of the next run, by row
  bool may_begin();              // whether poll may begin a step, in turn with the other conversations
  void begins();
};

}  // namespace heed
