#include "llama_talk.hpp"

#include <ggml-backend.h>

#include <algorithm>
#include <string_view>

LlamaTalk::LlamaTalk(std::string system, int32_t context_tokens, int32_t answer_tokens)
    : context_tokens_(context_tokens), answer_tokens_(answer_tokens) {
  messages_.emplace_back("system", std::move(system));
}

LlamaTalk::~LlamaTalk() { llama_free(context_); }

LlamaNews LlamaTalk::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(news_, {});
}

LlamaModel::LlamaModel(std::string path, LlamaSettings settings)
    : path_(std::move(path)), settings_(settings), thread_([this] { work(); }) {}

LlamaModel::~LlamaModel() {
  {
    const std::lock_guard lock(mutex_);
    is_closing_ = true;
  }
  changed_.notify_one();
  thread_.join();
  talking_.clear();
  llama_sampler_free(sampler_);
  llama_model_free(model_);
}

void LlamaModel::say(const std::shared_ptr<LlamaTalk>& talk, const std::string& text) {
  {
    const std::lock_guard lock(talk->mutex_);
    talk->question_ = text;
    talk->is_asked_ = true;
    talk->is_cancelled_ = false;
    talk->news_ = {};
  }
  {
    const std::lock_guard lock(mutex_);
    if (std::find(talking_.begin(), talking_.end(), talk) == talking_.end()) talking_.push_back(talk);
  }
  changed_.notify_one();
}

void LlamaModel::cancel(LlamaTalk& talk) {
  const std::lock_guard lock(talk.mutex_);
  talk.is_cancelled_ = true;
}

bool LlamaModel::load() {
  llama_log_set([](ggml_log_level, const char*, void*) {}, nullptr);
  ggml_backend_load_all();
  llama_model_params params = llama_model_default_params();
  params.n_gpu_layers = settings_.gpu_layers;
  // Without any device llama.cpp would still use a GPU for the matmuls of long prompts.
  static ggml_backend_dev_t none[] = {nullptr};
  if (settings_.gpu_layers == 0) params.devices = none;
  model_ = llama_model_load_from_file(path_.c_str(), params);
  if (model_ == nullptr) return false;
  vocabulary_ = llama_model_get_vocab(model_);
  sampler_ = llama_sampler_init_greedy();
  return sampler_ != nullptr;
}

void LlamaModel::work() {
  const bool has_model = load();
  std::vector<std::shared_ptr<LlamaTalk>> now;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return is_closing_ || !talking_.empty(); });
      if (is_closing_) return;
      now = talking_;
    }
    for (const std::shared_ptr<LlamaTalk>& talk : now) {
      if (has_model)
        step(*talk);
      else
        end(*talk, "llama.cpp does not read " + path_);
    }
    const std::lock_guard lock(mutex_);
    std::erase_if(talking_, [](const std::shared_ptr<LlamaTalk>& talk) {
      const std::lock_guard its_lock(talk->mutex_);
      return !talk->is_answering_ && !talk->is_asked_;
    });
    now.clear();
  }
}

// Computes the next token of an answer, or reads a question and computes the first token.
void LlamaModel::step(LlamaTalk& talk) {
  bool is_asked, is_cancelled;
  {
    const std::lock_guard lock(talk.mutex_);
    is_asked = std::exchange(talk.is_asked_, false);
    is_cancelled = talk.is_cancelled_;
    if (is_asked) talk.messages_.emplace_back("user", talk.question_);
  }
  if (is_cancelled) return end(talk, "");
  const std::string problem = is_asked ? read_question(talk) : decode(talk, {talk.last_});
  if (!problem.empty()) return end(talk, problem);
  talk.last_ = llama_sampler_sample(sampler_, talk.context_, -1);
  if (llama_vocab_is_eog(vocabulary_, talk.last_) || ++talk.written_ > talk.answer_tokens_) return end(talk, "");
  char piece[256];
  const int32_t bytes = llama_token_to_piece(vocabulary_, talk.last_, piece, sizeof piece, 0, false);
  const std::string_view text(piece, static_cast<size_t>(std::max(bytes, 0)));
  talk.answer_ += text;
  const std::lock_guard lock(talk.mutex_);
  talk.news_.text += text;
  ++talk.news_.tokens;
}

std::string LlamaModel::written(const LlamaTalk::Messages& messages, bool begins_answer) const {
  std::vector<llama_chat_message> chat;
  for (const auto& [role, text] : messages) chat.push_back({role.c_str(), text.c_str()});
  const char* form = llama_model_chat_template(model_, nullptr);
  std::string text(4096, '\0');
  int32_t bytes = 0;
  while ((bytes = llama_chat_apply_template(form, chat.data(), chat.size(), begins_answer, text.data(),
                                            static_cast<int32_t>(text.size()))) > static_cast<int32_t>(text.size()))
    text.resize(static_cast<size_t>(bytes));
  text.resize(static_cast<size_t>(std::max(bytes, 0)));
  return text;
}

// Evaluates the text that the model has not read yet. A conversation that no longer fits restarts with the last question.
std::string LlamaModel::read_question(LlamaTalk& talk) {
  if (talk.context_ == nullptr) {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = static_cast<uint32_t>(talk.context_tokens_);
    params.n_threads = params.n_threads_batch = settings_.threads;
    params.offload_kqv = params.op_offload = settings_.gpu_layers != 0;
    talk.context_ = llama_init_from_model(model_, params);
    if (talk.context_ == nullptr) return "llama.cpp makes no context";
  }
  const auto tokens_of = [this, &talk] {
    const std::string text = written(talk.messages_, true).substr(talk.read_bytes_);
    std::vector<llama_token> tokens(text.size() + 8);
    const int32_t count = llama_tokenize(vocabulary_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                                         static_cast<int32_t>(tokens.size()), talk.used_ == 0, true);
    tokens.resize(static_cast<size_t>(std::max(count, 0)));
    return tokens;
  };
  std::vector<llama_token> tokens = tokens_of();
  if (talk.used_ + static_cast<int32_t>(tokens.size()) + talk.answer_tokens_ + 1 > talk.context_tokens_) {
    llama_memory_clear(llama_get_memory(talk.context_), true);
    talk.messages_.erase(talk.messages_.begin() + 1, talk.messages_.end() - 1);
    talk.used_ = 0;
    talk.read_bytes_ = 0;
    tokens = tokens_of();
  }
  talk.is_answering_ = true;
  talk.answer_.clear();
  talk.written_ = 0;
  return tokens.empty() ? "llama.cpp writes no prompt" : decode(talk, std::move(tokens));
}

std::string LlamaModel::decode(LlamaTalk& talk, std::vector<llama_token> tokens) {
  const auto count = static_cast<int32_t>(tokens.size());
  if (llama_decode(talk.context_, llama_batch_get_one(tokens.data(), count)) != 0)
    return "llama.cpp cannot compute a token";
  talk.used_ += count;
  return "";
}

void LlamaModel::end(LlamaTalk& talk, const std::string& problem) {
  if (talk.is_answering_ && problem.empty()) {
    talk.messages_.emplace_back("assistant", talk.answer_);
    talk.read_bytes_ = written(talk.messages_, false).size();
  }
  talk.is_answering_ = false;
  const std::lock_guard lock(talk.mutex_);
  talk.is_asked_ = false;
  talk.news_.is_over = true;
  talk.news_.problem = problem;
}
