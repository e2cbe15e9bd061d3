#include "io/ggml_whisper.hpp"

#include "base/arith.hpp"
#include "io/file_parser.hpp"
#include "io/safetensors_header.hpp"

namespace heed {

namespace {

constexpr uint32_t kMagic = 0x67676d6c;

// The first version of the block layout that heed can read: 2 stores the scales of Q4_0, Q4_1 and Q8_0 as f16; 1 changed the order of half
// bytes.
uint32_t version_of(DType type) { return type == DType::Q5_0 || type == DType::Q5_1 ? 1 : 2; }

}  // namespace

// Parses the bytes of a file in one pass. Each step returns Ok or logs the reason why not.
class GgmlWhisperParser : FileParser {
 public:
  GgmlWhisperParser(std::span<const std::byte> bytes, const Log& log, GgmlWhisper* file)
      : FileParser(bytes, file->name(), log), file_(*file) {}

  Status parse() {
    Status status = read_sizes();
    if (status == Status::Ok) status = read_filters();
    if (status == Status::Ok) status = read_words();
    while (status == Status::Ok && left() > 0) status = read_entry();
    if (status == Status::Ok) status = check_names();
    return status;
  }

 private:
  Status read_sizes() {
    uint32_t magic = 0, type = 0;
    if (!take(&magic) || magic != kMagic) return invalid("is no model of whisper.cpp: it does not begin with 'lmgg'");
    GgmlWhisper::Sizes& s = file_.sizes_;
    const bool all = take(&s.vocabulary, &s.encoder.positions, &s.encoder.width, &s.encoder.heads, &s.encoder.layers,
                          &s.decoder.positions, &s.decoder.width, &s.decoder.heads, &s.decoder.layers, &s.bands, &type);
    constexpr uint32_t kOfVersion = 1000;
    version_ = type / kOfVersion;
    return all ? Status::Ok : invalid("ends before the sizes of its network");
  }

  Status read_filters() {
    GgmlWhisper::Filters& f = file_.filters_;
    if (!take(&f.bands, &f.bins)) return invalid("ends before its mel filters");
    int64_t needed = 0;
    if (!checked_mul(f.bands, f.bins, &needed) || !checked_mul(needed, sizeof(float), &needed) ||
        static_cast<uint64_t>(needed) > left())
      return invalid(format("mel filters [%u, %u] do not fit the %llu bytes left", f.bands, f.bins, wide(left())));
    f.values = take_bytes(static_cast<uint64_t>(needed));
    return Status::Ok;
  }

  Status read_words() {
    uint32_t count = 0;
    if (!take(&count)) return invalid("ends before its words");
    if (count > left() / sizeof(uint32_t))
      return invalid(format("%u words do not fit the %llu bytes left", count, wide(left())));
    file_.words_.reserve(count);
    for (uint32_t i = 0; i < count; ++i) {
      uint32_t length = 0;
      if (!take(&length) || length > left())
        return invalid(format("word %u has %u bytes, the file ends before", i, length));
      file_.words_.push_back(take_text(length));
    }
    return Status::Ok;
  }

  Status read_entry() {
    const size_t begin = at_;
    const auto in_entry = [&](const char* what, uint32_t number) {
      return invalid(format("the tensor at byte %zu has %u %s", begin, number, what));
    };
    uint32_t dims = 0, length = 0, type = 0;
    if (!take(&dims, &length, &type)) return invalid(format("the tensor at byte %zu is cut off", begin));
    if (dims < 1 || dims > GgmlWhisper::kMaxDims) return in_entry("dims, 1 to 4 are allowed", dims);
    GgmlWhisper::Entry entry;
    int64_t needed = 1;
    bool fits = true, has_elements = true;
    for (uint32_t i = 0; i < dims; ++i) {
      uint32_t size = 0;
      if (!take(&size)) return invalid(format("the tensor at byte %zu is cut off", begin));
      has_elements = has_elements && size > 0;
      entry.shape.insert(entry.shape.begin(), size);
      fits = checked_mul(needed, size, &needed) && fits;
    }
    if (length < 1 || length > left()) return in_entry("bytes of name, which the file has not", length);
    entry.name = take_text(length);
    if (!has_elements) return in_tensor(entry.name, "has no elements");
    entry.type = gguf_type(type);
    if (entry.type == nullptr) return in_tensor(entry.name, format("its type %u is not known", type));
    if (!fits || entry.shape.back() % entry.type->elements != 0)
      return in_tensor(entry.name,
                       format("its shape %s cannot be that of %s", shape_text(entry.shape).c_str(), entry.type->name));
    fits = checked_mul(needed / entry.type->elements, static_cast<int64_t>(entry.type->bytes), &needed);
    if (!fits || static_cast<uint64_t>(needed) > left())
      return in_tensor(entry.name, format("%s of %s, the file has %llu bytes left", shape_text(entry.shape).c_str(),
                                          entry.type->name, wide(left())));
    const bool is_old =
        entry.type->storage && is_quantized(*entry.type->storage) && version_ < version_of(*entry.type->storage);
    if (is_old)
      return fail(log_, Status::Unsupported,
                  format("%s: tensor '%s' is %s in version %u of its layout; %u is read", file_.name().c_str(),
                         printable(entry.name).c_str(), entry.type->name, version_, version_of(*entry.type->storage)));
    entry.data = take_bytes(static_cast<uint64_t>(needed));
    file_.entries_.push_back(std::move(entry));
    return Status::Ok;
  }

  Status check_names() {
    const GgmlWhisper::Entry* twice = sort_and_find_twice(&file_.entries_);
    return twice == nullptr ? Status::Ok : in_tensor(twice->name, "is given twice");
  }

  GgmlWhisper& file_;
  uint32_t version_ = 0;  // version of the layout of quantized blocks
};

Status GgmlWhisper::open(const std::string& path, const Log& log) {
  const Status status = MappedFile::open(path, log, &file_);
  return status == Status::Ok ? parse(file_.bytes(), path, log) : status;
}

Status GgmlWhisper::parse(std::span<const std::byte> bytes, std::string_view name, const Log& log) {
  name_ = name;
  return GgmlWhisperParser(bytes, log, this).parse();
}

}  // namespace heed
