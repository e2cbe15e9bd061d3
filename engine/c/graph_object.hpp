// The object behind heed_graph, and calls that add to it.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include <heed/bert.hpp>
#include <heed/decoder.hpp>
#include <heed/graph.hpp>
#include <heed/nn.hpp>

#include "c/call.hpp"
#include "c/objects.hpp"

namespace heed::c {

// A tensor or size of C has the graph's tag in its upper half, so that those of another graph are found out.
struct Graph {
  using Handle = heed_graph;
  static constexpr Kind kKind = Kind::Graph;
  Graph();
  Turn turn;
  bool take_turn() { return turn.take(); }
  void give_turn() { turn.give_back(); }

  heed::Graph it;
  uint32_t tag = 0;       // of copies the same
  std::vector<Dim> dims;  // those that C has a number for
  CustomAdapters customs;
};

// One call that adds to a graph. What it cannot make sense of becomes the graph's mistake, after which the engine's call does
// nothing; so arguments are turned into the engine's as they are written.
class Building {
 public:
  Building(const char* function, heed_graph* graph);
  ~Building();

  bool ok() const { return static_cast<bool>(pin_); }
  Call& call() { return call_; }
  Graph& object() { return *pin_; }
  heed::Graph& graph() { return pin_->it; }

  Tensor in(heed_tensor tensor);  // 0 is no tensor
  Dim dim(heed_dim dim);
  Shape shape(const heed_dim* shape, size_t rank);
  Mask mask(heed_tensor tensor, int32_t meaning, const char* what);
  heed_tensor out(Tensor tensor) const;
  heed_dim out(Dim dim);

  SoftmaxOptions softmax(const heed_softmax_options* options);
  RotaryOptions rotary(const heed_rotary_options* options);
  SampleOptions sample(const heed_sample_options* options);
  AttentionOptions attention(const heed_attention_options* options);
  nn::MultiHeadOptions multi_head(const heed_multi_head_options* options);
  nn::Cache cache(const heed_cache* cache);
  nn::NormOptions norm(const heed_norm_options* options);
  nn::AttentionBlockNames names(const heed_attention_block_names* names, nn::AttentionBlockNames otherwise);
  nn::FeedForwardBlockNames names(const heed_feed_forward_block_names* names, nn::FeedForwardBlockNames otherwise);
  nn::FeedForwardOptions feed_forward(const heed_feed_forward_options* options);
  nn::EncoderLayerOptions encoder_layer(const heed_encoder_layer_options* options);
  nn::DecoderLayerOptions decoder_layer(const heed_decoder_layer_options* options);

  // A call that gives a tensor: `add` is given the graph.
  template <class Add>
  heed_tensor add(const Add& add) {
    return ok() ? out(Tensor(add(pin_->it))) : 0;
  }
  // One that gives the graph's status.
  template <class Do>
  heed_status act(const Do& act) {
    if (ok()) act(pin_->it);
    return status();
  }
  heed_status status();  // of the graph, with its message

 private:
  // Where C wants a tensor that an option's pointer gives.
  struct Told {
    Tensor tensor;
    heed_tensor* to;
  };

  Call call_;
  Pin<Graph> pin_;
  Status before_ = Status::Ok;
  std::deque<Told> told_;
};

// The numbers of an activation, of which 0 is the default of its place.
Activation activation_of(Call& call, int32_t kind, Activation otherwise);
// The five numbers of sample_words.
SampleOptions sample_numbers(Call& call, const heed_sample_options& options);
void copy_attention(const Building& building, const std::vector<Tensor>& from, heed_tensor* to);

}  // namespace heed::c
