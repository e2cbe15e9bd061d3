// Finds the weights that a network declares among the tensors of a file.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <heed/gguf.hpp>
#include <heed/graph.hpp>
#include <heed/safetensors.hpp>

#include "io/name_list.hpp"

namespace heed::models {

// A tensor of either kind of file.
struct Stored {
  std::string_view name;
  const char* type = "";
  std::optional<DType> dtype;  // empty: heed cannot store it
  std::span<const int64_t> shape;
  std::span<const std::byte> data;
};
Stored stored(const Gguf::Entry& entry);
Stored stored(const SafeTensors::Entry& entry);

template <class Entry>
std::vector<Stored> all_stored(std::span<const Entry> entries) {
  std::vector<Stored> all;
  for (const Entry& entry : entries) all.push_back(stored(entry));
  return all;
}

// Looks weights up one by one, and reports all errors at the end, with at most 20 names of each kind.
class WeightFinder {
 public:
  // `tensors` are sorted by name; `file` begins messages.
  WeightFinder(std::span<const Stored> tensors, std::string file, const Log& log)
      : tensors_(tensors), file_(std::move(file)), log_(log) {}

  bool has(std::string_view name) const;
  // The tensor of this name in the file; null if there is none. A wrong shape or type is reported by status().
  const Stored* take(const std::string& name, const Shape& shape, bool may_be_quantized);
  // Reports tensors that were not taken and for which `unused` is false.
  template <class Unused>
  NameList others(Unused unused) const {
    NameList names;
    for (const Stored& tensor : tensors_)
      if (!taken_.contains(tensor.name) && !unused(tensor.name)) names.add(shown(tensor.name));
    return names;
  }
  // MissingWeight, ShapeMismatch or `of_type`, with a message for each; `types` is the text of the last one.
  Status status(Status of_type, const char* types) const;
  // Returns Ok if there are no names.
  Status tell(const NameList& names, Status kind, const char* what) const;

 private:
  static std::string shown(std::string_view name);

  std::span<const Stored> tensors_;
  std::string file_;
  const Log& log_;
  std::set<std::string_view> taken_;
  NameList missing_, misshapen_, mistyped_;
};

}  // namespace heed::models
