#include "onnx/file/beside.hpp"

#include <algorithm>
#include <charconv>
#include <vector>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "onnx/file/message.hpp"

namespace heed::onnx::file {

namespace {

#ifdef _WIN32
constexpr std::string_view kSeparators = "/\\";
bool is_absolute(std::string_view path) {
  // A colon follows a drive letter.
  return path.starts_with('/') || path.starts_with('\\') || path.find(':') != path.npos;
}
#else
constexpr std::string_view kSeparators = "/";
bool is_absolute(std::string_view path) { return path.starts_with('/'); }
#endif

// The path without "." and "..", which must stay inside the folder. Links are followed when it is opened, since folders of downloaded
// models consist of links.
std::string path_in_folder(std::string_view path) {
  const auto refuse = [&](const char* why) {
    stop(format("its values lie in '%s', which %s", printable(path).c_str(), why));
  };
  if (is_absolute(path)) refuse("is an absolute path; files are read from the model's folder");
  if (path.find('\0') != path.npos) refuse("is no path");
  std::vector<std::string_view> parts;
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find_first_of(kSeparators, begin), path.size());
    const std::string_view part = path.substr(begin, end - begin);
    begin = end + 1;
    if (part == "..") {
      if (parts.empty()) refuse("leads out of the model's folder");
      parts.pop_back();
    } else if (!part.empty() && part != ".") {
      parts.push_back(part);
    }
  }
  if (parts.empty()) refuse("is no file");
  std::string joined;
  for (const std::string_view part : parts) (joined += joined.empty() ? "" : "/") += part;
  return joined;
}

// Parses a decimal number, since these fields are text. Returns `absent` if the field is missing.
uint64_t number_of(std::string_view text, const char* what, uint64_t absent) {
  if (text.data() == nullptr) return absent;
  uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size())
    stop(format("the %s '%s' of its values is no number of bytes", what, printable(text).c_str()));
  return number;
}

unsigned long long wide(uint64_t number) { return number; }

}  // namespace

std::span<const std::byte> FilesBeside::find(const Elsewhere& where, uint64_t bytes,
                                             std::shared_ptr<const void>* keeps) {
  if (where.location.data() == nullptr) stop("its values lie in another file, which it does not name");
  const std::string path = path_in_folder(where.location);
  const uint64_t offset = number_of(where.offset, "offset", 0), length = number_of(where.length, "length", bytes);
  if (length != bytes)
    stop(format("its values have a length of %llu bytes in '%s', and should have %llu", wide(length),
                printable(path).c_str(), wide(bytes)));
  if (bytes == 0) return {};
  if (folder_.empty())
    stop(format("its values lie in '%s', and the model was read without a folder", printable(path).c_str()),
         Status::NotFound);
  auto found = files_.find(path);
  if (found == files_.end()) {
    auto file = std::make_shared<MappedFile>();
    const Status status = MappedFile::open(folder_ + "/" + path, no_log(), file.get());
    if (status != Status::Ok) stop(format("its values lie in %s", last_message()), status);
    found = files_.emplace(path, std::move(file)).first;
  }
  const std::span<const std::byte> all = found->second->bytes();
  if (offset > all.size() || bytes > all.size() - offset)
    stop(format("%llu bytes from %llu on, '%s' has %llu", wide(bytes), wide(offset), printable(path).c_str(),
                wide(all.size())));
  *keeps = found->second;
  return all.subspan(static_cast<size_t>(offset), static_cast<size_t>(bytes));
}

}  // namespace heed::onnx::file
