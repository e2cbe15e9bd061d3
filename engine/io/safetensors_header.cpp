#include "io/safetensors_header.hpp"

#ifndef JSON_NOEXCEPTION
#define JSON_NOEXCEPTION  // already implied where exceptions are switched off
#endif
#include <nlohmann/json.hpp>

#include <heed/safetensors.hpp>

#include "base/logging.hpp"

namespace heed {

std::string printable(std::string_view text) {
  constexpr size_t kMost = 120;
  std::string out(text.substr(0, kMost));
  for (char& c : out)
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  if (text.size() > kMost) out += "...";
  return out;
}

namespace {

using Parsed = nlohmann::json;

// Reads the header as a stream of events, without a tree or recursion, at most three levels deep, so that data of a hostile header is
// checked before it is stored. Every event returns false to stop; `problem` then has the reason.
class HeaderReader {
 public:
  explicit HeaderReader(RawHeader* header) : header_(header) {}

  std::string problem;

  bool null() { return value("null"); }
  bool boolean(bool) { return value("a boolean"); }
  bool number_integer(Parsed::number_integer_t v) {
    return stop(format("%s: %lld is negative", where().c_str(), static_cast<long long>(v)));
  }
  bool number_float(Parsed::number_float_t, const std::string& text) {
    return stop(format("%s: %s is not an integer", where().c_str(), printable(text).c_str()));
  }
  bool binary(Parsed::binary_t&) { return value("binary data"); }

  bool number_unsigned(Parsed::number_unsigned_t v) {
    if (level_ != Level::Shape && level_ != Level::Offsets) return value("a number");
    std::vector<uint64_t>& list = level_ == Level::Shape ? tensor().shape : tensor().offsets;
    const size_t most = level_ == Level::Shape ? SafeTensors::kMaxDims : 2;
    if (list.size() == most) return stop(format("%s: more than the %zu values allowed", where().c_str(), most));
    list.push_back(v);
    return true;
  }

  bool string(std::string& v) {
    if (level_ == Level::Metadata) {
      header_->metadata.emplace_back(std::move(key_), std::move(v));
      return true;
    }
    if (level_ != Level::Tensor || key_ != "dtype") return value("a string");
    tensor().dtype = std::move(v);
    return true;
  }

  bool start_object(size_t) {
    if (level_ == Level::Start) {
      level_ = Level::Root;
    } else if (level_ == Level::Root && key_ == "__metadata__") {
      if (has_metadata_) return stop("__metadata__ is given twice");
      has_metadata_ = true;
      level_ = Level::Metadata;
    } else if (level_ == Level::Root) {
      header_->tensors.emplace_back().name = std::move(key_);
      seen_ = 0;
      level_ = Level::Tensor;
    } else {
      return value("an object");
    }
    return true;
  }

  bool key(std::string& v) {
    key_ = std::move(v);
    if (level_ != Level::Tensor) return true;
    const unsigned field = key_ == "dtype" ? 1u : key_ == "shape" ? 2u : key_ == "data_offsets" ? 4u : 0u;
    if (field == 0) return stop(format("%s: is not a known field", where().c_str()));
    if (seen_ & field) return stop(format("%s: is given twice", where().c_str()));
    seen_ |= field;
    return true;
  }

  bool end_object() {
    if (level_ == Level::Tensor && seen_ != 7)
      return stop(format("tensor '%s': lacks %s", printable(tensor().name).c_str(),
                         !(seen_ & 1)   ? "dtype"
                         : !(seen_ & 2) ? "shape"
                                        : "data_offsets"));
    level_ = level_ == Level::Root ? Level::End : Level::Root;
    return true;
  }

  bool start_array(size_t) {
    if (level_ != Level::Tensor || (key_ != "shape" && key_ != "data_offsets")) return value("an array");
    level_ = key_ == "shape" ? Level::Shape : Level::Offsets;
    return true;
  }

  bool end_array() {
    if (level_ == Level::Offsets && tensor().offsets.size() != 2)
      return stop(format("%s: has %zu values, must have 2", where().c_str(), tensor().offsets.size()));
    level_ = Level::Tensor;
    return true;
  }

  bool parse_error(size_t position, const std::string&, const Parsed::exception&) {
    return stop(format("the header is not valid JSON at byte %zu", position));
  }

 private:
  enum class Level : uint8_t { Start, Root, Metadata, Tensor, Shape, Offsets, End };

  RawTensor& tensor() { return header_->tensors.back(); }

  std::string where() {
    const std::string key = printable(key_);
    switch (level_) {
      case Level::Tensor:
      case Level::Shape:
      case Level::Offsets: return format("tensor '%s': %s", printable(tensor().name).c_str(), key.c_str());
      case Level::Metadata: return format("__metadata__: '%s'", key.c_str());
      case Level::Root: return format("entry '%s'", key.c_str());
      default: return "header";
    }
  }

  bool value(const char* what) { return stop(format("%s: %s is not allowed here", where().c_str(), what)); }
  bool stop(std::string text) {
    problem = std::move(text);
    return false;
  }

  RawHeader* header_;
  Level level_ = Level::Start;
  std::string key_;
  unsigned seen_ = 0;  // fields of the current tensor: 1 dtype, 2 shape, 4 data_offsets
  bool has_metadata_ = false;
};

}  // namespace

Status parse_header(std::string_view json, const std::string& file, const Log& log, RawHeader* header) {
  HeaderReader reader(header);
  if (Parsed::sax_parse(json.begin(), json.end(), &reader)) return Status::Ok;
  return fail(log, Status::InvalidFile, format("%s: %s", file.c_str(), reader.problem.c_str()));
}

}  // namespace heed
