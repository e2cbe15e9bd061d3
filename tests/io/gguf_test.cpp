// The GGUF reader with valid, damaged and hostile files.
#include "io/gguf_writer.hpp"

#include "base/half.hpp"
#include "harness/devices.hpp"
#include "harness/files.hpp"
#include "harness/setup.hpp"

#include <filesystem>
#include <fstream>
#include "harness/source_path.hpp"

namespace heed::test {
namespace {

using ValueType = Gguf::ValueType;

struct GgufRead {
  std::vector<std::byte> bytes;  // kept alive for `file`; its size is exact, so that sanitizers detect overruns
  Gguf file;
  Status status = Status::Ok;
  std::vector<std::string> messages;

  Log log() {
    const auto callback = [](void* user, LogLevel, const char* text) {
      static_cast<std::vector<std::string>*>(user)->emplace_back(text);
    };
    return {callback, &messages, LogLevel::Warning};
  }
};

GgufRead read_gguf(std::string_view text) {
  GgufRead r;
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  r.bytes.assign(bytes.begin(), bytes.end());
  r.status = Gguf::parse(r.bytes, "memory", r.log(), &r.file);
  return r;
}

std::string counted(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i);
  return bytes;
}

GgufWriter sound_gguf(uint32_t version = 3) {
  GgufWriter w;
  w.version = version;
  w.text("general.architecture", "llama").u32("b.layers", 30).f32("a.eps", 0.25f).flag("yes", true).flag("no", false);
  w.number("u8", ValueType::U8, uint8_t{200}).number("i8", ValueType::I8, int8_t{-100});
  w.number("u16", ValueType::U16, uint16_t{60000}).number("i16", ValueType::I16, int16_t{-30000});
  w.number("i32", ValueType::I32, int32_t{-2000000000}).number("u64", ValueType::U64, UINT64_MAX);
  w.number("i64", ValueType::I64, INT64_MIN).number("f64", ValueType::F64, 1e300);
  w.texts("tokens", {"<s>", "", "\xff\xfe", std::string("a\0b", 3)}).texts("none", {});
  w.numbers<float>("scores", ValueType::F32, {0.5f, -1.0f}).numbers<int32_t>("kinds", ValueType::I32, {1, -3, 6});
  w.numbers<int64_t>("wide", ValueType::I64, {INT64_MAX});
  w.tensor("t.f32", 0, {2, 3}, counted(24)).tensor("t.q4_1", 3, {2, 64}, counted(80));
  w.tensor("a.scalar", 1, {}, counted(2)).tensor("t.none", 0, {0, 5}, "").tensor("t.q2_k", 10, {1, 256}, counted(84));
  return w;
}

struct BadGguf {
  const char* what;
  std::string bytes;
  std::vector<const char*> words;  // texts that the message must contain
  Status status = Status::InvalidFile;
};

std::string with_count(std::string_view bytes, size_t at, uint64_t number) {
  std::string changed(bytes);
  std::memcpy(changed.data() + at, &number, sizeof number);
  return changed;
}

std::vector<BadGguf> bad_files() {
  const auto value = [](uint32_t type, const std::string& bytes) { return GgufWriter().raw("k", type, bytes).file(); };
  const auto u32 = [](uint32_t n) { return GgufWriter::bytes_of(n); };
  const auto u64 = [](uint64_t n) { return GgufWriter::bytes_of(n); };
  const auto tensor = [](uint32_t type, const std::vector<uint64_t>& shape, size_t bytes,
                         std::optional<uint64_t> offset = {}) {
    return GgufWriter().tensor("t", type, shape, counted(bytes), offset).file();
  };
  const auto versioned = [](uint32_t version) {
    GgufWriter w;
    w.version = version;
    return w.file();
  };
  const auto aligned = [](uint32_t alignment) { return GgufWriter().u32("general.alignment", alignment).file(); };
  const std::string empty = GgufWriter().file(), one = GgufWriter().u32("k", 1).file();
  const std::string too_long(70000, 'x');
  return {
      {"no magic", "GGML", {"'GGUF'"}},
      {"empty", "", {"'GGUF'"}},
      {"version 1", versioned(1), {"version 1"}, Status::Unsupported},
      {"version 4", versioned(4), {"version 4"}, Status::Unsupported},
      {"big-endian", versioned(0x03000000u), {"big-endian"}, Status::Unsupported},
      {"more keys than bytes", with_count(empty, 16, UINT64_MAX), {"18446744073709551615 keys", "0 bytes"}},
      {"one key too many", with_count(one, 16, 2), {"2 keys"}},
      {"more tensors than bytes", with_count(empty, 8, uint64_t{1} << 60), {"1152921504606846976 tensors"}},
      {"key without a name", GgufWriter().u32("", 1).file(), {"0 bytes", "1 to 65535"}},
      {"key too long", GgufWriter().u32(too_long, 1).file(), {"70000 bytes", "1 to 65535"}},
      {"key of 2^64 - 1 bytes", with_count(one, 24, UINT64_MAX), {"18446744073709551615 bytes"}},
      {"key twice", GgufWriter().u32("k", 1).f32("k", 1).file(), {"'k'", "twice"}},
      {"unknown type", value(13, u64(0)), {"'k'", "13"}, Status::Unsupported},
      {"bool of 2", value(7, "\2"), {"'k'", "is 2"}},
      {"text beyond the end", value(8, u64(10) + "abc"), {"'k'", "10 bytes"}},
      {"text of 2^64 - 1 bytes", value(8, u64(UINT64_MAX) + "abc"), {"'k'", "18446744073709551615"}},
      {"number cut off", value(10, "1234567"), {"'k'", "u64"}},
      {"array of arrays", value(9, u32(9) + u64(1) + u32(4) + u64(0)), {"'k'", "array of arrays"}, Status::Unsupported},
      {"array of an unknown type", value(9, u32(99) + u64(0)), {"'k'", "99"}, Status::Unsupported},
      {"array without a count", value(9, u32(4) + "123"), {"'k'", "ends"}},
      {"array of too many", value(9, u32(4) + u64(3) + u64(0)), {"'k'", "3 elements", "u32", "8 bytes"}},
      {"array whose bytes wrap", value(9, u32(10) + u64(uint64_t{1} << 61) + u64(0)), {"'k'", "2305843009213693952"}},
      {"texts of too many", value(9, u32(8) + u64(UINT64_MAX / 8) + u64(0)), {"'k'", "text"}},
      {"a text of an array too long", value(9, u32(8) + u64(2) + u64(0) + u64(9) + "abc"), {"'k'", "element 1", "9"}},
      {"a bool of an array", value(9, u32(7) + u64(2) + std::string("\1\3")), {"'k'", "element 1", "is 3"}},
      {"alignment of 0", aligned(0), {"general.alignment", "is 0"}},
      {"alignment of 48", aligned(48), {"general.alignment", "is 48"}},
      {"alignment of 2^30", aligned(1u << 30), {"general.alignment", "1073741824"}},
      {"alignment is text", GgufWriter().text("general.alignment", "32").file(), {"general.alignment", "'32'"}},
      {"tensor without a name", GgufWriter().tensor("", 0, {1}, counted(4)).file(), {"0 bytes"}},
      {"tensor twice",
       GgufWriter().tensor("t", 0, {1}, counted(4)).tensor("t", 0, {1}, counted(4)).file(),
       {"'t'", "two tensors"}},
      {"five dims", tensor(0, {1, 1, 1, 1, 1}, 4), {"'t'", "5 dims"}},
      {"unknown tensor type", tensor(4, {32}, 18), {"'t'", "type 4"}, Status::Unsupported},
      {"size of 2^63", tensor(0, {uint64_t{1} << 63}, 4), {"'t'", "63 bits"}},
      {"product that wraps", tensor(0, {uint64_t{1} << 32, uint64_t{1} << 32}, 4), {"'t'", "63 bits"}},
      {"bytes that wrap", tensor(0, {uint64_t{1} << 61, 2}, 4), {"'t'", "63 bits"}},
      {"size that wraps to 4", tensor(0, {(uint64_t{1} << 62) + 1}, 4), {"'t'", "63 bits"}},
      {"rows of part of a block", tensor(3, {2, 48}, 60), {"'t'", "48", "32", "Q4_1"}},
      {"cut off", tensor(0, {2}, 7), {"'t'", "8 bytes", "7 bytes"}},
      {"offset beyond the end", tensor(0, {2}, 8, 64), {"'t'", "64", "8 bytes"}},
      {"offset of nearly 2^64", tensor(0, {2}, 8, UINT64_MAX - 31), {"'t'", "18446744073709551584"}},
      {"offset not aligned", tensor(0, {1}, 64, 4), {"'t'", "4", "alignment 32"}},
      {"overlap",
       GgufWriter().tensor("t", 0, {10}, counted(40)).tensor("u", 0, {1}, counted(40), 32).file(),
       {"'u'", "32", "40"}},
      {"same bytes",
       GgufWriter().tensor("t", 0, {1}, counted(4)).tensor("u", 0, {1}, counted(4), 0).file(),
       {"inside a tensor that ends at 4"}},
  };
}

}  // namespace

TEST_CASE("gguf: metadata of every type", "[io][gguf]") {
  for (const uint32_t version : {2u, 3u}) {
    const GgufRead r = read_gguf(sound_gguf(version).file());
    REQUIRE(r.status == Status::Ok);
    CHECK(r.messages.empty());
    CHECK(r.file.version() == version);
    CHECK(r.file.name() == "memory");
    const Gguf& f = r.file;
    CHECK(f.fields().size() == 18);
    CHECK(f.value("general.architecture").text() == "llama");
    CHECK(f.value("b.layers").integer() == 30);
    CHECK(f.value("b.layers").number() == 30.0);
    CHECK(f.value("a.eps").number() == 0.25);
    CHECK_FALSE(f.value("a.eps").integer());
    CHECK(f.value("yes").boolean() == true);
    CHECK(f.value("no").boolean() == false);
    CHECK_FALSE(f.value("yes").integer());
    CHECK(f.value("u8").integer() == 200);
    CHECK(f.value("i8").integer() == -100);
    CHECK(f.value("u16").integer() == 60000);
    CHECK(f.value("i16").integer() == -30000);
    CHECK(f.value("i32").integer() == -2000000000);
    CHECK_FALSE(f.value("u64").integer());  // does not fit
    CHECK(f.value("u64").number() == 18446744073709551615.0);
    CHECK(f.value("u64").shown() == "18446744073709551615");
    CHECK(f.value("i64").integer() == INT64_MIN);
    CHECK(f.value("f64").number() == 1e300);
    CHECK_FALSE(f.value("absent").there());
    CHECK(f.value("absent").shown() == "absent");
    CHECK_FALSE(f.value("absent").text());
    CHECK(f.value("scores").shown() == "an array of 2 f32");
  }
}

TEST_CASE("gguf: arrays", "[io][gguf]") {
  const GgufRead r = read_gguf(sound_gguf().file());
  REQUIRE(r.status == Status::Ok);
  std::vector<std::string_view> texts;
  std::vector<int64_t> wide;
  std::vector<int32_t> narrow;
  std::vector<float> floats;
  const Gguf::Value tokens = r.file.value("tokens");
  CHECK(tokens.size() == 4);
  CHECK(tokens.element_type() == ValueType::Text);
  REQUIRE(tokens.read(&texts));
  CHECK(texts == std::vector<std::string_view>{"<s>", "", "\xff\xfe", std::string_view("a\0b", 3)});
  const auto* begin = reinterpret_cast<const std::byte*>(texts[0].data());
  CHECK((begin > r.bytes.data() && begin < r.bytes.data() + r.bytes.size()));  // mapped, not copied
  CHECK(r.file.value("none").read(&texts));
  CHECK(texts.empty());
  REQUIRE(r.file.value("kinds").read(&narrow));
  CHECK(narrow == std::vector<int32_t>{1, -3, 6});
  REQUIRE(r.file.value("kinds").read(&wide));
  CHECK(wide == std::vector<int64_t>{1, -3, 6});
  REQUIRE(r.file.value("wide").read(&wide));
  CHECK(wide == std::vector<int64_t>{INT64_MAX});
  CHECK_FALSE(r.file.value("wide").read(&narrow));  // does not fit
  CHECK(narrow.size() == 3);
  REQUIRE(r.file.value("scores").read(&floats));
  CHECK(floats == std::vector<float>{0.5f, -1.0f});
  CHECK_FALSE(r.file.value("scores").read(&wide));
  CHECK_FALSE(r.file.value("tokens").read(&floats));
  CHECK_FALSE(r.file.value("kinds").read(&texts));
  CHECK_FALSE(r.file.value("absent").read(&floats));
  CHECK_FALSE(r.file.value("b.layers").read(&wide));
}

TEST_CASE("gguf: tensors", "[io][gguf]") {
  const GgufRead r = read_gguf(sound_gguf().file());
  REQUIRE(r.status == Status::Ok);
  REQUIRE(r.file.entries().size() == 5);
  CHECK(r.file.bytes() == 24 + 80 + 2 + 84);
  const Gguf::Entry* f32 = r.file.find("t.f32");
  REQUIRE(f32 != nullptr);
  CHECK(f32->shape == std::vector<int64_t>{2, 3});
  CHECK(f32->elements() == 6);
  CHECK(f32->data.size() == 24);
  CHECK(f32->data[23] == std::byte{23});
  const Gguf::Entry* q4_1 = r.file.find("t.q4_1");
  REQUIRE(q4_1 != nullptr);
  CHECK(q4_1->data.size() == 80);
  CHECK(std::string(Gguf::type_name(q4_1->type)) == "Q4_1");
  CHECK(r.file.find("a.scalar")->elements() == 1);
  CHECK(r.file.find("t.none")->elements() == 0);
  CHECK(r.file.find("t") == nullptr);
  // A tensor of an unsupported type is listed, and left out of the tensors for a device.
  CHECK(r.file.find("t.q2_k")->data.size() == 84);
  DType dtype;
  CHECK_FALSE(Gguf::storage_type(10, &dtype));
  CHECK(Gguf::type_name(4) == nullptr);
  for (const HostTensor& tensor : r.file.host_tensors()) CHECK((tensor.name != "t.q2_k" && tensor.name != "t.none"));
  Device cpu = open_cpu({.threads = 1});
  Weights weights;
  CHECK(cpu.upload(r.file.host_tensors(), &weights) == Status::Ok);
}

TEST_CASE("gguf: a file by PyPI's gguf", "[io][gguf]") {
  Gguf f = opened<Gguf>(source_path("tests/io/witness.gguf"), stderr_log());
  CHECK(f.version() == 3);
  CHECK(f.value("witness.u8").integer() == 255);
  CHECK(f.value("witness.i8").integer() == -128);
  CHECK(f.value("witness.u16").integer() == 65535);
  CHECK(f.value("witness.i16").integer() == -32768);
  CHECK(f.value("witness.u32").integer() == 4294967295);
  CHECK(f.value("witness.i32").integer() == INT32_MIN);
  CHECK(f.value("witness.f32").number() == static_cast<double>(0.1f));
  CHECK(f.value("witness.u64").number() == 18446744073709551615.0);
  CHECK(f.value("witness.i64").integer() == INT64_MIN);
  CHECK(f.value("witness.f64").number() == 0.1);
  CHECK(f.value("witness.bool").boolean() == true);
  CHECK(f.value("witness.text").text() == "a word, na\u00efve \U0001f409");
  std::vector<std::string_view> texts;
  std::vector<int32_t> integers;
  std::vector<float> floats;
  REQUIRE(f.value("witness.texts").read(&texts));
  CHECK(texts == std::vector<std::string_view>{"<s>", "\u2581the", "na\u00efve", "\U0001f409", "line\nbreak"});
  REQUIRE(f.value("witness.integers").read(&integers));
  CHECK(integers == std::vector<int32_t>{-1, 0, INT32_MAX});
  REQUIRE(f.value("witness.floats").read(&floats));
  CHECK(floats == std::vector<float>{0.5f, -0.25f});
  CHECK(f.value("witness.bools").element_type() == ValueType::Bool);
  CHECK(f.value("witness.bools").size() == 2);
}

TEST_CASE("gguf: quantized tensors are widened at the upload as PyPI's gguf does it", "[ops][gguf]") {
  Gguf f = opened<Gguf>(source_path("tests/io/witness.gguf"), stderr_log());
  for (const ops::TestDevice& on : ops::test_devices()) {
    const Weights weights = uploaded(on.device, f.host_tensors(), {.keep_dtype = false, .dtype = DType::F32});
    const Weights halves = uploaded(on.device, f.host_tensors(), {.keep_dtype = false, .dtype = DType::BF16});
    for (const char* name : {"F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q4_K", "Q5_K", "Q6_K"}) {
      INFO(name << " on " << on.word);
      Graph g, h;
      g.output("y", g.weight(name, {2, 256}));
      h.output("y", h.weight(name, {2, 256}, DType::BF16));
      std::vector<float> values(512), wanted(512);
      std::vector<uint16_t> rounded(512);
      std::memcpy(wanted.data(), f.find(std::string(name) + ".values")->data.data(), 2048);
      REQUIRE(compiled(on.device, g, weights).run({{"y", values}}) == Status::Ok);
      CHECK(values == wanted);
      Plan plan;
      const Status status = Device(on.device).compile(h, halves, &plan);
      if (status == Status::Unsupported) {  // a device without 16-bit storage
        ops::take_messages();
        continue;
      }
      REQUIRE(status == Status::Ok);
      REQUIRE(plan.run({{"y", std::as_writable_bytes(std::span(rounded))}}) == Status::Ok);
      CHECK(std::equal(rounded.begin(), rounded.end(), wanted.begin(),
                       [](uint16_t got, float value) { return got == float_to_bfloat(value); }));
    }
  }
}

TEST_CASE("gguf: tensors lie where the file's alignment says", "[io][gguf]") {
  GgufWriter w;
  w.alignment = 4096;
  w.u32("general.alignment", 4096).tensor("a", 0, {1}, counted(4)).tensor("b", 0, {1}, "abcd");
  const GgufRead r = read_gguf(w.file());
  REQUIRE(r.status == Status::Ok);
  CHECK(r.file.find("a")->data.data() == r.bytes.data() + 4096);
  CHECK(r.file.find("b")->data.data() == r.bytes.data() + 8192);
}

TEST_CASE("gguf: hostile files are refused with one message that says why", "[io][gguf]") {
  for (const BadGguf& bad : bad_files()) {
    const GgufRead r = read_gguf(bad.bytes);
    INFO(bad.what << ": " << (r.messages.empty() ? "" : r.messages[0]));
    CHECK(r.status == bad.status);
    CHECK(r.file.entries().empty());
    CHECK(r.file.fields().empty());
    REQUIRE(r.messages.size() == 1);
    CHECK(r.messages[0].starts_with("memory: "));
    for (const char* word : bad.words) CHECK_THAT(r.messages[0], holds(word));
  }
}

TEST_CASE("gguf: every prefix of a file is refused", "[io][gguf]") {
  const std::string whole = sound_gguf().file();
  for (size_t n = 0; n < whole.size(); ++n) {
    INFO(n << " bytes");
    const GgufRead r = read_gguf(whole.substr(0, n));
    CHECK(r.status == Status::InvalidFile);
    CHECK(r.messages.size() == 1);
  }
}

TEST_CASE("gguf: any changed byte is read or refused, never a crash", "[io][gguf]") {
  const std::string whole = sound_gguf().file();
  for (size_t i = 0; i < whole.size(); ++i)
    for (const unsigned bits : {0x01u, 0x02u, 0x10u, 0x80u, 0xffu}) {
      std::string bytes = whole;
      bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ bits);
      const GgufRead r = read_gguf(bytes);
      INFO("byte " << i << " with " << bits);
      CHECK((r.status == Status::Ok || r.messages.size() == 1));
      std::vector<std::string_view> texts;
      std::vector<float> floats;
      for (const Gguf::Field& field : r.file.fields()) {
        (void)field.value.read(&texts);
        (void)field.value.read(&floats);
        CHECK_FALSE(field.value.shown().empty());
      }
    }
}

TEST_CASE("gguf: names from a file stay on one line of a message", "[io][gguf]") {
  const GgufRead r = read_gguf(GgufWriter().raw("a\n\x1b[31m" + std::string(1000, 'x'), 99, "").file());
  REQUIRE(r.messages.size() == 1);
  CHECK(r.messages[0].find_first_of("\n\x1b") == std::string::npos);
  CHECK(r.messages[0].size() < 300);
}

TEST_CASE("gguf: failure leaves the target alone, success replaces it, moves work", "[io][gguf]") {
  GgufRead r = read_gguf(sound_gguf().file());
  REQUIRE(r.status == Status::Ok);
  CHECK(Gguf::parse({}, "empty", r.log(), &r.file) == Status::InvalidFile);
  CHECK(r.file.entries().size() == 5);
  const Gguf moved = std::move(r.file);
  CHECK(moved.value("b.layers").integer() == 30);
  CHECK(r.file.entries().empty());
  CHECK(r.file.version() == 0);
  CHECK_FALSE(r.file.value("b.layers").there());
}

TEST_CASE("gguf: data that was released is read again, and other memory stays", "[io][gguf]") {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "release.gguf";
  std::string bytes = sound_gguf().file();
  std::ofstream(path, std::ios::binary) << bytes;
  Gguf mapped, parsed;
  REQUIRE(Gguf::open(path.string(), stderr_log(), &mapped) == Status::Ok);
  REQUIRE(Gguf::parse(std::as_bytes(std::span(bytes)), "bytes", stderr_log(), &parsed) == Status::Ok);
  const std::string before = bytes;
  std::vector<std::byte> own(3 << 14, std::byte{7});  // whole pages that belong to no file
  for (const Gguf* file : {&mapped, &parsed}) {
    for (const Gguf::Entry& entry : file->entries()) file->release(entry.data);
    file->release(own);
    file->release({});
  }
  CHECK(bytes == before);
  CHECK(std::ranges::count(own, std::byte{7}) == static_cast<ptrdiff_t>(own.size()));
  for (const Gguf::Entry& entry : parsed.entries())
    CHECK(std::ranges::equal(mapped.find(entry.name)->data, entry.data));
  Gguf().release(own);
}

TEST_CASE("gguf: files on disk", "[io][gguf]") {
  const ScratchFolder folder;
  const std::filesystem::path path = folder / "sound.gguf";
  const std::string bytes = sound_gguf().file();
  std::ofstream(path, std::ios::binary) << bytes;
  Gguf file;
  CHECK(Gguf::open(path.string(), stderr_log(), &file) == Status::Ok);
  CHECK(file.entries().size() == 5);
  CHECK(file.name() == path.string());
  CHECK(Gguf::open((path.string() + ".absent"), {}, &file) == Status::NotFound);
  CHECK(Gguf::open(path.parent_path().string(), {}, &file) == Status::NotFound);
  CHECK(file.entries().size() == 5);
}

}  // namespace heed::test
