// Graphs behind their handles, and what every call that adds to one does: numbers of C become tensors and sizes, and back.
//
// A heed_tensor has the number of the graph that made it in its upper half, and one more than the tensor's id below. A heed_dim
// of a graph is the complement of the same, with the size's index.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <heed/graph.hpp>

#include "c/call.hpp"
#include "c/objects.hpp"
#include "graph/graph_data.hpp"

namespace heed::c {

struct Graph {
  using Handle = heed_graph;
  static constexpr Kind kKind = Kind::Graph;

  Graph();
  // Another graph that knows all that this one has made so far.
  std::unique_ptr<Graph> clone() const;

  heed::Graph it;
  CustomAdapters customs;
  std::vector<std::array<int64_t, kMaxRank>> weight_shapes;  // what heed_graph_get_weight has told of

  // The graph as it was before the call that made its mistake: a mark to go back to, or a copy.
  struct Before {
    std::optional<detail::GraphMark> mark;
    std::optional<heed::Graph> copy;
  };
  Before before;

  heed_tensor name(Tensor tensor) const;
  heed_dim name(Dim dim) const;
  // False if the graph has made no such tensor or size.
  bool find(heed_tensor named, Tensor* tensor) const;
  bool find(heed_dim named, Dim* dim) const;

  bool take_turn() { return turn_.take(); }
  void give_turn() { turn_.give_back(); }

 private:
  // The graphs that this one was copied from, oldest first and this one last, each with how much of it is here.
  struct Maker {
    uint32_t number;
    uint64_t tensors, sizes;
  };
  uint64_t number_of(uint64_t index, uint64_t Maker::* part) const;
  bool index_of(uint64_t named, uint64_t Maker::* part, uint64_t count, uint32_t* index) const;

  std::vector<Maker> makers_;
  Turn turn_;
};

// A call that adds to a graph. What is wrong with its arguments becomes the graph's mistake; the arguments of a graph that has
// one are not looked at.
class Building {
 public:
  // Appends: the call only adds to the graph. Changes: it also changes what is there.
  enum class Effect : uint8_t { Appends, Changes };
  Building(const char* function, heed_graph* handle, Effect effect = Effect::Appends);
  ~Building();

  Call& call() { return call_; }
  Graph& graph() { return *graph_; }
  // Whether there is a graph, without a mistake.
  explicit operator bool() const { return graph_ && graph_->it.status() == Status::Ok; }

  // The argument; a mistake if it is none of the graph's, or 0 where a tensor must be.
  Tensor tensor(heed_tensor named, const char* what = "a tensor");
  Tensor tensor_if(heed_tensor named);  // 0 is no tensor
  Dim dim(heed_dim named);
  Shape shape(const heed_dim* shape, size_t rank);
  Mask mask(heed_tensor named, int32_t meaning, const char* what);
  std::vector<Tensor> tensors(const heed_tensor* named, size_t count, const char* what);
  // Where a layer puts a tensor beside its result, which give() then names for C; null if C does not want it.
  Tensor* wanted(heed_tensor* to);
  void give();

  // Calls make(graph), and gives C the name of the Tensor or Dim that it returns; 0 after a mistake.
  template <class Make>
  auto add(const Make& make) -> decltype(std::declval<Graph&>().name(make(std::declval<heed::Graph&>()))) {
    if (!*this) return 0;
    const auto made = make(graph_->it);
    give();
    return name(made);
  }
  // The name of a Tensor or Dim; 0 after a mistake.
  template <class T>
  auto name(T made) const -> decltype(std::declval<Graph&>().name(made)) {
    return *this ? graph_->name(made) : 0;
  }
  // The graph's status, with its mistake as the last message.
  heed_status end();

 private:
  struct Wish {
    Tensor tensor;
    heed_tensor* to;
  };

  Call call_;
  Pin<Graph> graph_;
  Graph::Before before_;     // nothing if the graph had a mistake then
  std::deque<Wish> wishes_;  // which keeps addresses
};

// While one lives, gradients of the host's passes may call functions of the graph that this thread is in.
class Lending {
 public:
  Lending(Graph& graph, heed_graph* handle);
  ~Lending();
  Lending(const Lending&) = delete;

 private:
  Graph* outer_graph_;
  heed_graph* outer_handle_;
};

}  // namespace heed::c
