#include "onnx/file/tensors.hpp"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/arith.hpp"
#include "base/logging.hpp"
#include "io/safetensors_header.hpp"

namespace heed::onnx::file {

namespace {

// Fields of TensorProto.
enum Field : uint32_t {
  kDims = 1,
  kType = 2,
  kSegment = 3,
  kFloats = 4,
  kInt32s = 5,
  kStrings = 6,
  kInt64s = 7,
  kName = 8,
  kRaw = 9,
  kDoubles = 10,
  kUint64s = 11,
  kExternal = 13,
  kLocation = 14,
};

constexpr size_t kMaxDims = 64;

unsigned long long wide(uint64_t number) { return number; }

const char* to_string(Field field) {
  switch (field) {
    case kFloats: return "float_data";
    case kInt32s: return "int32_data";
    case kStrings: return "string_data";
    case kInt64s: return "int64_data";
    case kRaw: return "raw_data";
    case kDoubles: return "double_data";
    case kUint64s: return "uint64_data";
    default: return "external_data";
  }
}

// The field with the values of a tensor that are not raw.
Field field_of(ElementType type) {
  switch (type) {
    case ElementType::F32: return kFloats;
    case ElementType::I64: return kInt64s;
    case ElementType::String: return kStrings;
    case ElementType::F64: return kDoubles;
    case ElementType::U32:
    case ElementType::U64: return kUint64s;
    default: return kInt32s;
  }
}

Message::Wire wire_of(Field field) {
  return field == kFloats ? Message::Wire::fixed32 : field == kDoubles ? Message::Wire::fixed64 : Message::Wire::varint;
}

// The only field that has values.
struct Source {
  Field field = kDims;     // none yet
  std::string_view first;  // for a repeated field, the first piece with numbers
  size_t pieces = 0;
  uint64_t count = 0;  // for a repeated field, the number of its elements
  std::string_view raw;
  Elsewhere elsewhere;

  void take(Field from) {
    if (pieces > 0 && from != field) stop(format("has values in %s and in %s", to_string(field), to_string(from)));
    field = from;
    ++pieces;
  }
};

void read_external(Message message, Elsewhere* elsewhere) {
  std::string_view key, value;
  while (message.next()) {
    if (message.field() == 1)
      key = message.name();
    else if (message.field() == 2)
      value = message.name();
    else
      message.skip();
  }
  if (value.data() == nullptr) value = "";
  if (key == "location") elsewhere->location = value;
  if (key == "offset") elsewhere->offset = value;
  if (key == "length") elsewhere->length = value;
}

void read_numbers(Message* message, Source* source) {
  const Field field = static_cast<Field>(message->field());
  const Message::Wire wire = wire_of(field);
  const std::string_view numbers = message->numbers(wire);
  if (numbers.empty()) return;
  source->take(field);
  if (source->pieces == 1) source->first = numbers;
  source->count += wire == Message::Wire::varint ? count_varints(numbers) : numbers.size() / (field == kFloats ? 4 : 8);
}

void read_dims(std::string_view numbers, std::vector<int64_t>* dims) {
  if (count_varints(numbers) > kMaxDims - dims->size()) stop(format("has more than the %zu dims allowed", kMaxDims));
  for_each_varint(numbers, [&](uint64_t size) { dims->push_back(static_cast<int64_t>(size)); });
}

ElementType element_type(int64_t number) {
  if (number < 0 || number > INT32_MAX) stop(format("its type %lld is not known", static_cast<long long>(number)));
  return static_cast<ElementType>(number);
}

void read_fields(Message message, FileTensor* tensor, Source* source) {
  bool is_external = false;
  while (message.next()) {
    switch (message.field()) {
      case kDims: read_dims(message.numbers(Message::Wire::varint), &tensor->dims); break;
      case kType: tensor->type = element_type(message.integer()); break;
      case kName: tensor->name = message.name(); break;
      case kSegment: stop("is a segment of a tensor, which is not supported", Status::Unsupported);
      case kFloats:
      case kInt32s:
      case kInt64s:
      case kDoubles:
      case kUint64s: read_numbers(&message, source); break;
      case kStrings:
        (void)message.bytes();
        source->take(kStrings);
        ++source->count;
        break;
      case kRaw:
        source->raw = message.bytes();
        if (!source->raw.empty()) source->take(kRaw);
        break;
      case kExternal: read_external(message.message(), &source->elsewhere); break;
      case kLocation: is_external = message.integer() == 1; break;
      default: message.skip();
    }
  }
  if (is_external) source->take(kExternal);
}

// The number of elements of these dims, which is less than 2^63.
int64_t count_elements(std::span<const int64_t> dims) {
  const auto negative = std::find_if(dims.begin(), dims.end(), [](int64_t size) { return size < 0; });
  if (negative != dims.end()) stop(format("has a dim of %lld", static_cast<long long>(*negative)));
  if (std::find(dims.begin(), dims.end(), 0) != dims.end()) return 0;
  int64_t elements = 1;
  for (const int64_t size : dims)
    if (!checked_mul(elements, size, &elements)) stop("the product of its sizes does not fit 63 bits");
  return elements;
}

std::string asked_text(const FileTensor& tensor) { return shape_text(tensor.dims) + " of " + to_string(tensor.type); }

// The range of an element, for types stored in int32_data and uint64_data.
struct Range {
  int64_t least;
  uint64_t most;
};
Range range_of(ElementType type) {
  switch (type) {
    case ElementType::Bool: return {0, 1};
    case ElementType::U8: return {0, UINT8_MAX};
    case ElementType::I8: return {INT8_MIN, INT8_MAX};
    case ElementType::I16: return {INT16_MIN, INT16_MAX};
    case ElementType::I32: return {INT32_MIN, INT32_MAX};
    case ElementType::U32: return {0, UINT32_MAX};
    case ElementType::I64: return {INT64_MIN, INT64_MAX};
    case ElementType::U64: return {0, UINT64_MAX};
    default: return {0, UINT16_MAX};  // including the bits of f16 and bf16
  }
}

// Stores varints as elements.
class Elements {
 public:
  Elements(const FileTensor& tensor, std::byte* to)
      : type_(tensor.type), range_(range_of(type_)), width_(bytes_of_element(type_)), to_(to) {}

  void store(uint64_t written) {
    // As protobuf reads an int32: bits above the lowest 32 repeat the sign, or are dropped.
    if (field_of(type_) == kInt32s) written = static_cast<uint64_t>(int64_t{static_cast<int32_t>(written)});
    const bool fits = range_.least < 0 ? static_cast<int64_t>(written) >= range_.least &&
                                             static_cast<int64_t>(written) <= static_cast<int64_t>(range_.most)
                                       : written <= range_.most;
    if (!fits) refuse(written);
    for (size_t i = 0; i < width_; ++i) *to_++ = static_cast<std::byte>(written >> (8 * i));
  }

 private:
  [[noreturn]] void refuse(uint64_t written) const {
    if (field_of(type_) == kInt32s)
      stop(format("the value %lld is no %s", static_cast<long long>(written), to_string(type_)));
    stop(format("the value %llu is no %s", wide(written), to_string(type_)));
  }

  ElementType type_;
  Range range_;
  size_t width_;
  std::byte* to_;
};

std::span<const std::byte> as_bytes(std::string_view text) { return std::as_bytes(std::span(text)); }

// Stores the values of a repeated field, whose number matches the dims. Contiguous floats are not copied.
void store_numbers(Message message, const Source& source, uint64_t bytes, FileTensor* tensor) {
  const Message::Wire wire = wire_of(source.field);
  const bool are_as_stored = wire != Message::Wire::varint;
  if (are_as_stored && source.pieces == 1) {
    tensor->data = as_bytes(source.first);
    return;
  }
  const auto memory = std::make_shared<std::vector<std::byte>>(static_cast<size_t>(bytes));
  std::byte* to = memory->data();
  Elements elements(*tensor, to);
  while (message.next()) {
    if (message.field() != source.field) {
      message.skip();
      continue;
    }
    const std::string_view numbers = message.numbers(wire);
    if (!are_as_stored) {
      for_each_varint(numbers, [&](uint64_t number) { elements.store(number); });
    } else if (!numbers.empty()) {
      std::memcpy(to, numbers.data(), numbers.size());
      to += numbers.size();
    }
  }
  tensor->data = *memory;
  tensor->keeps = memory;
}

void check_bools(std::span<const std::byte> data) {
  const auto wrong = std::find_if(data.begin(), data.end(), [](std::byte b) { return b > std::byte{1}; });
  if (wrong != data.end())
    stop(format("element %zu is %u; a bool must be 0 or 1", static_cast<size_t>(wrong - data.begin()),
                static_cast<unsigned>(*wrong)));
}

void read_values(Message message, const Source& source, FilesBeside* beside, FileTensor* tensor) {
  const int64_t elements = count_elements(tensor->dims);
  if (tensor->type == ElementType::Undefined) stop("has no type");
  const int64_t width = static_cast<int64_t>(bytes_of_element(tensor->type));
  if (width == 0 && tensor->type != ElementType::String) return;
  int64_t bytes = 0;
  if (!checked_mul(elements, width, &bytes)) stop("the product of its sizes does not fit 63 bits");
  const uint64_t needed = static_cast<uint64_t>(bytes);
  if (source.field == kExternal && tensor->type != ElementType::String) {
    tensor->data = beside->find(source.elsewhere, needed, &tensor->keeps);
  } else if (source.field == kRaw && tensor->type != ElementType::String) {
    if (source.raw.size() != needed)
      stop(format("has %zu bytes of values, %s takes %llu", source.raw.size(), asked_text(*tensor).c_str(),
                  wide(needed)));
    tensor->data = as_bytes(source.raw);
  } else {
    if (source.pieces > 0 && source.field != field_of(tensor->type))
      stop(format("its values lie in %s, those of type %s lie in %s", to_string(source.field), to_string(tensor->type),
                  to_string(field_of(tensor->type))));
    if (source.count != static_cast<uint64_t>(elements))
      stop(format("has %llu values, %s takes %lld", wide(source.count), asked_text(*tensor).c_str(),
                  static_cast<long long>(elements)));
    if (source.field != kStrings && needed > 0) store_numbers(message, source, needed, tensor);
  }
  if (tensor->type == ElementType::Bool) check_bools(tensor->data);
}

}  // namespace

std::string tensor_place(std::string_view name) {
  return name.empty() ? std::string("a tensor without a name") : "tensor '" + printable(name) + "'";
}

void read_tensor(Message message, FilesBeside* beside, FileTensor* tensor) {
  within([&] { return tensor_place(message.peek(kName)); },
         [&] {
           Source source;
           read_fields(message, tensor, &source);
           read_values(message, source, beside, tensor);
         });
}

void read_sparse_tensor(Message message, FileTensor* tensor) {
  while (message.next()) {
    if (message.field() == 1)
      tensor->name = message.message().peek(kName);
    else if (message.field() == 3)
      read_dims(message.numbers(Message::Wire::varint), &tensor->dims);
    else
      message.skip();
  }
  within([&] { return tensor_place(tensor->name); },
         [&] {
           if (tensor->name.empty()) stop("is sparse");
           (void)count_elements(tensor->dims);
         });
}

}  // namespace heed::onnx::file
