// Lora: small matrices beside the frozen weights of a model, which learn in their place (Hu et al. 2021, arXiv:2106.09685).
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
// A product with a weight W [out, in] becomes x W^T + alpha / rank * (dropout(x) A^T) B^T, with A [rank, in] and B [out, rank],
// both F32. The weight may be of any type, quantized ones too: a gradient that flows through its product finds it widened to the
// type of the rows, in scratch, out * in elements, one product at a time. What lies before the first adapter has no gradient.
//
// Kept apart at inference: apply() to the graph that answers, too, then Optimizer::keep; or upload the model's tensors and the
// adapters' together. Merged: merge() gives the values of a weight with its adapter, for an upload in its place.
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
  float alpha = 16.0f;   // the product of B and A counts alpha / rank times
  float dropout = 0.0f;  // in training plans
  // Weights "NAME.weight" get an adapter where NAME is one of these or ends in "." and one of these.
  std::vector<std::string> modules = {"q_proj", "v_proj"};
  // Only weights of these layers get one, by the first number in NAME. Empty: those of all layers do.
  std::vector<int64_t> layers = {};
  // PEFT puts this before the names of a model's modules. Models with a head of their own for GPT-2 have "transformer." behind it.
  std::string prefix = "base_model.model.";
  // The network, if its weights come from a GGUF file: Llama's rows of queries and keys are in another order there
  // (RotaryPairs::Adjacent) than PEFT's users have them. Files of adapters then have PEFT's order, and memory that of the model.
  std::optional<DecoderConfig> decoder = {};
};

// A or B of an adapter, by its name in graphs and files: "base_model.model.NAME.lora_A.weight".
struct LoraMatrix {
  std::string name;
  std::vector<int64_t> shape;
  std::vector<float> values;
};
// Views, which live as long as the matrices.
HEED_API std::vector<HostTensor> host_tensors(std::span<const LoraMatrix> matrices);

// Adapters beside the weights of a graph (Hu et al. 2021, arXiv:2106.09685). A plain value, which knows no device.
class HEED_API Lora {
 public:
  // Takes the options; choose() checks them.
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

  // Takes the weights that `g` has so far and that the options name. Nothing changes on failure. NotFound: there are none.
  // Unsupported: something other than products reads one, or reads a part of it. InvalidArgument: a number of the options is out
  // of range.
  Status choose(const Graph& g, const Log& log = {});
  // Puts the adapters beside all products with their weights that `g` has so far; before gradients, and once. Mistakes are the
  // graph's: a weight that is not there (MissingWeight) or of another shape (ShapeMismatch), a second call (InvalidArgument).
  void apply(Graph& g) const;
  // Declares A and B of each adapter.
  Status add_to(Optimizer* optimizer, int group = 0) const;

  // How PEFT begins: A is uniform within 1 / sqrt(in), B is 0, so that the model is what it was. OutOfMemory: *matrices is
  // unchanged.
  Status initial(uint64_t seed, std::vector<LoraMatrix>* matrices) const;
  // All matrices as a State has them. NotFound, ShapeMismatch: the optimizer or the State has others. OutOfMemory. On failure
  // *matrices is unchanged.
  Status read(const Optimizer& optimizer, const State& state, std::vector<LoraMatrix>* matrices) const;

  // The values of a weight with its adapter, in f32: W + alpha / rank * B A, summed in double. A weight without an adapter
  // keeps its own. Quantized weights are widened. DTypeMismatch: the weight holds whole numbers. MissingWeight: a matrix is not
  // among these. ShapeMismatch: `values` or a shape is of another size.
  Status merge(const HostTensor& weight, std::span<const LoraMatrix> matrices, std::span<float> values) const;

  // A folder as PEFT has it: adapter_model.safetensors and adapter_config.json. `base` is the name of the model that they belong
  // to, for readers. Each file is there as a whole or not at all (FileError); the folder is made.
  // What open() would refuse is refused before anything is written. InvalidArgument: a text that is not UTF-8, a number of the
  // options that is out of range, or a name that is none of an adapter with this prefix, or is there twice. ShapeMismatch: matrices
  // do not fit the rank, or each other.
  Status save(std::string_view folder, std::span<const LoraMatrix> matrices, std::string_view base,
              const Log& log = {}) const;
  // Reads such a folder. rank, alpha, dropout, modules and layers come from it; prefix and decoder from `options`. NotFound: a file
  // is not there. InvalidFile: it is damaged. Unsupported: adapters of another kind, such as those of DoRA, or with weights of
  // other kinds beside them. ShapeMismatch: matrices do not fit each other. On failure *lora and *matrices are unchanged.
  static Status open(std::string_view folder, const LoraOptions& options, const Log& log, Lora* lora,
                     std::vector<LoraMatrix>* matrices);

 private:
  std::string name_of(const Adapter& adapter, char matrix) const;
  Status check_numbers(const Log& log) const;
  // A and B of each adapter, without values.
  std::vector<LoraMatrix> shapes() const;
  // Rows of B from the order of files to that of the model, or back.
  void reorder(std::vector<LoraMatrix>* matrices, bool to_model) const;

  LoraOptions options_;
  std::vector<Adapter> adapters_;
};

}  // namespace heed::train
