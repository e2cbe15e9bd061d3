// Graphs behind their handles, and the frame of every call that adds to one: converts C's numbers to tensors and sizes, and back.
//
// A heed_tensor has the number of its graph in its upper half, and the tensor's id plus one in its lower half. A heed_dim of a graph is the
// complement of the same with the size's index.
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
  // A copy of the graph that also recognizes the tensors and sizes of this one.
  std::unique_ptr<Graph> clone() const;

  heed::Graph it;
  CustomAdapters customs;
  std::vector<std::array<int64_t, kMaxRank>> weight_shapes;  // shapes that heed_graph_get_weight has returned

  // The state of the graph before the call that failed: a mark to return to, or a copy.
  struct Before {
    std::optional<detail::GraphMark> mark;
    std::optional<heed::Graph> copy;
  };
  Before before;

  heed_tensor name(Tensor tensor) const;
  heed_dim name(Dim dim) const;
  // False if this graph has no such tensor or size.
  bool find(heed_tensor named, Tensor* tensor) const;
  bool find(heed_dim named, Dim* dim) const;

  bool take_turn() { return turn_.take(); }
  void give_turn() { turn_.give_back(); }

 private:
  // The graphs from which this one was copied, oldest first and this one last, each with the number of its tensors and sizes that are here.
  struct Maker {
    uint32_t number;
    uint64_t tensors, sizes;
  };
  uint64_t number_of(uint64_t index, uint64_t Maker::* part) const;
  bool index_of(uint64_t named, uint64_t Maker::* part, uint64_t count, uint32_t* index) const;

  std::vector<Maker> makers_;
  Turn turn_;
};

// A call that adds to a graph. Invalid arguments become the graph's mistake; if the graph has a mistake already, arguments are ignored.
class Building {
 public:
  // Appends: the call only adds to the graph. Changes: it also changes existing contents.
  enum class Effect : uint8_t { Appends, Changes };
  Building(const char* function, heed_graph* handle, Effect effect = Effect::Appends);
  ~Building();

  Call& call() { return call_; }
  Graph& graph() { return *graph_; }
  // Whether there is a graph without a mistake.
  explicit operator bool() const { return graph_ && graph_->it.status() == Status::Ok; }

  // The tensor of an argument. Records a mistake if it does not belong to the graph, or is 0 although required.
  Tensor tensor(heed_tensor named, const char* what = "a tensor");
  Tensor tensor_if(heed_tensor named);  // 0 means no tensor
  Dim dim(heed_dim named);
  Shape shape(const heed_dim* shape, size_t rank);
  Mask mask(heed_tensor named, int32_t meaning, const char* what);
  std::vector<Tensor> tensors(const heed_tensor* named, size_t count, const char* what);
  // The destination for an additional tensor of a layer, which give() then names for C; null if C does not request it.
  Tensor* wanted(heed_tensor* to);
  void give();

  // Calls make(graph), and returns the C name of its Tensor or Dim; 0 after a mistake.
  template <class Make>
  auto add(const Make& make) -> decltype(std::declval<Graph&>().name(make(std::declval<heed::Graph&>()))) {
    if (!*this) return 0;
    const auto made = make(graph_->it);
    give();
    return name(made);
  }
  // The C name of a Tensor or Dim; 0 after a mistake.
  template <class T>
  auto name(T made) const -> decltype(std::declval<Graph&>().name(made)) {
    return *this ? graph_->name(made) : 0;
  }
  // Returns the graph's status; its mistake becomes the last message.
  heed_status end();

 private:
  struct Wish {
    Tensor tensor;
    heed_tensor* to;
  };

  Call call_;
  Pin<Graph> graph_;
  Graph::Before before_;     // empty if the graph already had a mistake
  std::deque<Wish> wishes_;  // a deque, since addresses must stay valid
};

// During its lifetime, gradients of the host's passes may call functions of the graph that this thread is using.
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
