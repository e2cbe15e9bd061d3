// The safetensors reader with valid, damaged and hostile files.
#include "harness/files.hpp"
#include "harness/setup.hpp"
#include "models/support.hpp"

#include <filesystem>
#include <fstream>

using namespace heed;

namespace {

struct Reader {
  std::vector<std::byte> bytes;  // kept alive for `file`
  SafeTensors file;
  Status status = Status::Ok;
  std::vector<std::string> messages;

  Log log() {
    const auto callback = [](void* user, LogLevel, const char* text) {
      static_cast<std::vector<std::string>*>(user)->emplace_back(text);
    };
    return {callback, &messages, LogLevel::Warning};
  }
};

std::vector<std::byte> file_of(const std::string& header, size_t data_bytes) {
  std::vector<std::byte> bytes(8 + header.size() + data_bytes);
  for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(uint64_t{header.size()} >> (8 * i));
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  for (size_t i = 0; i < data_bytes; ++i) bytes[8 + header.size() + i] = static_cast<std::byte>(i);
  return bytes;
}

Reader read(std::vector<std::byte> bytes) {
  Reader reader;
  reader.bytes = std::move(bytes);
  reader.status = SafeTensors::parse(reader.bytes, "memory", reader.log(), &reader.file);
  return reader;
}

Reader read(const std::string& header, size_t data_bytes) { return read(file_of(header, data_bytes)); }

constexpr const char* kSound =
    R"({"__metadata__":{"format":"pt","b":""},"a":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
    R"("mask":{"dtype":"BOOL","shape":[3],"data_offsets":[8,11]},"none":{"dtype":"U8","shape":[0,5],"data_offsets":[11,11]},)"
    R"("half":{"dtype":"BF16","shape":[],"data_offsets":[11,13]}}   )";
constexpr size_t kSoundBytes = 13;

std::string tensor(const std::string& name, const std::string& dtype, const std::string& shape,
                   const std::string& offsets) {
  return "\"" + name + R"(":{"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
}

struct Bad {
  const char* what;
  std::string header;
  size_t data_bytes;
  std::vector<const char*> words;  // texts that the message must contain
};

std::string object(std::initializer_list<std::string> members) {
  std::string text = "{";
  for (const std::string& member : members) text += (text.size() > 1 ? "," : "") + member;
  return text + "}";
}

std::vector<Bad> bad_headers() {
  const std::string a = tensor("a", "U8", "[4]", "[0,4]");
  std::string deep = "{";
  for (int i = 0; i < 100000; ++i) deep += R"("a":{)";
  std::string deep_array = R"({"a":{"dtype":"U8","shape":)" + std::string(100000, '[');
  return {
      {"empty object with data", "{}", 1, {"0 bytes", "1 bytes"}},
      {"no JSON", "{]", 0, {"JSON"}},
      {"something behind", "{} x", 0, {"JSON"}},
      {"an array", "[]", 0, {"'{'"}},
      {"space in front", " {}", 0, {"'{'"}},
      {"cut off", R"({"a":)", 0, {"JSON"}},
      {"not UTF-8", "{\"\xff\xfe\":" + std::string("{}}"), 0, {"JSON"}},
      {"zero byte in a string", std::string("{\"a\0b\":{}}", 10), 0, {"JSON"}},
      {"deep objects", deep, 0, {"'a'"}},
      {"deep arrays", deep_array, 0, {"'a'", "array"}},
      {"tensor is a number", R"({"a":3})", 0, {"'a'", "number"}},
      {"tensor is null", R"({"a":null})", 0, {"'a'", "null"}},
      {"tensor is text", R"({"a":"x"})", 0, {"'a'", "string"}},
      {"metadata is a list", R"({"__metadata__":[]})", 0, {"__metadata__", "array"}},
      {"metadata value is a number", R"({"__metadata__":{"k":1}})", 0, {"'k'", "number"}},
      {"metadata twice", R"({"__metadata__":{},"__metadata__":{}})", 0, {"__metadata__", "twice"}},
      {"metadata key twice", R"({"__metadata__":{"k":"1","k":"2"}})", 0, {"'k'", "twice"}},
      {"name twice", object({a, tensor("a", "U8", "[4]", "[4,8]")}), 8, {"'a'"}},
      {"field twice", R"({"a":{"dtype":"U8","dtype":"U8","shape":[],"data_offsets":[0,1]}})", 1, {"'a'", "twice"}},
      {"unknown field", R"({"a":{"dtype":"U8","strides":[]}})", 0, {"'a'", "strides"}},
      {"no shape", R"({"a":{"dtype":"U8","data_offsets":[0,1]}})", 1, {"'a'", "shape"}},
      {"no offsets", R"({"a":{"dtype":"U8","shape":[]}})", 1, {"'a'", "data_offsets"}},
      {"no dtype", R"({"a":{"shape":[],"data_offsets":[0,1]}})", 1, {"'a'", "dtype"}},
      {"unknown dtype", object({tensor("a", "F128", "[1]", "[0,16]")}), 16, {"'a'", "F128"}},
      {"dtype is a number", R"({"a":{"dtype":1,"shape":[],"data_offsets":[0,1]}})", 1, {"'a'", "dtype"}},
      {"too many dims", object({tensor("a", "U8", "[1,1,1,1,1,1,1,1,1]", "[0,1]")}), 1, {"'a'", "8"}},
      {"negative dim", object({tensor("a", "U8", "[-4]", "[0,4]")}), 4, {"'a'", "-4"}},
      {"fractional dim", object({tensor("a", "U8", "[4.5]", "[0,4]")}), 4, {"'a'", "4.5"}},
      {"dim as float", object({tensor("a", "U8", "[4.0]", "[0,4]")}), 4, {"'a'", "4.0"}},
      {"dim is text", object({tensor("a", "U8", R"(["4"])", "[0,4]")}), 4, {"'a'", "string"}},
      {"dim beyond 64 bits", object({tensor("a", "U8", "[99999999999999999999]", "[0,4]")}), 4, {"'a'", "9999"}},
      {"dim of 2^63", object({tensor("a", "U8", "[9223372036854775808]", "[0,4]")}), 4, {"'a'", "63 bits"}},
      {"product overflows", object({tensor("a", "U8", "[4294967296,4294967296]", "[0,0]")}), 0, {"'a'", "63 bits"}},
      {"product overflows to 4", object({tensor("a", "F32", "[4611686018427387905]", "[0,4]")}), 4, {"'a'", "63 bits"}},
      {"one offset", object({tensor("a", "U8", "[4]", "[0]")}), 4, {"'a'", "1 values", "2"}},
      {"three offsets", object({tensor("a", "U8", "[4]", "[0,4,8]")}), 4, {"'a'", "2"}},
      {"negative offset", object({tensor("a", "U8", "[4]", "[-1,3]")}), 4, {"'a'", "-1"}},
      {"offsets swapped", object({tensor("a", "U8", "[4]", "[4,0]")}), 4, {"'a'", "4", "0"}},
      {"beyond the end", object({tensor("a", "U8", "[4]", "[0,4]")}), 3, {"'a'", "4", "3"}},
      {"offset of 2^64 - 1",
       object({tensor("a", "U8", "[1]", "[18446744073709551614,18446744073709551615]")}),
       4,
       {"'a'", "18446744073709551615", "4"}},
      {"too few bytes", object({tensor("a", "F32", "[2]", "[0,7]")}), 7, {"'a'", "7", "8"}},
      {"too many bytes", object({tensor("a", "F16", "[3]", "[0,8]")}), 8, {"'a'", "8", "6"}},
      {"overlap", object({a, tensor("b", "U8", "[4]", "[3,7]")}), 7, {"'b'", "3", "4"}},
      {"same bytes", object({a, tensor("b", "U8", "[4]", "[0,4]")}), 4, {"0", "4"}},
      {"inside another", object({a, tensor("b", "U8", "[1]", "[1,2]")}), 4, {"'b'", "1", "4"}},
      {"empty one inside", object({a, tensor("b", "U8", "[0]", "[2,2]")}), 4, {"'b'", "2", "4"}},
      {"hole", object({a, tensor("b", "U8", "[4]", "[5,9]")}), 9, {"'b'", "5", "4"}},
      {"hole in front", object({tensor("b", "U8", "[4]", "[1,5]")}), 5, {"'b'", "1", "0"}},
      {"bytes left over", object({a}), 5, {"4 bytes", "5 bytes"}},
  };
}

}  // namespace

TEST_CASE("safetensors: tensors, types and metadata", "[io]") {
  Reader r = read(kSound, kSoundBytes);
  REQUIRE(r.status == Status::Ok);
  CHECK(r.messages.empty());
  REQUIRE(r.file.entries().size() == 4);
  CHECK(r.file.metadata("format") == "pt");
  CHECK(r.file.metadata("absent").empty());
  CHECK(r.file.metadata().size() == 2);
  CHECK(r.file.find("b") == nullptr);

  const SafeTensors::Entry* a = r.file.find("a");
  REQUIRE(a != nullptr);
  CHECK(a->type == SafeTensors::Type::F32);
  CHECK(a->shape == std::vector<int64_t>{2, 1});
  CHECK(a->data.size() == 8);
  CHECK(a->data[0] == std::byte{0});
  REQUIRE(r.file.find("half") != nullptr);
  CHECK(r.file.find("half")->shape.empty());
  CHECK(r.file.find("half")->elements() == 1);
  CHECK(r.file.find("none")->elements() == 0);

  const std::vector<HostTensor> tensors = r.file.host_tensors();
  REQUIRE(tensors.size() == 3);  // without "none"
  CHECK(tensors[0].name == "a");
  CHECK(tensors[2].name == "mask");
  CHECK(tensors[2].dtype == DType::U8);
}

TEST_CASE("safetensors: every prefix of a file is refused", "[io]") {
  const std::vector<std::byte> whole = file_of(kSound, kSoundBytes);
  for (size_t n = 0; n < whole.size(); ++n) {
    INFO(n << " bytes");
    // A copy of exactly n bytes, so that a sanitizer detects any read past the end.
    const Reader r = read(std::vector<std::byte>(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(n)));
    CHECK(r.status == Status::InvalidFile);
    CHECK(r.messages.size() == 1);
  }
}

TEST_CASE("safetensors: any changed header byte is read or refused, never a crash", "[io]") {
  const std::vector<std::byte> whole = file_of(kSound, kSoundBytes);
  for (size_t i = 0; i < whole.size() - kSoundBytes; ++i) {
    for (const unsigned bits : {0x01u, 0x02u, 0x10u, 0x20u, 0x80u, 0xffu}) {
      std::vector<std::byte> bytes = whole;
      bytes[i] ^= static_cast<std::byte>(bits);
      const Reader r = read(std::move(bytes));
      INFO("byte " << i << " with " << bits);
      CHECK((r.status == Status::Ok || r.messages.size() == 1));
    }
  }
}

TEST_CASE("safetensors: hostile headers are refused with one message that says why", "[io]") {
  for (const Bad& bad : bad_headers()) {
    const Reader r = read(bad.header, bad.data_bytes);
    INFO(bad.what << ": " << (r.messages.empty() ? "" : r.messages[0]));
    CHECK(r.status == Status::InvalidFile);
    CHECK(r.file.entries().empty());
    REQUIRE(r.messages.size() == 1);
    CHECK(r.messages[0].starts_with("memory: "));
    for (const char* word : bad.words) CHECK_THAT(r.messages[0], holds(word));
  }
}

TEST_CASE("safetensors: header lengths are bounded", "[io]") {
  for (const uint64_t length : {uint64_t{0}, uint64_t{3}, SafeTensors::kMaxHeaderBytes,
                                SafeTensors::kMaxHeaderBytes + 1, uint64_t{1} << 63, UINT64_MAX, UINT64_MAX - 7}) {
    std::vector<std::byte> bytes = file_of("{}", 0);
    for (size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(length >> (8 * i));
    const Reader r = read(std::move(bytes));
    INFO(length);
    CHECK(r.status == Status::InvalidFile);
    CHECK(r.messages.size() == 1);
  }
}

TEST_CASE("safetensors: names from a file stay on one line of a message", "[io]") {
  const Reader r = read(object({tensor("a\\n\\u001b[31m" + std::string(1000, 'x'), "F99", "[]", "[0,4]")}), 4);
  REQUIRE(r.messages.size() == 1);
  CHECK(r.messages[0].find_first_of("\n\x1b") == std::string::npos);
  CHECK(r.messages[0].size() < 300);
}

TEST_CASE("safetensors: failure leaves the target alone, success replaces it, moves work", "[io]") {
  Reader r = read(kSound, kSoundBytes);
  REQUIRE(r.status == Status::Ok);
  CHECK(SafeTensors::parse({}, "empty", r.log(), &r.file) == Status::InvalidFile);
  CHECK(r.file.entries().size() == 4);
  SafeTensors moved = std::move(r.file);
  CHECK(moved.entries().size() == 4);
  const std::vector<std::byte> other = file_of("{}", 0);
  CHECK(SafeTensors::parse(other, "other", r.log(), &moved) == Status::Ok);
  CHECK(moved.entries().empty());
}

TEST_CASE("safetensors: integers and floats come out as asked", "[io]") {
  const std::string header = object({tensor("i64", "I64", "[2]", "[0,16]"), tensor("u8", "U8", "[1]", "[16,17]"),
                                     tensor("f16", "F16", "[1]", "[17,19]"), tensor("i32", "I32", "[1]", "[19,23]")});
  std::vector<std::byte> bytes = file_of(header, 23);
  const size_t data = bytes.size() - 23;
  const int64_t values[2] = {-5, INT32_MAX};
  std::memcpy(&bytes[data], values, sizeof values);
  const uint16_t half = 0x3e00;  // 1.5
  std::memcpy(&bytes[data + 17], &half, sizeof half);

  Reader r = read(bytes);
  REQUIRE(r.status == Status::Ok);
  std::vector<int32_t> integers;
  std::vector<float> floats;
  CHECK(read_i32(*r.file.find("i64"), r.log(), &integers) == Status::Ok);
  CHECK(integers == std::vector<int32_t>{-5, INT32_MAX});
  CHECK(read_i32(*r.file.find("u8"), r.log(), &integers) == Status::Ok);
  CHECK(integers == std::vector<int32_t>{16});
  CHECK(read_f32(*r.file.find("f16"), r.log(), &floats) == Status::Ok);
  CHECK(floats == std::vector<float>{1.5f});
  CHECK(read_f32(*r.file.find("i32"), r.log(), &floats) == Status::DTypeMismatch);
  CHECK(read_i32(*r.file.find("f16"), r.log(), &integers) == Status::DTypeMismatch);
  CHECK(r.file.host_tensors().size() == 3);  // no I64 in storage
  r.messages.clear();

  const int64_t large = int64_t{INT32_MAX} + 1;
  std::memcpy(&bytes[data + 8], &large, sizeof large);
  Reader wide = read(bytes);
  CHECK(read_i32(*wide.file.find("i64"), wide.log(), &integers) == Status::IndexOutOfRange);
  REQUIRE(wide.messages.size() == 1);
  CHECK_THAT(wide.messages[0], holds("2147483648 at 1"));
}

TEST_CASE("safetensors: what a device cannot hold is left out of what it is given", "[io]") {
  const Reader r =
      read(object({tensor("deep", "F32", "[1,1,1,1,1]", "[0,4]"), tensor("deeper", "F32", "[1,1,1,1,1,1,1]", "[4,8]"),
                   tensor("none", "F32", "[3,0]", "[8,8]"), tensor("wide", "I64", "[1]", "[8,16]")}),
           16);
  REQUIRE(r.status == Status::Ok);
  CHECK(r.file.entries().size() == 4);
  REQUIRE(r.file.host_tensors().size() == 1);
  CHECK(r.file.host_tensors()[0].name == "deep");
  Weights weights;
  Device cpu = test::open_cpu();
  CHECK(cpu.upload(r.file.host_tensors(), &weights) == Status::Ok);
}

TEST_CASE("safetensors: files on disk", "[io]") {
  const test::ScratchFolder folder;
  const auto open = [](const std::filesystem::path& path) {
    Reader r;
    r.status = SafeTensors::open(path.string(), r.log(), &r.file);
    CHECK((r.status == Status::Ok) == r.messages.empty());
    return r;
  };
  const auto write = [&](const char* name, const std::vector<std::byte>& bytes) {
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return folder / name;
  };
  CHECK(open(write("sound", file_of(kSound, kSoundBytes))).status == Status::Ok);
  CHECK(open(write("empty", {})).status == Status::InvalidFile);
  CHECK(open(folder / "absent").status == Status::NotFound);
  CHECK(open(folder.path()).status == Status::NotFound);
}

TEST_CASE("safetensors: what is no text is not written", "[io]") {
  const test::ScratchFolder folder;
  const std::string path = folder.path() + "/file.safetensors";
  const float value = 1.0f;
  const int64_t shape[] = {1};
  test::Messages messages;
  const auto write = [&](std::string_view name, std::vector<std::pair<std::string, std::string>> metadata) {
    const HostTensor tensor{name, DType::F32, shape, std::as_bytes(std::span(&value, 1))};
    return write_safetensors(path, std::span(&tensor, 1), metadata, messages.log());
  };
  CHECK(write("a\xFF", {}) == Status::InvalidArgument);
  CHECK(messages.mention("is not UTF-8"));
  CHECK(write("\xED\xA0\x80", {}) == Status::InvalidArgument);  // half of a surrogate pair
  CHECK(write("a", {{"\xC0\x80", "b"}}) == Status::InvalidArgument);
  CHECK(write("a", {{"b", "\xE2\x82"}}) == Status::InvalidArgument);
  CHECK(!std::filesystem::exists(path));
  REQUIRE(write("\xC3\xA4\t\xF0\x9F\x98\x80", {{"b", "\xEF\xBF\xBD"}}) == Status::Ok);
  const SafeTensors file = test::opened<SafeTensors>(path, stderr_log());
  CHECK(file.find("\xC3\xA4\t\xF0\x9F\x98\x80") != nullptr);
  CHECK(file.metadata("b") == "\xEF\xBF\xBD");
}
