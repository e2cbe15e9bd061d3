// Characters that speak by llama.cpp, on a thread in this process that computes a token for each in turn, as an extension of Godot with
// llama.cpp would. Each character has its own context; all share the weights.
#pragma once

#include <llama.h>

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

struct LlamaSettings {
  int32_t threads = 2, gpu_layers = 0;  // gpu_layers: 0 uses only the CPU backend
};

// Returns the text since the last call.
struct LlamaNews {
  std::string text, problem;
  int32_t tokens = 0;
  bool is_over = false;
};

// One character. Its owner asks questions and reads text; all else belongs to the thread of its model.
class LlamaTalk {
 public:
  LlamaTalk(std::string system, int32_t context_tokens, int32_t answer_tokens);
  ~LlamaTalk();
  LlamaTalk(const LlamaTalk&) = delete;
  LlamaTalk& operator=(const LlamaTalk&) = delete;

  LlamaNews take();

 private:
  friend class LlamaModel;
  using Messages = std::vector<std::pair<std::string, std::string>>;  // role, text

  const int32_t context_tokens_, answer_tokens_;
  std::mutex mutex_;
  LlamaNews news_;
  std::string question_;
  bool is_asked_ = false, is_cancelled_ = false;

  // These belong to the model's thread.
  llama_context* context_ = nullptr;
  Messages messages_;
  size_t read_bytes_ = 0;  // bytes of the chat's text
  int32_t used_ = 0, written_ = 0;
  llama_token last_ = 0;
  bool is_answering_ = false;
  std::string answer_;
};

class LlamaModel {
 public:
  LlamaModel(std::string path, LlamaSettings settings);
  ~LlamaModel();  // waits for the present token
  LlamaModel(const LlamaModel&) = delete;
  LlamaModel& operator=(const LlamaModel&) = delete;

  void say(const std::shared_ptr<LlamaTalk>& talk, const std::string& text);
  void cancel(LlamaTalk& talk);

 private:
  void work();
  bool load();
  void step(LlamaTalk& talk);
  std::string read_question(LlamaTalk& talk);
  std::string decode(LlamaTalk& talk, std::vector<llama_token> tokens);
  std::string written(const LlamaTalk::Messages& messages, bool begins_answer) const;
  void end(LlamaTalk& talk, const std::string& problem);

  const std::string path_;
  const LlamaSettings settings_;
  llama_model* model_ = nullptr;
  llama_sampler* sampler_ = nullptr;
  const llama_vocab* vocabulary_ = nullptr;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<LlamaTalk>> talking_;
  bool is_closing_ = false;
  std::thread thread_;
};
