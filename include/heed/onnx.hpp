// OnnxModel: a network in an ONNX file, as a graph.
//
//   heed::OnnxModel model;
//   heed::Status s = heed::OnnxModel::open("policy.onnx", heed::stderr_log(), &model);
//   heed::Plan plan;
//   const heed::OnnxExtent largest[] = {{"batch", 64}, {"sequence", 128}};
//   if (s == heed::Status::Ok) s = model.compile(device, {.extents = largest}, heed::stderr_log(), &plan);
//   if (s == heed::Status::Ok) s = plan.run({{"input", x}, {"output", y}}, {{"batch", 3}, {"sequence", 17}});
//
// Each dim that the file names, such as "batch", becomes an extent of the graph, whose maximum the caller gives: one plan serves all sizes
// up to it. Opsets 7 to 28. Integers of 64 bits become I32, bools U8 of 0 and 1. Nodes that only compute with shapes and constants are
// evaluated when the graph is built and do not run on the device.
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
  int64_t size = 0;    // if it is a constant
};

// An input or output of the file.
struct OnnxTensor {
  std::string name;
  DType dtype = DType::F32;
  std::vector<OnnxDim> dims;  // for outputs, as the file states them, which may be incomplete
};

// The maximum of a dim with this name.
struct OnnxExtent {
  std::string_view symbol;  // the name, as OnnxDim has it
  int64_t largest = 0;      // 1 or more
};

// A state: the run reads the input `past`, and the output `present` is its value at the next run. Without `present` runs leave the input as
// the host wrote it (State::write), such as the keys and values that a decoder attends to.
struct OnnxState {
  std::string_view past, present;
};

// The maxima of the file's dims, and the tensors that stay on the device.
struct OnnxOptions {
  std::span<const OnnxExtent> extents = {};
  int64_t largest = 0;                     // maximum of all other dims; 0: each must be among `extents`
  std::span<const OnnxState> states = {};  // inputs and outputs that stay on the device, in a State; see
                                           // OnnxModel::build
};

// A tensor of a graph that replaces an input.
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

  // Opens a file; values that it stores in other files are searched for in its folder. NotFound: the file or one of those is missing.
  // InvalidFile: it is damaged; the message has the node or tensor. On failure *model is unchanged.
  static Status open(std::string_view path, const Log& log, OnnxModel* model);
  // Reads from memory that the caller keeps alive. `name` stands for the file in messages.
  static Status parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, OnnxModel* model);

  bool valid() const { return contents_ != nullptr; }
  // In the order of the file; views that are valid while the model is.
  std::span<const OnnxTensor> inputs() const;
  std::span<const OnnxTensor> outputs() const;
  // The operators that the file uses and how often: ("MatMul", 24).
  std::span<const std::pair<std::string, int64_t>> operators() const;

  // Pairs of an input and an output that form a cache, recognized by the names that exporters give them: "past_key_values.0.key" and
  // "present.0.key", "past_key_0" and "present_key_0".
  std::span<const OnnxState> states() const;

  // Fills *g with the file's inputs, nodes and outputs under their names. If two dim names must be equal, such as "batch" and "batch_1" of
  // tensors that are added, the graph has only one of them (find_extents knows which).
  //
  // Each pair of OnnxOptions::states becomes a state of the graph instead, under the input's name. There are two kinds:
  // - A cache, which grows: present = Concat(past, new), or an output of Attention. The dim of its length, such as "past", becomes a
  //   position: the number of rows in the cache, 0 at first. A run writes new rows behind them, and copies none. The capacity is the
  //   maximum of past plus the maximum of new.
  // - A memory, whose shape stays the same: a run replaces it.
  //
  // Unsupported: the message has the node, its operator, and what would be needed. InvalidArgument: the largest size of a dim is not given,
  // or a state names no input or output.
  Status build(const OnnxOptions& options, const Log& log, Graph* g) const;
  // Adds the file's nodes to the existing graph *g. `inputs` replace inputs of the file, and their sizes become those of the file's dims;
  // other inputs of the file become inputs of the graph. *outputs receives the tensors of outputs() in their order, invalid for states;
  // they do not become outputs of the graph. Names of weights are those of the file, as in build(). On failure *g is unchanged.
  // ShapeMismatch, DTypeMismatch: a tensor does not fit the file's input.
  Status add(Graph* g, std::span<const OnnxInput> inputs, const OnnxOptions& options, const Log& log,
             std::vector<Tensor>* outputs) const;
  // Uploads the weights that a graph of build() declares, under the file's names. Query, key and value matrices that multiply the same
  // input are joined to one weight, [out, in], whose name joins theirs with '+', and one bias, named the same plus "/bias".
  Status upload(Device& device, const Graph& g, const Log& log, Weights* weights) const;
  // Calls build, upload and Device::compile.
  Status compile(Device& device, const OnnxOptions& options, const Log& log, Plan* plan,
                 const CompileOptions& compile_options = {}) const;
  // The extents of a run of a graph of build(), from the shapes of its inputs; their names are valid until the graph changes. The length of
  // a cache that is a state is among them if it follows from a dim that is the sum of it and the new length, as that of a mask, or if the
  // cache's shape is given; otherwise the caller adds it. ShapeMismatch: shapes do not fit together, or an input is missing.
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
