#include "index.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include <nlohmann/json.hpp>

#include <heed/safetensors.hpp>

#ifdef _WIN32
#include <io.h>
#include <process.h>
#else
#include <unistd.h>
#endif

namespace search {
namespace {

constexpr const char* kFormat = "heed search index 1";

std::string hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

// Waits until the bytes are on the disk, so that the rename that follows does not happen first.
bool flush_to_disk(std::FILE* file) {
  if (std::fflush(file) != 0) return false;
#ifdef _WIN32
  return _commit(_fileno(file)) == 0;
#else
  return fsync(fileno(file)) == 0;
#endif
}

std::string header_of(const Index& index) {
  nlohmann::ordered_json header;
  header["__metadata__"] = {
      {"format", kFormat}, {"model", hex(index.model)}, {"corpus", hex(index.corpus)}, {"dtype", index.dtype}};
  header["vectors"] = {{"dtype", "F32"},
                       {"shape", {index.lines, index.width}},
                       {"data_offsets", {0, index.vectors.size() * sizeof(float)}}};
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // keeps the data aligned
  return text;
}

bool write_all(std::FILE* file, const Index& index) {
  const std::string header = header_of(index);
  unsigned char length[8];
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(header.size() >> (8 * i));
  return std::fwrite(length, 1, 8, file) == 8 && std::fwrite(header.data(), 1, header.size(), file) == header.size() &&
         std::fwrite(index.vectors.data(), sizeof(float), index.vectors.size(), file) == index.vectors.size() &&
         flush_to_disk(file);
}

struct Reason {
  std::string text;
  heed::Log log() {
    return {[](void* user, heed::LogLevel, const char* message) { static_cast<Reason*>(user)->text = message; }, this,
            heed::LogLevel::Error};
  }
};

}  // namespace

Load load_index(const std::string& path, Index* wanted, std::string* why) {
  std::error_code code;
  const std::filesystem::file_status place = std::filesystem::status(path, code);
  if (!std::filesystem::exists(place)) return Load::Absent;
  if (!std::filesystem::is_regular_file(place)) {
    *why = "is no regular file";
    return Load::NoPlace;
  }
  Reason reason;
  heed::SafeTensors file;
  if (heed::SafeTensors::open(path, reason.log(), &file) != heed::Status::Ok) {
    *why = "is no index: " + reason.text;
    return Load::Foreign;
  }
  if (file.metadata("format") != kFormat) {
    *why = "is no index of this program";
    return Load::Foreign;
  }
  const auto stale = [&](const char* what) {
    *why = what;
    return Load::Stale;
  };
  if (file.metadata("model") != hex(wanted->model)) return stale("was made by another model");
  if (file.metadata("corpus") != hex(wanted->corpus)) return stale("was made of other lines");
  if (file.metadata("dtype") != wanted->dtype) return stale("was computed in another precision");
  const heed::SafeTensors::Entry* vectors = file.find("vectors");
  const std::vector<int64_t> shape = {static_cast<int64_t>(wanted->lines), static_cast<int64_t>(wanted->width)};
  if (vectors == nullptr || vectors->shape != shape ||
      heed::read_f32(*vectors, reason.log(), &wanted->vectors) != heed::Status::Ok) {
    *why = "is damaged: it does not have the vectors of " + std::to_string(wanted->lines) + " lines";
    return Load::Foreign;
  }
  return Load::Ok;
}

bool save_index(const std::string& path, const Index& index, std::string* error) {
  const auto failed = [&](const char* what) {
    *error = std::string("cannot ") + what + " " + path + ": " + std::strerror(errno);
    return false;
  };
#ifdef _WIN32
  const int process = _getpid();
#else
  const int process = static_cast<int>(getpid());
#endif
  const std::string fresh = path + "." + std::to_string(process) + ".tmp";
  std::FILE* file = std::fopen(fresh.c_str(), "wb");
  if (file == nullptr) return failed("create");
  const bool written = write_all(file, index);
  const int write_error = errno;
  std::error_code code;
  if ((std::fclose(file) != 0) | !written) {
    errno = written ? errno : write_error;
    failed("write");
    std::filesystem::remove(fresh, code);
    return false;
  }
  std::filesystem::rename(fresh, path, code);
  if (!code) return true;
  *error = "cannot replace " + path + ": " + code.message();
  std::filesystem::remove(fresh, code);
  return false;
}

std::vector<Hit> nearest(const Index& index, const std::vector<float>& query, size_t count) {
  std::vector<Hit> hits(index.lines);
  for (size_t line = 0; line < index.lines; ++line) {
    const float* vector = index.vectors.data() + line * index.width;
    float sum[8] = {};  // eight independent sums, so that compilers use vectors
    size_t i = 0;
    for (; i + 8 <= index.width; i += 8)
      for (size_t k = 0; k < 8; ++k) sum[k] += vector[i + k] * query[i + k];
    for (; i < index.width; ++i) sum[0] += vector[i] * query[i];
    hits[line] = {line, ((sum[0] + sum[1]) + (sum[2] + sum[3])) + ((sum[4] + sum[5]) + (sum[6] + sum[7]))};
  }
  count = std::min(count, hits.size());
  std::partial_sort(hits.begin(), hits.begin() + static_cast<long>(count), hits.end(), [](const Hit& a, const Hit& b) {
    return a.score != b.score ? a.score > b.score : a.line < b.line;
  });
  hits.resize(count);
  return hits;
}

}  // namespace search
