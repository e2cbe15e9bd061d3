#include <heed/gguf.hpp>

#include "base/find.hpp"
#include "base/logging.hpp"
#include "io/gguf_parser.hpp"
#include "io/gguf_types.hpp"
#include "io/mapped_file.hpp"

namespace heed {

struct Gguf::Contents {
  MappedFile file;  // empty if the bytes are the caller's
  std::string name;
  uint32_t version = 0;
  std::vector<Field> fields;
  std::vector<Entry> entries;
  uint64_t bytes = 0;

  Status read(std::span<const std::byte> data, const Log& log) {
    GgufParser parser(data, name, log);
    const Status status = parser.parse();
    version = parser.version;
    fields = std::move(parser.fields);
    entries = std::move(parser.entries);
    for (const Entry& entry : entries) bytes += entry.data.size();
    return status;
  }
};

Gguf::Gguf() = default;
Gguf::~Gguf() = default;
Gguf::Gguf(Gguf&&) noexcept = default;
Gguf& Gguf::operator=(Gguf&&) noexcept = default;

int64_t Gguf::Entry::elements() const {
  int64_t n = 1;
  for (size_t i = shape.size(); i-- > 0;) n *= shape[i];  // the order in which the parser checked for overflow
  return n;
}

Status Gguf::open(std::string_view path, const Log& log, Gguf* file) {
  if (file == nullptr) return refuse("Gguf::open: file is null");
  auto contents = std::make_unique<Contents>();
  contents->name = path;
  Status status = MappedFile::open(contents->name, log, &contents->file);
  if (status == Status::Ok) status = contents->read(contents->file.bytes(), log);
  if (status == Status::Ok) file->contents_ = std::move(contents);
  return status;
}

Status Gguf::parse(std::span<const std::byte> bytes, std::string_view name, const Log& log, Gguf* file) {
  if (file == nullptr) return refuse("Gguf::parse: file is null");
  auto contents = std::make_unique<Contents>();
  contents->name = name;
  const Status status = contents->read(bytes, log);
  if (status == Status::Ok) file->contents_ = std::move(contents);
  return status;
}

void Gguf::release(std::span<const std::byte> data) const {
  if (contents_) contents_->file.release(data);
}

std::string_view Gguf::name() const {
  if (!contents_) return {};
  return contents_->name;
}
uint32_t Gguf::version() const { return contents_ ? contents_->version : 0; }
uint64_t Gguf::bytes() const { return contents_ ? contents_->bytes : 0; }

std::span<const Gguf::Field> Gguf::fields() const {
  if (!contents_) return {};
  return contents_->fields;
}

Gguf::Value Gguf::value(std::string_view name) const {
  const Field* field = find_by_name(fields(), name);
  return field == nullptr ? Value() : field->value;
}

std::span<const Gguf::Entry> Gguf::entries() const {
  if (!contents_) return {};
  return contents_->entries;
}

const Gguf::Entry* Gguf::find(std::string_view name) const { return find_by_name(entries(), name); }

std::vector<HostTensor> Gguf::host_tensors() const {
  std::vector<HostTensor> tensors;
  HostTensor tensor;
  for (const Entry& entry : entries())
    if (host_tensor(entry, &tensor)) tensors.push_back(tensor);
  return tensors;
}

const char* Gguf::type_name(uint32_t type) {
  const GgufType* known = gguf_type(type);
  return known == nullptr ? nullptr : known->name;
}

bool Gguf::storage_type(uint32_t type, DType* dtype) {
  const GgufType* known = gguf_type(type);
  if (dtype == nullptr || known == nullptr || !known->storage) return false;
  *dtype = *known->storage;
  return true;
}

bool host_tensor(const Gguf::Entry& entry, HostTensor* tensor) {
  DType dtype;
  if (!Gguf::storage_type(entry.type, &dtype) || entry.elements() == 0) return false;
  *tensor = {entry.name, dtype, entry.shape, entry.data};
  return true;
}

}  // namespace heed
