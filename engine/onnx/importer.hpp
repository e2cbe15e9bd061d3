// Builds a graph from an ONNX file, node by node.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <heed/onnx.hpp>

#include "onnx/value.hpp"

namespace heed::onnx {

// The names visible to nodes: those of their graph, and of the enclosing graphs.
struct Scope {
  std::map<std::string, Value, std::less<>> values;
  const Scope* outer = nullptr;

  const Value* find(std::string_view name) const;
};

// Inside a local function: attributes that its caller passes.
using Arguments = std::map<std::string, const FileAttribute*, std::less<>>;

struct ImportOptions {
  std::map<std::string, int64_t, std::less<>> largest;  // by symbol
  int64_t largest_otherwise = 0;                        // for other symbols; 0: every symbol must be in `largest`
  std::vector<OnnxState> states;
  std::vector<OnnxInput> inputs;  // inputs that are tensors of an existing graph
  bool gives_outputs = true;      // outputs become the graph's; otherwise they are stored in Importer::outputs
};

// A symbol that equals another one, or a sum of two, such as the width of a mask: past + new. In OnnxModel::add it may be a constant, the
// size of the tensor given for an input.
struct SameSize {
  std::string symbol;
  std::vector<std::string> terms;  // empty: the symbol equals `size`
  std::string node;                // the node that requires it
  int64_t size = 0;
};

// Null: the symbol is independent of others.
const SameSize* find_same(std::span<const SameSize> same, std::string_view symbol);

// An input and an output that form a state of the graph.
struct Cache {
  const FileValue* past = nullptr;
  std::string_view present;
  std::optional<int> axis;  // the axis along which it grows; empty: its shape is constant
  std::vector<Dim> dims;    // dims of the part that is already filled
  Tensor tensor;            // the state, or, of a growing one, all rows after new ones were appended
};

// The name of a dim of an input: the file's, or a unique one.
std::string symbol_of(const FileDim& dim, std::string_view input, size_t axis);

class Importer;

// One node during its import. The first failure is kept; afterwards queries return empty values, and results are ignored.
class Call {
 public:
  Call(Importer& importer, const FileNode& node, int64_t opset, const Scope& scope, const Arguments* arguments);

  Graph& g;
  const FileNode& node;
  int64_t opset = 0;
  std::vector<Value> out;

  size_t count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  const Value& in(size_t i);  // fails if the input is absent
  ElementType type(size_t i);
  int rank(size_t i);
  std::vector<Dim> dims(size_t i);
  Tensor tensor(size_t i);                        // the input as a tensor of the graph
  const Known* known(size_t i);                   // null if its numbers are not known
  const Known* need_known(size_t i);              // fails if they are not known
  bool are_known(size_t most_numbers = 1 << 16);  // whether all inputs are known
  // Reads constants such as axes and sizes.
  bool integers(size_t i, std::vector<int64_t>* numbers);

  int64_t integer(std::string_view attribute, int64_t otherwise);
  float number(std::string_view attribute, float otherwise);
  std::string_view text(std::string_view attribute, std::string_view otherwise);
  std::vector<int64_t> integers(std::string_view attribute, std::vector<int64_t> otherwise = {});
  const FileAttribute* find(std::string_view attribute) const;
  // The axis counted from the front, among `rank`; fails if it is out of range.
  int axis(int64_t axis, int rank);
  // Reads axes from input i, or else from the attribute "axes".
  bool axes(size_t i, std::vector<int64_t>* axes);

  void give(Tensor tensor, ElementType type, bool is_scalar = false);
  void give(ElementType type, Known known);
  void give(const Value& value) { out.push_back(value); }

  Importer& importer() { return importer_; }
  const Scope& scope() const { return scope_; }  // values visible to the node
  bool failed() const;
  [[gnu::format(printf, 2, 3)]] void fail(const char* pattern, ...);
  // Requires two dims to be equal: two symbols of the file for one size are united. False if they can never be equal.
  bool agree(const Dim& a, const Dim& b);
  // The broadcast shape by numpy's rule. Fails if there is none.
  std::vector<Dim> broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b);

 private:
  Importer& importer_;
  const Scope& scope_;
  std::vector<Value> inputs_;
  Value none_;  // stands for absent inputs
  const Arguments* arguments_;
};

class Importer {
 public:
  // The arguments must outlive the importer.
  Importer(const ModelFile& file, Graph& g, const ImportOptions& options) : file_(file), g_(g), options_(options) {}

  // Adds the file's inputs, nodes and outputs. On failure message() has the error and the node. If two symbols turn out to be one size,
  // must_retry() is true: call another importer on an empty graph with the same symbols.
  Status run();
  const std::string& message() const { return message_; }
  bool must_retry() const { return must_retry_; }
  std::vector<SameSize> same;
  std::vector<Tensor> outputs;

  // --- For calls of operators
  Graph& graph() { return g_; }
  // The numbers of a value, at most `most`; null if they are not known. An initializer is read.
  const Known* known_of(Value* value, size_t most = 1 << 16);
  // The value as a tensor of the graph. Records a failure and returns an invalid tensor if that is not possible.
  Tensor tensor_of(const Value& value, std::string_view name);
  std::vector<Dim> dims_of(const Value& value);
  void fail(Status status, std::string message);
  bool failed() const { return !message_.empty() || must_retry_; }
  bool unite(const Dim& a, const Dim& b);
  // Unites `symbol` with the symbol of which `product` is `times` the value. False if there is none.
  bool unite_multiple(const Dim& symbol, const Dim& product, int64_t times);
  // The numbers 0 .. n - 1 as a tensor [n] of I32.
  Tensor iota(const Dim& n);
  // Appends rows to a cache.
  Value append(const Value& past, Tensor rows, int axis);
  bool may_be_0(const Dim& dim) const;  // true for the length of a cache
  // A unique name for a constant.
  std::string new_name(std::string_view base);
  Tensor constant(const Known& known, DType dtype, std::string_view name);
  // Imports the nodes of a subgraph, and returns its outputs.
  std::vector<Value> run_graph(const FileGraph& graph, const Scope& scope);
  std::vector<Value> run_function(const FileFunction& function, Call& call);
  const FileFunction* find_function(std::string_view domain, std::string_view name) const;

 private:
  bool find_caches();
  bool find_axis(Cache* cache);
  bool add_inputs();
  bool add_past(int cache);
  bool take_inputs();
  bool take_input(const FileValue& input, Tensor tensor);
  bool add_outputs();
  bool add_present(const Cache& cache);
  Tensor state_of(const Cache& cache, const Shape& whole);
  void run_nodes(std::span<const FileNode> nodes, int64_t opset, Scope* scope, const Arguments* arguments);
  void run_node(const FileNode& node, int64_t opset, Scope* scope, const Arguments* arguments);
  Dim dim_of(const FileDim& dim, std::string_view input, size_t axis);
  int64_t opset_of(std::string_view domain, std::span<const FileOpset> opsets) const;
  Dim symbol_dim(const std::string& symbol, std::string_view input);
  bool stand_for(const std::string& symbol, std::vector<std::string> terms, int64_t size = 0);

  const ModelFile& file_;
  Graph& g_;
  const ImportOptions& options_;
  Scope scope_;
  Status status_ = Status::Ok;
  std::string message_, where_;
  bool must_retry_ = false;
  std::vector<Cache> caches_;
  std::set<std::string, std::less<>> positions_;        // symbols of the number of rows in caches
  std::map<std::string, Dim, std::less<>> given_;       // sizes of symbols from tensors of the existing graph
  std::map<int32_t, std::string> symbols_;              // by index of the extent
  std::map<std::string, Tensor, std::less<>> tensors_;  // constants of known values, by name and contents
  std::vector<std::shared_ptr<const Known>> kept_;
  size_t names_ = 0;
  int64_t nodes_ = 0;  // number of imported nodes
  int depth_ = 0;
};

// A row of the table: the function that imports an ONNX operator, for all opsets.
struct Operator {
  std::string_view name;
  void (*import)(Call& call);
};
const Operator* find_operator(std::string_view name);  // null if heed does not support it
std::vector<Operator> operators();                     // all, sorted by name

}  // namespace heed::onnx
