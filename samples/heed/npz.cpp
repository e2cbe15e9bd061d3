#include "npz.hpp"

#include <zip.h>

#include <cstring>
#include <memory>

namespace heed::program {
namespace {

constexpr uint64_t kMostBytes = uint64_t{1} << 32;  // bytes of an array

size_t bytes_of(NumpyArray::Type type) {
  switch (type) {
    case NumpyArray::Type::F64:
    case NumpyArray::Type::I64: return 8;
    case NumpyArray::Type::F32:
    case NumpyArray::Type::I32: return 4;
    case NumpyArray::Type::F16: return 2;
    default: return 1;
  }
}

bool find_type(const std::string& text, NumpyArray::Type* type) {
  const std::pair<const char*, NumpyArray::Type> kTypes[] = {
      {"<f4", NumpyArray::Type::F32}, {"<f8", NumpyArray::Type::F64}, {"<f2", NumpyArray::Type::F16},
      {"<i4", NumpyArray::Type::I32}, {"<i8", NumpyArray::Type::I64}, {"|u1", NumpyArray::Type::U8},
      {"|b1", NumpyArray::Type::Bool}};
  for (const auto& [name, known] : kTypes)
    if (text == name) return *type = known, true;
  return false;
}

// The text after "'key': " in the header, which is a Python dict.
std::string value_of(const std::string& header, const std::string& key, char end) {
  const size_t at = header.find("'" + key + "': ");
  if (at == std::string::npos) return "";
  const size_t begin = at + key.size() + 4;
  return header.substr(begin, header.find(end, begin) - begin);
}

bool parse(const std::vector<std::byte>& file, NumpyArray* array) {
  constexpr size_t kFixed = 10;
  if (file.size() < kFixed || std::memcmp(file.data(), "\x93NUMPY", 6) != 0) return false;
  const auto byte = [&](size_t i) { return std::to_integer<size_t>(file[i]); };
  const bool is_long = byte(6) >= 2;
  const size_t begin = is_long ? kFixed + 2 : kFixed;
  if (file.size() < begin) return false;
  const size_t length = byte(8) | byte(9) << 8 | (is_long ? byte(10) << 16 | byte(11) << 24 : 0);
  if (file.size() - begin < length) return false;
  const std::string header(reinterpret_cast<const char*>(file.data()) + begin, length);
  std::string type = value_of(header, "descr", ',');
  if (type.size() > 2) type = type.substr(1, type.size() - 2);
  if (!find_type(type, &array->type) || value_of(header, "fortran_order", ',') != "False") return false;
  std::string shape = value_of(header, "shape", ')');
  for (size_t at = shape.find_first_of("0123456789"); at != std::string::npos;
       at = shape.find_first_of("0123456789", at)) {
    size_t end = 0;
    array->shape.push_back(std::stoll(shape.substr(at), &end));
    at += end;
  }
  array->data.assign(file.begin() + static_cast<ptrdiff_t>(begin + length), file.end());
  return array->data.size() == static_cast<size_t>(array->elements()) * bytes_of(array->type);
}

}  // namespace

int64_t NumpyArray::elements() const {
  int64_t n = 1;
  for (const int64_t dim : shape) n *= dim;
  return n;
}

double NumpyArray::at(int64_t i) const {
  const auto read = [&](auto value) {
    std::memcpy(&value, data.data() + static_cast<size_t>(i) * sizeof value, sizeof value);
    return static_cast<double>(value);
  };
  switch (type) {
    case Type::F32: return read(float{});
    case Type::F64: return read(double{});
    case Type::I32: return read(int32_t{});
    case Type::I64: return read(int64_t{});
    default: return read(uint8_t{});
  }
}

bool read_npz(const std::string& path, std::map<std::string, NumpyArray>* arrays, std::string* wrong) {
  int error = 0;
  const std::unique_ptr<zip_t, int (*)(zip_t*)> archive(zip_open(path.c_str(), ZIP_RDONLY, &error), zip_close);
  if (archive == nullptr) {
    zip_error_t text;
    zip_error_init_with_code(&text, error);
    *wrong = path + ": " + zip_error_strerror(&text);
    zip_error_fini(&text);
    return false;
  }
  const zip_int64_t count = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t entry;
    zip_stat_init(&entry);
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &entry) != 0 || entry.size > kMostBytes) {
      *wrong = path + ": an entry cannot be read";
      return false;
    }
    std::string name = entry.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    const std::unique_ptr<zip_file_t, int (*)(zip_file_t*)> file(
        zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0), zip_fclose);
    std::vector<std::byte> bytes(entry.size);
    if (file == nullptr || zip_fread(file.get(), bytes.data(), entry.size) != static_cast<zip_int64_t>(entry.size) ||
        !parse(bytes, &(*arrays)[name])) {
      *wrong = path + ": '" + name + "' is no array of a type that is known (f2, f4, f8, i4, i8, u1, b1), row by row";
      return false;
    }
  }
  return true;
}

}  // namespace heed::program
