#include "io/ctranslate2.hpp"

#include "base/arith.hpp"
#include "base/find.hpp"
#include "io/file_parser.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

constexpr uint32_t kVersion = 6;
// The least bytes of a tensor (a length, a letter and its end, the number of dims, a type, a number of bytes) and of an alias.
constexpr uint64_t kLeastVariable = 2 + 2 + 1 + 1 + 4, kLeastAlias = 2 * (2 + 2);

struct TypeFacts {
  const char* name;
  int64_t bytes;
};
constexpr TypeFacts kStoredTypes[] = {{"f32", 4}, {"i8", 1}, {"i16", 2}, {"i32", 4}, {"f16", 2}, {"bf16", 2}};

}  // namespace

const char* CTranslate2::name_of(Type type) { return kStoredTypes[static_cast<size_t>(type)].name; }

// Parses the bytes of a file in one pass. Each step returns Ok or logs the reason why not.
class CTranslate2Parser : FileParser {
 public:
  CTranslate2Parser(std::span<const std::byte> bytes, const Log& log, CTranslate2* file)
      : FileParser(bytes, file->name(), log), file_(*file) {}

  Status parse() {
    Status status = read_start();
    if (status == Status::Ok) status = read_entries();
    if (status == Status::Ok) status = read_aliases();
    if (status == Status::Ok && left() > 0) status = invalid(format("%llu bytes lie behind its end", wide(left())));
    if (status == Status::Ok) status = check_names();
    return status;
  }

 private:
  Status take_ended(const char* what, std::string_view* text) {
    const size_t begin = at_;
    uint16_t length = 0;
    if (!take(&length) || length > left())
      return invalid(format("the %s at byte %zu has %u bytes, the file ends before", what, begin, length));
    *text = take_text(length);
    // Lengths include the zero byte that ends a text; no other zero may occur in it.
    if (text->find('\0') + 1 != length || length < 2)
      return invalid(format("the %s at byte %zu is no text that ends in its only zero byte", what, begin));
    text->remove_suffix(1);
    return Status::Ok;
  }

  Status read_start() {
    uint32_t version = 0;
    if (!take(&version)) return invalid(format("ends after %zu bytes, before its version", bytes_.size()));
    if (version != kVersion)
      return fail(
          log_, Status::Unsupported,
          format("%s: is of version %u of CTranslate2's files; %u is read", file_.name().c_str(), version, kVersion));
    const Status status = take_ended("network's name", &file_.network_);
    if (status != Status::Ok) return status;
    return take(&file_.revision_) ? Status::Ok : invalid("ends before the network's revision");
  }

  Status read_entries() {
    uint32_t count = 0;
    if (!take(&count)) return invalid("ends before its tensors");
    if (count > left() / kLeastVariable)
      return invalid(format("%u tensors do not fit the %llu bytes left", count, wide(left())));
    file_.entries_.resize(count);
    for (CTranslate2::Entry& entry : file_.entries_) {
      const Status status = read_entry(&entry);
      if (status != Status::Ok) return status;
    }
    return Status::Ok;
  }

  Status read_entry(CTranslate2::Entry* entry) {
    const Status status = take_ended("name", &entry->name);
    if (status != Status::Ok) return status;
    uint8_t dims = 0, type = 0;
    if (!take(&dims)) return in_tensor(entry->name, "the file ends before its shape");
    if (dims > CTranslate2::kMaxDims)
      return in_tensor(entry->name, format("%u dims, at most %zu are allowed", dims, CTranslate2::kMaxDims));
    int64_t needed = 1;
    bool fits = true;
    for (uint8_t i = 0; i < dims; ++i) {
      uint32_t size = 0;
      if (!take(&size)) return in_tensor(entry->name, "the file ends before its shape");
      if (size == 0) return in_tensor(entry->name, "has no elements");
      entry->shape.push_back(size);
      fits = checked_mul(needed, size, &needed) && fits;
    }
    uint32_t bytes = 0;
    if (!take(&type) || !take(&bytes)) return in_tensor(entry->name, "the file ends before its type");
    if (type >= std::size(kStoredTypes)) return in_tensor(entry->name, format("its type %u is not known", type));
    entry->type = static_cast<CTranslate2::Type>(type);
    fits = checked_mul(needed, kStoredTypes[type].bytes, &needed) && fits;
    if (!fits || needed != bytes)
      return in_tensor(entry->name, format("%u bytes, its shape %s of %s has others", bytes,
                                           shape_text(entry->shape).c_str(), kStoredTypes[type].name));
    if (bytes > left()) return in_tensor(entry->name, format("%u bytes, the file has %llu left", bytes, wide(left())));
    entry->data = take_bytes(bytes);
    return Status::Ok;
  }

  Status read_aliases() {
    uint32_t count = 0;
    if (!take(&count)) return invalid("ends before its aliases");
    if (count > left() / kLeastAlias)
      return invalid(format("%u aliases do not fit the %llu bytes left", count, wide(left())));
    file_.aliases_.resize(count);
    for (CTranslate2::Alias& alias : file_.aliases_) {
      Status status = take_ended("alias", &alias.name);
      if (status == Status::Ok) status = take_ended("name of an alias", &alias.of);
      if (status != Status::Ok) return status;
    }
    return Status::Ok;
  }

  Status check_names() {
    if (const auto* twice = sort_and_find_twice(&file_.entries_)) return in_tensor(twice->name, "is given twice");
    if (const auto* twice = sort_and_find_twice(&file_.aliases_))
      return invalid(format("the alias '%s' is given twice", printable(twice->name).c_str()));
    for (const CTranslate2::Alias& alias : file_.aliases_) {
      const bool is_tensor = find_by_name(file_.entries(), alias.name) != nullptr;
      if (is_tensor || find_by_name(file_.entries(), alias.of) == nullptr)
        return invalid(format("the alias '%s' of '%s' %s", printable(alias.name).c_str(), printable(alias.of).c_str(),
                              is_tensor ? "is a tensor's name" : "stands for no tensor"));
    }
    return Status::Ok;
  }

  CTranslate2& file_;
};

Status CTranslate2::open(const std::string& path, const Log& log) {
  const Status status = MappedFile::open(path, log, &file_);
  return status == Status::Ok ? parse(file_.bytes(), path, log) : status;
}

Status CTranslate2::parse(std::span<const std::byte> bytes, std::string_view name, const Log& log) {
  name_ = name;
  return CTranslate2Parser(bytes, log, this).parse();
}

const CTranslate2::Entry* CTranslate2::find(std::string_view name) const {
  const Alias* alias = find_by_name(std::span<const Alias>(aliases_), name);
  return find_by_name(entries(), alias != nullptr ? alias->of : name);
}

}  // namespace heed
