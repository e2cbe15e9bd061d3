#include "onnx/file/graphs.hpp"

#include <algorithm>
#include <bit>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "onnx/file/room.hpp"
#include "onnx/file/tensors.hpp"

namespace heed::onnx::file {

namespace {

// AttributeProto numbers types from 1 in the order of Kind, and their fields from 2.
FileAttribute::Kind kind_of(int64_t type) {
  constexpr int64_t kKinds = static_cast<int64_t>(FileAttribute::Kind::Other);
  return type >= 1 && type <= kKinds ? static_cast<FileAttribute::Kind>(type - 1) : FileAttribute::Kind::Other;
}
uint32_t field_of(FileAttribute::Kind kind) { return static_cast<uint32_t>(kind) + 2; }

void append_floats(std::string_view numbers, std::vector<float>* to) {
  for (size_t i = 0; i < numbers.size(); i += 4) {
    uint32_t bits = 0;
    for (size_t b = 0; b < 4; ++b) bits |= uint32_t{static_cast<unsigned char>(numbers[i + b])} << (8 * b);
    to->push_back(std::bit_cast<float>(bits));
  }
}

void read_graph_of(Message message, int level, FilesBeside* beside, FileAttribute* attribute) {
  if (level == kMaxLevels) stop(format("a graph more than %d levels deep", kMaxLevels));
  const auto graph = std::make_shared<FileGraph>();
  read_graph(std::move(message), level + 1, beside, graph.get());
  attribute->graph = graph;
}

void read_value_of(Message* message, int level, FilesBeside* beside, FileAttribute* attribute) {
  using Kind = FileAttribute::Kind;
  switch (attribute->kind) {
    case Kind::Float: attribute->number = message->number(); break;
    case Kind::Int: attribute->integer = message->integer(); break;
    case Kind::String: attribute->text = message->bytes(); break;
    case Kind::Tensor: read_tensor(message->message(), beside, &attribute->tensor); break;
    case Kind::Graph: read_graph_of(message->message(), level, beside, attribute); break;
    case Kind::Floats: append_floats(message->numbers(Message::Wire::fixed32), &attribute->numbers); break;
    case Kind::Ints: {
      const std::string_view numbers = message->numbers(Message::Wire::varint);
      (void)count_varints(numbers);
      for_each_varint(numbers, [&](uint64_t n) { attribute->integers.push_back(static_cast<int64_t>(n)); });
      break;
    }
    case Kind::Strings: attribute->texts.emplace_back(message->bytes()); break;
    case Kind::Other: message->skip();
  }
}

void read_attribute(Message message, int level, FilesBeside* beside, FileAttribute* attribute) {
  int64_t type = 0;
  for (Message first = message; first.next();) {
    switch (first.field()) {
      case 1: attribute->name = first.name(); break;
      case 20: type = first.integer(); break;
      case 21: attribute->reference = first.name(); break;
      default: first.skip();
    }
  }
  if (attribute->name.empty()) stop("has no name");
  if (type == 0 && attribute->reference.empty()) stop("has no type");
  attribute->kind = kind_of(type);
  const uint32_t field = field_of(attribute->kind);  // the only field with the value that is read
  const bool is_message =
      attribute->kind == FileAttribute::Kind::Tensor || attribute->kind == FileAttribute::Kind::Graph;
  size_t given = 0;
  while (message.next()) {
    if (message.field() != field || attribute->kind == FileAttribute::Kind::Other) {
      message.skip();
      continue;
    }
    if (++given > 1 && is_message) stop("its value is given twice");
    read_value_of(&message, level, beside, attribute);
  }
  if (given == 0 && is_message && attribute->reference.empty()) stop("has no value");
}

void read_attribute_in_place(Message message, int level, FilesBeside* beside, FileAttribute* attribute) {
  within([&] { return attribute_place(message.peek(1)); }, [&] { read_attribute(message, level, beside, attribute); });
}

void check_attributes(std::span<const FileAttribute> attributes) {
  if (attributes.size() < 2) return;
  std::vector<std::string_view> names;
  names.reserve(attributes.size());
  for (const FileAttribute& attribute : attributes) names.push_back(attribute.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) stop(attribute_place(*twice) + " is given twice");
}

void read_node(Message message, int level, FilesBeside* beside, FileNode* node) {
  make_room(message, {1}, "input", 0, &node->inputs);
  make_room(message, {2}, "output", 0, &node->outputs);
  make_room(message, {5}, "attribute", kLeastAttribute, &node->attributes);
  while (message.next()) {
    switch (message.field()) {
      case 1: node->inputs.emplace_back(message.name()); break;
      case 2: node->outputs.emplace_back(message.name()); break;
      case 3: node->name = message.name(); break;
      case 4: node->op = message.name(); break;
      case 5: read_attribute_in_place(message.message(), level, beside, &node->attributes.emplace_back()); break;
      case 7: node->domain = domain_of(message.name()); break;
      default: message.skip();
    }
  }
  if (node->op.empty()) stop("has no type");
  check_attributes(node->attributes);
}

void read_node_in_place(Message message, int level, FilesBeside* beside, std::vector<FileNode>* nodes) {
  within([&] { return node_place(message.peek(3), message.peek(4), nodes->size() - 1); },
         [&] { read_node(message, level, beside, &nodes->emplace_back()); });
}

void read_dim(Message message, FileDim* dim) {
  while (message.next()) {
    if (message.field() == 1)
      dim->size = message.integer();
    else if (message.field() == 2)
      dim->symbol = message.name();
    else
      message.skip();
  }
  if (!dim->symbol.empty()) dim->size = -1;
  if (dim->size < -1) stop(format("has a dim of %lld", static_cast<long long>(dim->size)));
}

void read_shape(Message message, FileValue* value) {
  make_room(message, {1}, "dim", 0, &value->dims);
  value->has_shape = true;
  while (message.next()) {
    if (message.field() == 1)
      read_dim(message.message(), &value->dims.emplace_back());
    else
      message.skip();
  }
}

// Reads TypeProto.Tensor: an element type and a shape.
void read_tensor_type(Message message, FileValue* value) {
  while (message.next()) {
    if (message.field() == 1) {
      const int64_t type = message.integer();
      if (type < 0 || type > INT32_MAX) stop(format("its type %lld is not known", static_cast<long long>(type)));
      value->type = static_cast<ElementType>(type);
    } else if (message.field() == 2) {
      if (value->has_shape) stop("its shape is given twice");
      read_shape(message.message(), value);
    } else {
      message.skip();
    }
  }
}

// Reads TypeProto. The type of sequences, maps, optionals and sparse values stays Undefined.
void read_type(Message message, FileValue* value) {
  while (message.next()) {
    if (message.field() == 1)
      read_tensor_type(message.message(), value);
    else
      message.skip();
  }
}

void read_value(Message message, FileValue* value) {
  while (message.next()) {
    if (message.field() == 1)
      value->name = message.name();
    else if (message.field() == 2)
      read_type(message.message(), value);
    else
      message.skip();
  }
  if (value->name.empty()) stop("has no name");
}

void read_value_in_place(Message message, const char* what, std::vector<FileValue>* values) {
  within([&] { return format("%s '%s'", what, printable(message.peek(1)).c_str()); },
         [&] { read_value(message, &values->emplace_back()); });
}

void read_fields(Message message, FilesBeside* beside, FileFunction* function) {
  make_room(message, {4}, "input", 0, &function->inputs);
  make_room(message, {5}, "output", 0, &function->outputs);
  make_room(message, {6}, "attribute", 0, &function->attributes);
  make_room(message, {7}, "node", kLeastNode, &function->nodes);
  make_room(message, {9}, "opset", 0, &function->opsets);
  make_room(message, {11}, "attribute", kLeastAttribute, &function->defaults);
  while (message.next()) {
    switch (message.field()) {
      case 1: function->name = message.name(); break;
      case 4: function->inputs.emplace_back(message.name()); break;
      case 5: function->outputs.emplace_back(message.name()); break;
      case 6: function->attributes.emplace_back(message.name()); break;
      case 7: read_node_in_place(message.message(), 0, beside, &function->nodes); break;
      case 9: read_opset(message.message(), &function->opsets.emplace_back()); break;
      case 10: function->domain = domain_of(message.name()); break;
      case 11: read_attribute_in_place(message.message(), 0, beside, &function->defaults.emplace_back()); break;
      case 13:
        if (!message.name().empty())
          stop("is overloaded: functions that share a name are not supported", Status::Unsupported);
        break;
      default: message.skip();
    }
  }
  if (function->name.empty()) stop("has no name");
  check_attributes(function->defaults);
}

}  // namespace

void read_graph(Message message, int level, FilesBeside* beside, FileGraph* graph) {
  make_room(message, {1}, "node", kLeastNode, &graph->nodes);
  make_room(message, {11}, "input", 0, &graph->inputs);
  make_room(message, {12}, "output", 0, &graph->outputs);
  make_room(message, {5, 15}, "initializer", 0, &graph->initializers);
  while (message.next()) {
    switch (message.field()) {
      case 1: read_node_in_place(message.message(), level, beside, &graph->nodes); break;
      case 2: graph->name = message.name(); break;
      case 5: read_tensor(message.message(), beside, &graph->initializers.emplace_back()); break;
      case 11: read_value_in_place(message.message(), "input", &graph->inputs); break;
      case 12: read_value_in_place(message.message(), "output", &graph->outputs); break;
      case 15: read_sparse_tensor(message.message(), &graph->initializers.emplace_back()); break;
      default: message.skip();
    }
  }
}

void read_function(Message message, FilesBeside* beside, FileFunction* function) {
  within([&] { return "function '" + printable(message.peek(1)) + "'"; },
         [&] { read_fields(message, beside, function); });
}

void read_opset(Message message, FileOpset* opset) {
  while (message.next()) {
    if (message.field() == 1)
      opset->domain = domain_of(message.name());
    else if (message.field() == 2)
      opset->version = message.integer();
    else
      message.skip();
  }
  if (opset->version < 1)
    stop(format("the version %lld of the operators of '%s' is none", static_cast<long long>(opset->version),
                printable(opset->domain).c_str()));
}

std::string domain_of(std::string_view name) { return std::string(name == "ai.onnx" ? std::string_view() : name); }

std::string node_place(std::string_view name, std::string_view op, size_t index) {
  return (name.empty() ? format("node %zu", index) : "node '" + printable(name) + "'") + " (" + printable(op) + ")";
}

std::string attribute_place(std::string_view name) { return "attribute '" + printable(name) + "'"; }

}  // namespace heed::onnx::file
