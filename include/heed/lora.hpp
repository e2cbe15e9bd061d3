// Lora: low-rank adapters, small matrices that are trained beside the frozen weights of a model (Hu et al. 2021, arXiv:2106.09685).
//
//   const heed::Tensor logits = model.build(g, ids, {.all_logits = true}).logits;   // a graph of any model
//   heed::train::Lora lora({.rank = 8, .modules = {"q_proj", "v_proj"}});
//   s = lora.choose(g, log);                                 // which of its weights get an adapter
//   lora.apply(g);
//   s = lora.add_to(&optimizer);                             // only adapters learn
//   const auto gradients = heed::train::gradients(g, loss, optimizer.weights(g));
//   ...                                                      // <heed/optimizer.hpp> goes on from here
//   std::vector<heed::train::LoraMatrix> matrices;
//   s = lora.initial(1, &matrices);
//   s = optimizer.load(state, heed::train::host_tensors(matrices));
//
// A matmul with a weight W [out, in] becomes x W^T + alpha / rank * (dropout(x) A^T) B^T, with A [rank, in] and B [out, rank], both F32.
// The weight may be of any type, also quantized. A gradient through its matmul reads it converted to the type of the rows; the copy takes
// out * in elements of scratch, for one matmul at a time. No gradient is computed before the first adapter.
//
// At inference adapters can stay separate: call apply() on the inference graph, too, then Optimizer::keep, or upload the model's tensors
// and the adapters' together. Or they can be merged: merge() gives the values of a weight with its adapter, to be uploaded instead of the
// weight.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/decoder.hpp>
#include <heed/device.hpp>
#include <heed/export.hpp>
#include <heed/graph.hpp>
#include <heed/optimizer.hpp>
#include <heed/status.hpp>

namespace heed::train {

// Which weights get an adapter, and of which size.
struct LoraOptions {
  int64_t rank = 8;      // the rows of A and the columns of B
  float alpha = 16.0f;   // B A is multiplied by alpha / rank
  float dropout = 0.0f;  // dropout of x in training plans
  // A weight "NAME.weight" gets an adapter if NAME is one of these or ends in "." and one of these.
  std::vector<std::string> modules = {"q_proj", "v_proj"};
  // Only weights of these layers get one, by the first number in NAME. Empty: all layers.
  std::vector<int64_t> layers = {};
  // The prefix that PEFT puts before the names of a model's modules. For GPT-2 with a language model head, "transformer." follows it.
  std::string prefix = "base_model.model.";
  // The network's configuration, if its weights come from a GGUF file: there Llama's rows of queries and keys are in another order
  // (RotaryPairs::Adjacent) than in PEFT's files. Files of adapters are then written in PEFT's order, and matrices in memory have the
  // model's.
  std::optional<DecoderConfig> decoder = {};
};

// A or B of an adapter, by its name in graphs and files: "base_model.model.NAME.lora_A.weight".
struct LoraMatrix {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};
// Views, valid as long as `matrices` is.
HEED_API std::vector<HostTensor> host_tensors(std::span<const LoraMatrix> matrices);

// Adapters beside the weights of a graph (Hu et al. 2021, arXiv:2106.09685). A plain value without a device.
class HEED_API Lora {
 public:
  // Stores the options; choose() checks them.
  explicit Lora(LoraOptions options = {}) : options_(std::move(options)) {}

  // One weight that has an adapter: A is [rank, in], B is [out, rank].
  struct Adapter {
    std::string module;  // NAME; its weight is "NAME.weight"
    int64_t in = 0, out = 0;
    bool in_out = false;  // the weight is stored as [in, out], as GPT-2's are
  };

  // The options, and the adapters in the order of the graph's weights; none before choose().
  const LoraOptions& options() const { return options_; }
  std::span<const Adapter> adapters() const { return adapters_; }

  // Selects those weights that `g` has so far and the options name. Nothing changes on failure. NotFound: there are none. Unsupported: an
  // operation other than a matmul reads one, or a part of it is read. InvalidArgument: a number of the options is out of range.
  Status choose(const Graph& g, const Log& log = {});
  // Adds the adapters to all matmuls with their weights that `g` has so far. Call it once, before train::gradients. Mistakes are the
  // graph's: a missing weight (MissingWeight) or one of another shape (ShapeMismatch), a second call (InvalidArgument).
  void apply(Graph& g) const;
  // Declares A and B of each adapter as weights of the optimizer.
  Status add_to(Optimizer* optimizer, int group = 0) const;

  // Initial values as in PEFT: A is uniform within 1 / sqrt(in), B is 0, so that the model's results are unchanged. OutOfMemory: *matrices
  // is unchanged.
  Status initial(uint64_t seed, std::vector<LoraMatrix>* matrices) const;
  // Reads all matrices from a State. NotFound, ShapeMismatch: the optimizer or the State has others. OutOfMemory. On failure *matrices is
  // unchanged.
  Status read(const Optimizer& optimizer, const State& state, std::vector<LoraMatrix>* matrices) const;

  // The values of a weight with its adapter, in f32: W + alpha / rank * B A, summed in double. A weight without an adapter keeps its
  // values. Quantized weights are dequantized. DTypeMismatch: the weight holds integers. MissingWeight: a matrix of its adapter is missing.
  // ShapeMismatch: `values` or a shape has another size.
  Status merge(const HostTensor& weight, std::span<const LoraMatrix> matrices, std::span<float> values) const;

  // Writes a folder in PEFT's format: adapter_model.safetensors and adapter_config.json. `base` is the name of the base model, for readers.
  // The folder is created. Each file is written as a whole or not at all (FileError). Nothing is written that open() would refuse.
  // InvalidArgument: a text that is not UTF-8, a number of the options that is out of range, a name that does not belong to an adapter with
  // this prefix, or a duplicate name. ShapeMismatch: matrices do not fit the rank, or each other.
  Status save(std::string_view folder, std::span<const LoraMatrix> matrices, std::string_view base,
              const Log& log = {}) const;
  // Reads such a folder. rank, alpha, dropout, modules and layers come from it; prefix and decoder from `options`. NotFound: a file is
  // missing. InvalidFile: it is damaged. Unsupported: adapters of another kind, such as DoRA, or other weights beside them. ShapeMismatch:
  // matrices do not fit each other. On failure *lora and *matrices are unchanged.
  static Status open(std::string_view folder, const LoraOptions& options, const Log& log, Lora* lora,
                     std::vector<LoraMatrix>* matrices);

 private:
  std::string name_of(const Adapter& adapter, char matrix) const;
  Status check_numbers(const Log& log) const;
  // A and B of each adapter, without values.
  std::vector<LoraMatrix> shapes() const;
  // Changes the rows of each B from the files' order to the model's, or back.
  void reorder(std::vector<LoraMatrix>* matrices, bool to_model) const;

  LoraOptions options_;
  std::vector<Adapter> adapters_;
};

}  // namespace heed::train
