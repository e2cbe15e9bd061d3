#include "io/gguf_parser.hpp"

#include <algorithm>
#include <numeric>

#include "base/arith.hpp"
#include "base/find.hpp"
#include "base/logging.hpp"
#include "io/gguf_numbers.hpp"
#include "io/gguf_types.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

using ValueType = Gguf::ValueType;

// The least bytes of a field (a length, one byte of name, a type, one byte of value) and of a tensor (a length, one byte of name, the
// number of dims, a type, an offset).
constexpr uint64_t kLeastField = 8 + 1 + 4 + 1, kLeastTensor = 8 + 1 + 4 + 4 + 8;
constexpr uint64_t kMaxAlignment = 1u << 20;

}  // namespace

Status GgufParser::in_key(std::string_view key, const std::string& what, Status status) const {
  return invalid(format("'%s': %s", printable(key).c_str(), what.c_str()), status);
}

bool GgufParser::skip(uint64_t count) {
  if (count > left()) return false;
  at_ += static_cast<size_t>(count);
  return true;
}

// Returns false if the file ends before the text does. *length is then 0, or the length that was read.
bool GgufParser::take_counted(std::string_view* text, uint64_t* length) {
  *length = 0;
  if (!take(length)) return false;
  const size_t begin = at_;
  if (!skip(*length)) return false;
  *text = *length == 0 ? std::string_view()
                       : std::string_view(reinterpret_cast<const char*>(&bytes_[begin]), static_cast<size_t>(*length));
  return true;
}

Status GgufParser::parse() {
  Status status = read_start();
  if (status == Status::Ok) status = read_fields();
  if (status == Status::Ok) status = read_entries();
  if (status == Status::Ok) status = place_entries();
  if (status == Status::Ok) status = check_names();
  return status;
}

Status GgufParser::read_start() {
  constexpr std::string_view kMagic = "GGUF";
  if (bytes_.size() < kMagic.size() ||
      std::string_view(reinterpret_cast<const char*>(bytes_.data()), kMagic.size()) != kMagic)
    return invalid("is no GGUF file: it does not begin with 'GGUF'");
  at_ = kMagic.size();
  if (!take(&version)) return invalid(format("ends after %zu bytes, before its version", bytes_.size()));
  if (version == 0x02000000u || version == 0x03000000u)
    return invalid("its numbers are big-endian; only little-endian files are read", Status::Unsupported);
  if (version != 2 && version != 3)
    return invalid(format("is of GGUF version %u; versions 2 and 3 are read", version), Status::Unsupported);
  if (!take(&tensor_count_) || !take(&field_count_))
    return invalid(format("ends after %zu bytes, before its counts", bytes_.size()));
  if (field_count_ > left() / kLeastField)
    return invalid(format("%llu keys do not fit the %llu bytes left", wide(field_count_), wide(left())));
  return Status::Ok;
}

Status GgufParser::read_fields() {
  fields.resize(static_cast<size_t>(field_count_));
  for (size_t i = 0; i < fields.size(); ++i) {
    const Status status = read_field(&fields[i]);
    if (status != Status::Ok) return status;
  }
  if (const Gguf::Field* twice = sort_and_find_twice(&fields)) return in_key(twice->name, "is given twice");
  return read_alignment();
}

Status GgufParser::read_field(Gguf::Field* field) {
  const size_t begin = at_;
  uint64_t length = 0;
  uint32_t type = 0;
  if (!take_counted(&field->name, &length))
    return invalid(format("the key at byte %zu has %llu bytes, the file ends before", begin, wide(length)));
  if (length == 0 || length > Gguf::kMaxNameBytes)
    return invalid(format("the key at byte %zu has %llu bytes; 1 to %llu are allowed", begin, wide(length),
                          wide(Gguf::kMaxNameBytes)));
  if (!take(&type)) return in_key(field->name, "the file ends before its type");
  return read_value(type, field->name, &field->value);
}

Status GgufParser::read_value(uint32_t type, std::string_view key, Gguf::Value* value) {
  if (type > static_cast<uint32_t>(ValueType::F64))
    return in_key(key, format("its type %u is not known", type), Status::Unsupported);
  value->type_ = static_cast<ValueType>(type);
  if (value->type_ == ValueType::Array) return read_array(key, value);
  // Checked here so that the address of a value lies inside the file.
  if (left() == 0) return in_key(key, "the file ends before its value");
  value->data_ = &bytes_[at_];
  if (value->type_ == ValueType::Text) {
    std::string_view text;
    uint64_t length = 0;
    if (take_counted(&text, &length)) return Status::Ok;
    return in_key(key, format("a text of %llu bytes, the file ends before", wide(length)));
  }
  if (!skip(number_bytes(value->type_)))
    return in_key(key, format("the file ends before its value of type %s", to_string(value->type_)));
  if (value->type_ == ValueType::Bool && static_cast<uint8_t>(*value->data_) > 1)
    return in_key(key, format("is %u; a bool must be 0 or 1", static_cast<unsigned>(*value->data_)));
  return Status::Ok;
}

Status GgufParser::read_array(std::string_view key, Gguf::Value* value) {
  uint32_t type = 0;
  uint64_t count = 0;
  if (!take(&type) || !take(&count)) return in_key(key, "the file ends before its elements");
  if (type == static_cast<uint32_t>(ValueType::Array))
    return in_key(key, "is an array of arrays, which is not supported", Status::Unsupported);
  if (type > static_cast<uint32_t>(ValueType::F64))
    return in_key(key, format("its elements' type %u is not known", type), Status::Unsupported);
  value->element_ = static_cast<ValueType>(type);
  const uint64_t least = value->element_ == ValueType::Text ? 8 : number_bytes(value->element_);
  if (count > left() / least)
    return in_key(key, format("%llu elements of type %s do not fit the %llu bytes left", wide(count),
                              to_string(value->element_), wide(left())));
  value->size_ = static_cast<size_t>(count);
  value->data_ = bytes_.data() + at_;
  if (value->element_ != ValueType::Text) {
    (void)skip(count * least);
    if (value->element_ == ValueType::Bool)
      for (uint64_t i = 0; i < count; ++i)
        if (static_cast<uint8_t>(value->data_[i]) > 1)
          return in_key(key, format("element %llu is %u; a bool must be 0 or 1", wide(i),
                                    static_cast<unsigned>(value->data_[i])));
    return Status::Ok;
  }
  std::string_view text;
  uint64_t length = 0;
  for (uint64_t i = 0; i < count; ++i)
    if (!take_counted(&text, &length))
      return in_key(key, format("element %llu is a text of %llu bytes, the file ends before", wide(i), wide(length)));
  return Status::Ok;
}

Status GgufParser::read_alignment() {
  const Gguf::Field* field = find_by_name(std::span<const Gguf::Field>(fields), "general.alignment");
  if (field == nullptr) return Status::Ok;
  const int64_t asked = field->value.integer().value_or(0);
  if (asked < 1 || asked > static_cast<int64_t>(kMaxAlignment) || (asked & (asked - 1)) != 0)
    return in_key(field->name, format("is %s; a power of two up to %llu is needed", field->value.shown().c_str(),
                                      wide(kMaxAlignment)));
  alignment_ = static_cast<uint64_t>(asked);
  return Status::Ok;
}

Status GgufParser::read_entries() {
  if (tensor_count_ > left() / kLeastTensor)
    return invalid(format("%llu tensors do not fit the %llu bytes left", wide(tensor_count_), wide(left())));
  const size_t count = static_cast<size_t>(tensor_count_);
  entries.resize(count);
  offsets_.reserve(count);
  needed_.reserve(count);
  for (Gguf::Entry& entry : entries) {
    const Status status = read_entry(&entry);
    if (status != Status::Ok) return status;
  }
  return Status::Ok;
}

Status GgufParser::read_entry(Gguf::Entry* entry) {
  const size_t begin = at_;
  uint64_t length = 0, offset = 0;
  uint32_t dims = 0;
  if (!take_counted(&entry->name, &length))
    return invalid(format("the name at byte %zu has %llu bytes, the file ends before", begin, wide(length)));
  if (length == 0 || length > Gguf::kMaxNameBytes)
    return invalid(format("the name at byte %zu has %llu bytes; 1 to %llu are allowed", begin, wide(length),
                          wide(Gguf::kMaxNameBytes)));
  if (!take(&dims)) return in_tensor(entry->name, "the file ends before its shape");
  if (dims > Gguf::kMaxDims)
    return in_tensor(entry->name, format("%u dims, at most %zu are allowed", dims, Gguf::kMaxDims));
  entry->shape.resize(dims);
  int64_t elements = 1;
  bool fits = true;
  for (size_t i = dims; i-- > 0;) {  // the file has the innermost dim first
    uint64_t size = 0;
    if (!take(&size)) return in_tensor(entry->name, "the file ends within its shape");
    fits = fits && size <= INT64_MAX && checked_mul(elements, static_cast<int64_t>(size), &elements);
    entry->shape[i] = fits ? static_cast<int64_t>(size) : 0;
  }
  if (!take(&entry->type) || !take(&offset)) return in_tensor(entry->name, "the file ends before its type and offset");
  const GgufType* type = gguf_type(entry->type);
  if (type == nullptr)
    return in_tensor(entry->name, format("its type %u is not known", entry->type), Status::Unsupported);
  const int64_t row = dims == 0 ? 1 : entry->shape[dims - 1];
  int64_t bytes = 0;
  if (!fits || !checked_mul(ceil_div(elements, type->elements), static_cast<int64_t>(type->bytes), &bytes))
    return in_tensor(entry->name, "the product of its sizes does not fit 63 bits");
  if (row % type->elements != 0)
    return in_tensor(entry->name,
                     format("its rows of %lld are no whole blocks of %lld, as type %s has", static_cast<long long>(row),
                            static_cast<long long>(type->elements), type->name));
  offsets_.push_back(offset);
  needed_.push_back(static_cast<uint64_t>(bytes));
  return Status::Ok;
}

// Tensors follow the last description, aligned, in any order, without overlaps.
Status GgufParser::place_entries() {
  if (entries.empty()) return Status::Ok;
  const uint64_t begin = align_up<uint64_t>(at_, alignment_);
  const uint64_t there = bytes_.size() > begin ? bytes_.size() - begin : 0;
  std::vector<size_t> order(entries.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return offsets_[a] != offsets_[b] ? offsets_[a] < offsets_[b] : needed_[a] < needed_[b];
  });
  uint64_t taken = 0;
  for (const size_t i : order) {
    const uint64_t offset = offsets_[i], needed = needed_[i];
    const std::string_view name = entries[i].name;
    if (offset % alignment_ != 0)
      return in_tensor(
          name, format("begins at %llu, which is no multiple of the alignment %llu", wide(offset), wide(alignment_)));
    if (offset > there || needed > there - offset)
      return in_tensor(name, format("%llu bytes from %llu on, the file has %llu bytes of data", wide(needed),
                                    wide(offset), wide(there)));
    if (offset < taken)
      return in_tensor(name, format("begins at %llu, inside a tensor that ends at %llu", wide(offset), wide(taken)));
    taken = offset + needed;
    if (needed > 0) entries[i].data = bytes_.subspan(static_cast<size_t>(begin + offset), static_cast<size_t>(needed));
  }
  return Status::Ok;
}

Status GgufParser::check_names() {
  const Gguf::Entry* twice = sort_and_find_twice(&entries);
  return twice == nullptr ? Status::Ok
                          : invalid(format("two tensors have the name '%s'", printable(twice->name).c_str()));
}

}  // namespace heed
