// Makes a graph of an ONNX file, node by node.
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

// The names that nodes see: those of their graph, and of the graphs around it.
struct Scope {
  std::map<std::string, Value, std::less<>> values;
  const Scope* outer = nullptr;

  const Value* find(std::string_view name) const;
};

// Of a local function's nodes: attributes that its caller gave.
using Arguments = std::map<std::string, const FileAttribute*, std::less<>>;

struct ImportOptions {
  std::map<std::string, int64_t, std::less<>> largest;  // of symbols
  int64_t largest_otherwise = 0;                        // 0: every symbol must be in `largest`
  std::vector<OnnxState> states;
  std::vector<OnnxInput> inputs;  // that are tensors of the graph already
  bool gives_outputs = true;      // to the host; otherwise they are in Importer::outputs
};

// A name of a dim that equals another name, or the sum of two, as the length of a mask does: past + new. In OnnxModel::add it may be a
// constant, which the tensor given for an input has.
struct SameSize {
  std::string symbol;
  std::vector<std::string> terms;  // empty: it is `size`
  std::string node;                // that shows it
  int64_t size = 0;
};

// Null: the symbol is a size of its own.
const SameSize* find_same(std::span<const SameSize> same, std::string_view symbol);

// An input and an output that are a state of the graph.
struct Cache {
  const FileValue* past = nullptr;
  std::string_view present;
  std::optional<int> axis;  // along which it grows; nothing: its shape stays the same
  std::vector<Dim> dims;    // of what lies there already
  Tensor tensor;            // the state, or of one that grows: all its rows, once new ones were added
};

// The name of a dim of an input: its own, or one that no other dim has.
std::string symbol_of(const FileDim& dim, std::string_view input, size_t axis);

class Importer;

// One node while it is imported. The first failure is kept; what is asked for afterwards is empty, and what is made does not count.
class Call {
 public:
  Call(Importer& importer, const FileNode& node, int64_t opset, const Scope& scope, const Arguments* arguments);

  Graph& g;
  const FileNode& node;
  int64_t opset = 0;
  std::vector<Value> out;

  size_t count() const { return inputs_.size(); }
  bool has(size_t i) const { return i < inputs_.size() && inputs_[i].valid(); }
  const Value& in(size_t i);  // fails if it is absent
  ElementType type(size_t i);
  int rank(size_t i);
  std::vector<Dim> dims(size_t i);
  Tensor tensor(size_t i);                        // on the device
  const Known* known(size_t i);                   // null if its numbers are not known
  const Known* need_known(size_t i);              // fails instead
  bool are_known(size_t most_numbers = 1 << 16);  // all inputs
  // Constants only: axes, sizes and such.
  bool integers(size_t i, std::vector<int64_t>* numbers);

  int64_t integer(std::string_view attribute, int64_t otherwise);
  float number(std::string_view attribute, float otherwise);
  std::string_view text(std::string_view attribute, std::string_view otherwise);
  std::vector<int64_t> integers(std::string_view attribute, std::vector<int64_t> otherwise = {});
  const FileAttribute* find(std::string_view attribute) const;
  // Counted from the front, of this many axes; fails if it is none.
  int axis(int64_t axis, int rank);
  // Axes from input i, or else from the attribute "axes".
  bool axes(size_t i, std::vector<int64_t>* axes);

  void give(Tensor tensor, ElementType type, bool is_scalar = false);
  void give(ElementType type, Known known);
  void give(const Value& value) { out.push_back(value); }

  Importer& importer() { return importer_; }
  const Scope& scope() const { return scope_; }  // of the node
  bool failed() const;
  [[gnu::format(printf, 2, 3)]] void fail(const char* pattern, ...);
  // Dims that must be the same are made so: two names that a file has for one size become one. False if they never are.
  bool agree(const Dim& a, const Dim& b);
  // The shape of both by numpy's rule. Fails if there is none.
  std::vector<Dim> broadcast(const std::vector<Dim>& a, const std::vector<Dim>& b);

 private:
  Importer& importer_;
  const Scope& scope_;
  std::vector<Value> inputs_;
  Value none_;  // what an absent input is
  const Arguments* arguments_;
};

class Importer {
 public:
  // All of these outlive it.
  Importer(const ModelFile& file, Graph& g, const ImportOptions& options) : file_(file), g_(g), options_(options) {}

  // Adds the file's inputs, nodes and outputs. On failure message() says what is wrong, with the node. Where two symbols turn out to
  // be one size, must_retry() holds: the same symbols are to be given to another importer, of an empty graph.
  Status run();
  const std::string& message() const { return message_; }
  bool must_retry() const { return must_retry_; }
  std::vector<SameSize> same;
  std::vector<Tensor> outputs;

  // --- For calls
  Graph& graph() { return g_; }
  // The numbers of a value, at most so many; null if they are not known. An initializer is read.
  const Known* known_of(Value* value, size_t most = 1 << 16);
  // The value on the device; invalid, with the failure recorded, if it cannot be there.
  Tensor tensor_of(const Value& value, std::string_view name);
  std::vector<Dim> dims_of(const Value& value);
  void fail(Status status, std::string message);
  bool failed() const { return !message_.empty() || must_retry_; }
  bool unite(const Dim& a, const Dim& b);
  // Makes one size of `symbol` and of the symbol that `product` is `times` of. False if it is none.
  bool unite_multiple(const Dim& symbol, const Dim& product, int64_t times);
  // Numbers 0 .. n - 1 as a tensor [n] of I32.
  Tensor iota(const Dim& n);
  // A cache with these rows behind those that lie there.
  Value append(const Value& past, Tensor rows, int axis);
  bool may_be_0(const Dim& dim) const;  // the length of a cache
  // A name for a constant that no other has.
  std::string new_name(std::string_view base);
  Tensor constant(const Known& known, DType dtype, std::string_view name);
  // Runs the nodes of a subgraph, and gives its outputs.
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
  std::set<std::string, std::less<>> positions_;        // symbols of how many rows caches have
  std::map<std::string, Dim, std::less<>> given_;       // sizes of symbols that tensors of the graph have
  std::map<int32_t, std::string> symbols_;              // by the index of an extent
  std::map<std::string, Tensor, std::less<>> tensors_;  // of known values, by a name and what they are
  std::vector<std::shared_ptr<const Known>> kept_;
  size_t names_ = 0;
  int64_t nodes_ = 0;  // that were run
  int depth_ = 0;
};

// A row of the table: the function that imports an operator of ONNX, of any opset.
struct Operator {
  std::string_view name;
  void (*import)(Call& call);
};
const Operator* find_operator(std::string_view name);  // null if heed has it not
std::vector<Operator> operators();                     // all, sorted by name

}  // namespace heed::onnx
