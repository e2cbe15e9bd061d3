// OnnxModel: a network in an ONNX file, as a graph.
//
//   heed::OnnxModel model;
//   heed::Status s = heed::OnnxModel::open("policy.onnx", heed::stderr_log(), &model);
//   heed::Plan plan;
//   const heed::OnnxExtent largest[] = {{"batch", 64}, {"sequence", 128}};
//   if (s == heed::Status::Ok) s = model.compile(device, {.extents = largest}, heed::stderr_log(), &plan);
//   if (s == heed::Status::Ok) s = plan.run({{"input", x}, {"output", y}}, {{"batch", 3}, {"sequence", 17}});
//
// Each dim that the file names, such as "batch", is an extent of the graph, up to a size that the caller gives: one plan serves all sizes
// up to it. Opsets 7 to 28. Whole numbers of 64 bits are I32 in heed, bools are U8 of 0 and 1. Parts of the file that only compute with
// shapes and constants are done when the graph is built; nothing of them runs on the device.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/plan.hpp>
#include <heed/status.hpp>

namespace heed {

// A dim of an input or output: a constant, or an extent.
struct OnnxDim {
  std::string symbol;  // an extent's name; empty: a constant
  int64_t size = 0;    // of a constant
};

// An input or output of the file.
struct OnnxTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<OnnxDim> dims;  // of outputs: as the file says, which may be too little
};

// The most that a dim of this name can be.
struct OnnxExtent {
  std::string_view symbol;  // the name, as OnnxDim has it
  int64_t largest = 0;      // 1 or more
};

// An input that a run takes as `past`, and an output that it leaves as `present` for the next run. Without `present` runs leave the input as
// the host wrote it (State::write), such as keys and values of what a decoder attends to.
struct OnnxState {
  std::string_view past, present;
};

// How large the dims of a file can be, and what stays on the device.
struct OnnxOptions {
  std::span<const OnnxExtent> extents = {};
  int64_t largest = 0;                     // of all others; 0: each must be among `extents`
  std::span<const OnnxState> states = {};  // those that stay on the device, in a State; see OnnxModel::build
};

// A tensor of a graph in the place of an input.
struct OnnxInput {
  std::string_view name;
  Tensor tensor;
};

// The dims of an input at a run.
struct OnnxShape {
  std::string_view name;
  std::span<const int64_t> dims;
};

// Owns the mapped file. Move-only. Views that it returns are valid while it lives, also after a move.
class HEED_API OnnxModel {
 public:
  OnnxModel();
  ~OnnxModel();
  OnnxModel(OnnxModel&&) noexcept;
  OnnxModel& operator=(OnnxModel&&) noexcept;

  // Values that the file keeps in files beside it are looked for in its folder. NotFound: there is no such file, or one beside it is missing.
  // InvalidFile: it is damaged; the message has the node or tensor. On failure *model is unchanged.
  static Status open(std::string_view path, const Log& log, OnnxModel* model);
  // Reads memory that the caller keeps alive. `name` stands for the file in messages.
  static Status parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, OnnxModel* model);

  bool valid() const { return contents_ != nullptr; }
  // In the order of the file; views that are valid while the model is.
  std::span<const OnnxTensor> inputs() const;
  std::span<const OnnxTensor> outputs() const;
  // The operators that the file uses, each once, and how often: ("MatMul", 24).
  std::span<const std::pair<std::string, int64_t>> operators() const;

  // Pairs of an input and an output that are one cache by the names that exporters give them: "past_key_values.0.key" and
  // "present.0.key", "past_key_0" and "present_key_0".
  std::span<const OnnxState> states() const;

  // Fills *g with the file's inputs, nodes and outputs, by their names there. Where two names turn out to be one size, such as "batch" and
  // "batch_1" of tensors that are added, the graph has one of them (find_extents knows which).
  //
  // Each pair of OnnxOptions::states is neither input nor output but a state of the graph, by the input's name. It is one of two kinds:
  // - A cache, which the file makes longer: present = Concat(past, new), or what Attention gives. The dim of its length, such as "past",
  //   becomes a position: how many rows are there, 0 at first. A run writes new rows behind them, and copies none. There is room for the
  //   largest past and the largest of what is new together.
  // - A memory, whose shape stays the same: a run replaces it.
  //
  // Unsupported: the message has the node, its operator, and what would be needed. InvalidArgument: the largest size of a dim is not given,
  // or a state names no input or output.
  Status build(const OnnxOptions& options, const Log& log, Graph* g) const;
  // Adds the file's nodes to what *g holds already. Inputs are these tensors, whose sizes become those of the file's dims; others become
  // inputs of the graph. The tensors of outputs() come into *outputs in their order, and no outputs of the graph: invalid ones for states.
  // Names of weights are those of the file, as in build(). On failure *g is unchanged. ShapeMismatch, DTypeMismatch: a tensor is not what the
  // file says of its input.
  Status add(Graph* g, std::span<const OnnxInput> inputs, const OnnxOptions& options, const Log& log,
             std::vector<Tensor>* outputs) const;
  // Uploads the weights that a graph of build() asks for. Their names are those of the file. Queries, keys and values of one input have one
  // weight, [out, in], with '+' between the names, and one bias, with "/bias" behind that name.
  Status upload(Device& device, const Graph& g, const Log& log, Weights* weights) const;
  // All of it: build, upload, Device::compile.
  Status compile(Device& device, const OnnxOptions& options, const Log& log, Plan* plan,
                 const CompileOptions& compile_options = {}) const;
  // The extents of a run of a graph of build(), from the shapes of its inputs; their names are valid until the graph changes. The length of
  // a cache that is a state is among them if a dim is the sum of it and of what is new, as that of a mask is, or if the shape of the cache is
  // given, too; otherwise the caller adds it.
  // ShapeMismatch: shapes do not fit together, or an input is missing.
  Status find_extents(const Graph& g, std::span<const OnnxShape> shapes, const Log& log,
                      std::vector<ExtentValue>* extents) const;

 private:
  struct Contents;
  Status add_to(Graph* g, std::span<const OnnxInput> inputs, const OnnxOptions& options, const Log& log,
                std::vector<Tensor>* outputs) const;
  static Status finish(std::unique_ptr<Contents> contents, const Log& log, OnnxModel* model);

  std::unique_ptr<Contents> contents_;
};

}  // namespace heed
