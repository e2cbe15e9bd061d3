#include <heed/safetensors.hpp>

#include <algorithm>
#include <optional>

#include "base/arith.hpp"
#include "base/find.hpp"
#include "base/logging.hpp"
#include "io/mapped_file.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

struct SafeTensors::Contents {
  MappedFile file;  // empty if the bytes are the caller's
  std::vector<Entry> entries;
  std::vector<std::pair<std::string, std::string>> metadata;
};

namespace {

using Entry = SafeTensors::Entry;
using Type = SafeTensors::Type;

constexpr size_t kLengthBytes = 8;

// Writes failure messages.
struct Context {
  const std::string& file;
  const Log& log;
  Status tensor(const std::string& name, const std::string& what) const {
    return fail(log, Status::InvalidFile,
                format("%s: tensor '%s': %s", file.c_str(), printable(name).c_str(), what.c_str()));
  }
  Status whole(const std::string& what) const {
    return fail(log, Status::InvalidFile, format("%s: %s", file.c_str(), what.c_str()));
  }
};

std::optional<Type> type_of(std::string_view text) {
  for (Type type : {Type::F32, Type::F16, Type::BF16, Type::I32, Type::I64, Type::U8, Type::Bool})
    if (text == to_string(type)) return type;
  return {};
}

uint64_t read_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) length |= static_cast<uint64_t>(bytes[i]) << (8 * i);
  return length;
}

// Finds the text of the header and the data after it.
Status find_header(std::span<const std::byte> bytes, const Context& context, std::string_view* json,
                   std::span<const std::byte>* data) {
  if (bytes.size() < kLengthBytes)
    return context.whole(format("has %zu bytes, the header length alone needs %zu", bytes.size(), kLengthBytes));
  const uint64_t length = read_length(bytes);
  const uint64_t most = bytes.size() - kLengthBytes;
  if (length > SafeTensors::kMaxHeaderBytes)
    return context.whole(format("header of %llu bytes, at most %llu are allowed",
                                static_cast<unsigned long long>(length),
                                static_cast<unsigned long long>(SafeTensors::kMaxHeaderBytes)));
  if (length > most)
    return context.whole(format("header of %llu bytes, the file has %llu left", static_cast<unsigned long long>(length),
                                static_cast<unsigned long long>(most)));
  const std::span<const std::byte> text = bytes.subspan(kLengthBytes, static_cast<size_t>(length));
  if (text.empty() || text[0] != std::byte{'{'}) return context.whole("the header does not begin with '{'");
  *json = {reinterpret_cast<const char*>(text.data()), text.size()};
  *data = bytes.subspan(kLengthBytes + text.size());
  return Status::Ok;
}

// The bytes that shape and dtype require; false on overflow.
bool needed_bytes(const RawTensor& raw, Type type, std::vector<int64_t>* shape, uint64_t* bytes) {
  int64_t total = static_cast<int64_t>(size_of(type));
  for (uint64_t dim : raw.shape) {
    if (dim > INT64_MAX || !checked_mul(total, static_cast<int64_t>(dim), &total)) return false;
    shape->push_back(static_cast<int64_t>(dim));
  }
  *bytes = static_cast<uint64_t>(total);
  return true;
}

Status check_tensor(const RawTensor& raw, std::span<const std::byte> data, const Context& context, Entry* entry) {
  const std::optional<Type> type = type_of(raw.dtype);
  if (!type) return context.tensor(raw.name, format("unknown dtype '%s'", printable(raw.dtype).c_str()));
  uint64_t needed = 0;
  if (!needed_bytes(raw, *type, &entry->shape, &needed))
    return context.tensor(raw.name, "the product of its sizes does not fit 63 bits");

  const unsigned long long begin = raw.offsets[0], end = raw.offsets[1];
  if (begin > end) return context.tensor(raw.name, format("begins at %llu, behind its end at %llu", begin, end));
  if (end > data.size())
    return context.tensor(raw.name, format("ends at byte %llu, the file has %zu bytes of data", end, data.size()));
  if (end - begin != needed)
    return context.tensor(raw.name, format("takes %llu bytes, its shape and dtype %s need %llu", end - begin,
                                           to_string(*type), static_cast<unsigned long long>(needed)));
  entry->name = raw.name;
  entry->type = *type;
  entry->data = data.subspan(static_cast<size_t>(begin), static_cast<size_t>(needed));
  return Status::Ok;
}

// `entries`, in file order, must cover the data without overlaps or gaps.
Status check_cover(const std::vector<Entry>& entries, std::span<const std::byte> data, const Context& context) {
  size_t covered = 0;
  for (const Entry& entry : entries) {
    const size_t begin = static_cast<size_t>(entry.data.data() - data.data());
    if (begin < covered)
      return context.tensor(entry.name, format("begins at %zu, inside a tensor that ends at %zu", begin, covered));
    if (begin > covered)
      return context.tensor(entry.name, format("begins at %zu, bytes from %zu on belong to none", begin, covered));
    covered = begin + entry.data.size();
  }
  if (covered != data.size())
    return context.whole(format("tensors cover %zu bytes, the file has %zu bytes of data", covered, data.size()));
  return Status::Ok;
}

template <class Range, class Key>
bool sort_unique(Range& range, Key key, std::string* twice) {
  std::sort(range.begin(), range.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  const auto same = [&](const auto& a, const auto& b) { return key(a) == key(b); };
  const auto found = std::adjacent_find(range.begin(), range.end(), same);
  if (found == range.end()) return true;
  *twice = printable(key(*found));
  return false;
}

Status read_contents(std::span<const std::byte> bytes, const Context& context, std::vector<Entry>* entries,
                     std::vector<std::pair<std::string, std::string>>* metadata) {
  std::string_view json;
  std::span<const std::byte> data;
  Status status = find_header(bytes, context, &json, &data);
  RawHeader header;
  if (status == Status::Ok) status = parse_header(json, context.file, context.log, &header);
  if (status != Status::Ok) return status;

  entries->resize(header.tensors.size());
  for (size_t i = 0; i < header.tensors.size(); ++i) {
    status = check_tensor(header.tensors[i], data, context, &(*entries)[i]);
    if (status != Status::Ok) return status;
  }
  // An empty tensor comes before another one with the same offset.
  std::sort(entries->begin(), entries->end(), [](const Entry& a, const Entry& b) {
    return a.data.data() != b.data.data() ? a.data.data() < b.data.data() : a.data.size() < b.data.size();
  });
  status = check_cover(*entries, data, context);
  if (status != Status::Ok) return status;

  std::string twice;
  *metadata = std::move(header.metadata);
  if (!sort_unique(*entries, [](const Entry& e) -> const std::string& { return e.name; }, &twice))
    return context.whole(format("two tensors have the name '%s'", twice.c_str()));
  if (!sort_unique(*metadata, [](const auto& pair) -> const std::string& { return pair.first; }, &twice))
    return context.whole(format("__metadata__: '%s' is given twice", twice.c_str()));
  return Status::Ok;
}

}  // namespace

SafeTensors::SafeTensors() = default;
SafeTensors::~SafeTensors() = default;
SafeTensors::SafeTensors(SafeTensors&&) noexcept = default;
SafeTensors& SafeTensors::operator=(SafeTensors&&) noexcept = default;

int64_t SafeTensors::Entry::elements() const {
  int64_t n = 1;
  for (int64_t dim : shape) n *= dim;
  return n;
}

Status SafeTensors::open(std::string_view path, const Log& log, SafeTensors* file) {
  if (file == nullptr) return refuse("SafeTensors::open: file is null");
  const std::string name(path);
  auto contents = std::make_unique<Contents>();
  Status status = MappedFile::open(name, log, &contents->file);
  if (status == Status::Ok)
    status = read_contents(contents->file.bytes(), {name, log}, &contents->entries, &contents->metadata);
  if (status == Status::Ok) file->contents_ = std::move(contents);
  return status;
}

Status SafeTensors::parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, SafeTensors* file) {
  if (file == nullptr) return refuse("SafeTensors::parse: file is null");
  auto contents = std::make_unique<Contents>();
  const Status status = read_contents(bytes, {std::string(name), log}, &contents->entries, &contents->metadata);
  if (status == Status::Ok) file->contents_ = std::move(contents);
  return status;
}

std::span<const SafeTensors::Entry> SafeTensors::entries() const {
  if (!contents_) return {};
  return contents_->entries;
}

const Entry* SafeTensors::find(std::string_view name) const { return find_by_name(entries(), name); }

std::span<const std::pair<std::string, std::string>> SafeTensors::metadata() const {
  if (!contents_) return {};
  return contents_->metadata;
}

std::string_view SafeTensors::metadata(std::string_view key) const {
  for (const auto& [name, value] : metadata())
    if (name == key) return value;
  return {};
}

std::vector<HostTensor> host_tensors_of(std::span<const Entry> entries) {
  std::vector<HostTensor> tensors;
  HostTensor tensor;
  for (const Entry& entry : entries)
    if (host_tensor(entry, &tensor)) tensors.push_back(tensor);
  return tensors;
}

std::vector<HostTensor> SafeTensors::host_tensors() const { return host_tensors_of(entries()); }

const char* to_string(SafeTensors::Type type) {
  switch (type) {
    case Type::F32: return "F32";
    case Type::F16: return "F16";
    case Type::BF16: return "BF16";
    case Type::I32: return "I32";
    case Type::I64: return "I64";
    case Type::U8: return "U8";
    case Type::Bool: return "BOOL";
  }
  return "?";
}

bool storage_type(SafeTensors::Type type, DType* dtype) {
  switch (type) {
    case Type::F32: *dtype = DType::F32; return true;
    case Type::F16: *dtype = DType::F16; return true;
    case Type::BF16: *dtype = DType::BF16; return true;
    case Type::I32: *dtype = DType::I32; return true;
    case Type::U8:
    case Type::Bool: *dtype = DType::U8; return true;
    case Type::I64: return false;
  }
  return false;
}

bool host_tensor(const SafeTensors::Entry& entry, HostTensor* tensor) {
  DType dtype;
  if (!storage_type(entry.type, &dtype) || entry.shape.size() > size_t{kMaxRank} || entry.elements() == 0) return false;
  *tensor = {entry.name, dtype, entry.shape, entry.data};
  return true;
}

}  // namespace heed
