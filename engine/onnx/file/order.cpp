#include "onnx/file/order.hpp"

#include <algorithm>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "onnx/file/graphs.hpp"
#include "onnx/file/message.hpp"
#include "onnx/file/tensors.hpp"

namespace heed::onnx::file {

namespace {

// The definition of a value: `maker` is the node, counted from 1; 0 for inputs and initializers.
struct Made {
  enum class By : uint8_t { Input, Initializer, Node };
  std::string_view name;
  size_t maker = 0;
  By by = By::Node;
};

// The values of a graph or function, by name.
struct Values {
  const Values* outside = nullptr;  // values of the enclosing graph, if this graph is an attribute
  std::vector<Made> made;
  size_t now = 0;  // the current node, from 1

  const Made* find(std::string_view name) const {
    const auto found = std::lower_bound(made.begin(), made.end(), name,
                                        [](const Made& one, std::string_view wanted) { return one.name < wanted; });
    return found != made.end() && found->name == name ? &*found : nullptr;
  }
};

std::string quoted(std::string_view name) { return "'" + printable(name) + "'"; }

std::string place_of(const std::vector<FileNode>& nodes, size_t maker) {
  const FileNode& node = nodes[maker - 1];
  return node_place(node.name, node.op, maker - 1);
}

std::string maker_text(const Made& made, const std::vector<FileNode>& nodes) {
  switch (made.by) {
    case Made::By::Input: return "an input";
    case Made::By::Initializer: return "an initializer";
    case Made::By::Node: return place_of(nodes, made.maker);
  }
  return {};
}

void sort_and_check(const std::vector<FileNode>& nodes, std::vector<Made>* made) {
  std::sort(made->begin(), made->end(), [](const Made& a, const Made& b) {
    if (a.name != b.name) return a.name < b.name;
    return a.maker != b.maker ? a.maker < b.maker : a.by < b.by;
  });
  const auto twice = std::adjacent_find(made->begin(), made->end(), [](const Made& a, const Made& b) {
    const bool is_default = a.by == Made::By::Input && b.by == Made::By::Initializer;
    return a.name == b.name && !is_default;
  });
  if (twice == made->end()) return;
  const std::string first = maker_text(twice[0], nodes), second = maker_text(twice[1], nodes);
  stop(quoted(twice->name) + " is made twice, by " + first + " and by " + second);
}

void add_outputs(const std::vector<FileNode>& nodes, std::vector<Made>* made) {
  for (size_t i = 0; i < nodes.size(); ++i)
    for (const std::string& output : nodes[i].outputs)
      if (!output.empty()) made->push_back({output, i + 1, Made::By::Node});
}

// A name refers to the innermost graph that defines it.
void check_input(std::string_view name, const std::vector<FileNode>& nodes, const Values& values) {
  for (const Values* level = &values; level != nullptr; level = level->outside) {
    const Made* made = level->find(name);
    if (made == nullptr) continue;
    if (made->maker < level->now) return;
    const std::string by = level == &values ? place_of(nodes, made->maker) : std::string("a node of a graph around it");
    stop("its input " + quoted(name) + " is made by " + by +
         ", which comes later: nodes must be in order, and none may need itself");
  }
  stop("its input " + quoted(name) + " is made by nothing");
}

void check_graph(const FileGraph& graph, const FileFunction* function, const Values* outside);

void check_nodes(const std::vector<FileNode>& nodes, const FileFunction* function, Values* values) {
  const auto check_attribute = [&](const FileAttribute& attribute) {
    const std::string& asked = attribute.reference;
    if (!asked.empty()) {
      if (function == nullptr) stop("stands for the attribute " + quoted(asked) + ", and is in no function");
      const auto is_it = [&](const FileAttribute& one) { return one.name == asked; };
      if (std::find(function->attributes.begin(), function->attributes.end(), asked) == function->attributes.end() &&
          std::none_of(function->defaults.begin(), function->defaults.end(), is_it))
        stop("stands for the attribute " + quoted(asked) + ", which the function does not have");
    }
    if (attribute.graph != nullptr) check_graph(*attribute.graph, function, values);
  };
  for (size_t i = 0; i < nodes.size(); ++i) {
    const FileNode& node = nodes[i];
    values->now = i + 1;
    within([&] { return node_place(node.name, node.op, i); },
           [&] {
             for (const std::string& input : node.inputs)
               if (!input.empty()) check_input(input, nodes, *values);
             for (const FileAttribute& attribute : node.attributes)
               within([&] { return attribute_place(attribute.name); }, [&] { check_attribute(attribute); });
           });
  }
  values->now = nodes.size() + 1;
}

// Outputs may also be values of enclosing graphs.
void check_outputs(std::string_view name, const Values& values) {
  for (const Values* level = &values; level != nullptr; level = level->outside) {
    const Made* made = level->find(name);
    if (made != nullptr && made->maker < level->now) return;
  }
  stop("output " + quoted(name) + ": nothing makes it");
}

void check_graph(const FileGraph& graph, const FileFunction* function, const Values* outside) {
  Values values;
  values.outside = outside;
  values.made.reserve(graph.inputs.size() + graph.initializers.size());
  for (const FileValue& input : graph.inputs) values.made.push_back({input.name, 0, Made::By::Input});
  for (size_t i = 0; i < graph.initializers.size(); ++i) {
    if (graph.initializers[i].name.empty()) stop(format("initializer %zu has no name", i));
    values.made.push_back({graph.initializers[i].name, 0, Made::By::Initializer});
  }
  add_outputs(graph.nodes, &values.made);
  sort_and_check(graph.nodes, &values.made);
  check_nodes(graph.nodes, function, &values);
  for (const FileValue& output : graph.outputs) check_outputs(output.name, values);
}

}  // namespace

void check_order(const FileGraph& graph) { check_graph(graph, nullptr, nullptr); }

void check_order(const FileFunction& function) {
  within([&] { return "function " + quoted(function.name); },
         [&] {
           Values values;
           for (const std::string& input : function.inputs) values.made.push_back({input, 0, Made::By::Input});
           add_outputs(function.nodes, &values.made);
           sort_and_check(function.nodes, &values.made);
           check_nodes(function.nodes, &function, &values);
           for (const std::string& output : function.outputs) check_outputs(output, values);
         });
}

}  // namespace heed::onnx::file
