// The reader of ONNX files, with damaged and hostile files.
#include "onnx/models.hpp"

#include "harness/counting.hpp"
#include "harness/files.hpp"
#include "hostile/hostile.hpp"

namespace heed::test {
namespace {

struct BadModel {
  const char* what;
  Proto model;
  std::vector<const char*> words;  // texts that the message must contain
  Status status = Status::InvalidFile;
};

const Proto kInput = value_proto("x", ElementType::F32, {});

Proto graph_of(std::initializer_list<Proto> nodes) {
  Proto graph;
  graph.message(11, kInput);
  for (const Proto& node : nodes) graph.message(1, node);
  return graph;
}
Proto nodes_of(std::initializer_list<Proto> nodes) { return model_proto(graph_of(nodes)); }
Proto attribute_of(const Proto& attribute) {
  return nodes_of({node_proto("n", "Op", {"x"}, {"y"}).message(5, attribute)});
}
Proto input_of(const Proto& value) { return model_proto(Proto().message(11, value)); }
Proto floats_of(const std::vector<int64_t>& dims, size_t bytes) {
  return model_of(tensor_proto("w", ElementType::F32, dims).text(9, std::string(bytes, 'x')));
}
Proto numbers_of(ElementType type, uint32_t field, int64_t number) {
  return model_of(tensor_proto("w", type, {1}).integer(field, number));
}
Proto function_proto(std::string_view name) { return Proto().text(1, name).text(10, "local"); }

// Parts of models: fields, and whole messages.
std::vector<BadModel> bad_messages() {
  const Proto opset = Proto().integer(2, 17), graph;
  return {
      {"empty", Proto(), {"no ONNX model", "IR version"}},
      {"no graph", Proto().integer(1, 8).message(8, opset), {"no graph"}},
      {"two graphs", model_proto(graph).message(7, graph), {"graph is given twice"}},
      {"no opset", Proto().integer(1, 8).message(7, graph), {"versions of operators"}},
      {"opset 0", Proto().integer(1, 8).message(7, graph).message(8, Proto().text(1, "d")), {"version 0", "'d'"}},
      {"two opsets", model_proto(graph).message(8, Proto().text(1, "ai.onnx").integer(2, 18)), {"versions 17 and 18"}},
      {"a group", Proto().raw("\x0b"), {"at byte 0", "no field"}},
      {"field 0", Proto().raw(std::string_view("\0\0", 2)), {"at byte 0", "no field"}},
      {"too long a number", Proto().raw("\x08").raw(std::string(11, '\xff')), {"at byte 1", "64 bits"}},
      {"behind the end", Proto().integer(1, 8).raw("\x3a\x7f"), {"at byte 3", "behind the end"}},
      {"2^63 bytes", Proto().raw("\x3a").raw(std::string(9, '\xff')).raw("\x01"), {"behind the end"}},
      {"a graph that is a number", Proto().integer(7, 1), {"field 7 is a varint", "should be bytes"}},
      {"a version that is text", Proto().text(1, "8"), {"field 1 is bytes", "should be a varint"}},
      {"a long name", model_proto(Proto().text(2, std::string(70000, 'x'))), {"70000 bytes", "65535"}},
      {"input without a name", input_of(Proto()), {"input ''", "no name"}},
      {"input of dim -2", input_of(value_proto("x", ElementType::F32, {"-2"})), {"input 'x'", "-2"}},
      {"input of type -1", input_of(Proto(kInput).message(2, Proto().message(1, Proto().integer(1, -1)))), {"type -1"}},
      {"two shapes",
       input_of(Proto(kInput).message(2, Proto().message(1, Proto().message(2, Proto()).message(2, Proto())))),
       {"input 'x'", "shape is given twice"}},
      {"function twice",
       model_proto(graph).message(25, function_proto("F")).message(25, function_proto("F")),
       {"function 'F'", "twice"}},
      {"function without a name",
       model_proto(graph).message(25, Proto().text(10, "local")),
       {"function ''", "no name"}},
      {"empty function", model_proto(graph).message(25, Proto()), {"function 0"}},
      {"function with an overload",
       model_proto(graph).message(25, function_proto("F").text(13, "2")),
       {"'F'"},
       Status::Unsupported},
  };
}

std::vector<BadModel> bad_tensors() {
  const auto tensor = [](ElementType type) { return tensor_proto("w", type, {3}); };
  const int64_t huge = int64_t{1} << 32;
  const std::vector<float> two = {1, 2};
  return {
      {"too few bytes", floats_of({3}, 11), {"tensor 'w'", "11 bytes", "[3] of float takes 12"}},
      {"too many bytes", floats_of({3}, 16), {"tensor 'w'", "16 bytes"}},
      {"too few values", model_of(tensor(ElementType::F32).packed(4, two)), {"tensor 'w'", "2 values", "takes 3"}},
      {"no values", model_of(tensor(ElementType::I64)), {"tensor 'w'", "0 values", "[3] of int64"}},
      {"too few strings", model_of(tensor(ElementType::String).text(6, "a")), {"tensor 'w'", "1 values"}},
      {"strings that are raw", model_of(tensor(ElementType::String).text(9, "abc")), {"raw_data", "string_data"}},
      {"values in two fields",
       model_of(tensor(ElementType::F32).text(9, "x").packed(4, two)),
       {"'w'", "raw_data", "float_data"}},
      {"values in another field",
       model_of(tensor(ElementType::F32).integers(5, {1, 2, 3})),
       {"'w'", "int32_data", "float_data"}},
      {"packed floats of 5 bytes", model_of(tensor(ElementType::F32).text(4, "abcde")), {"'w'", "5 bytes"}},
      {"floats of 64 bits", model_of(tensor(ElementType::F32).number(4, 1.0)), {"'w'", "field 4 is 64 bits"}},
      {"packed number without an end", model_of(tensor(ElementType::I64).text(7, "\x80")), {"'w'", "behind the end"}},
      {"packed number of 77 bits",
       model_of(tensor(ElementType::I64).text(7, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f\1\1")),
       {"'w'", "64 bits"}},
      {"negative dim", floats_of({-1}, 4), {"'w'", "dim of -1"}},
      {"product that wraps", floats_of({huge, huge}, 0), {"'w'", "63 bits"}},
      {"bytes that wrap", floats_of({huge, huge / 4}, 0), {"'w'", "63 bits"}},
      {"bytes that wrap to 4", floats_of({(int64_t{1} << 62) + 1}, 4), {"'w'", "63 bits"}},
      {"nearly 2^63 bytes", floats_of({(int64_t{1} << 61) - 1}, 4), {"'w'", "9223372036854775804"}},
      {"65 dims", floats_of(std::vector<int64_t>(65, 1), 4), {"'w'", "64 dims"}},
      {"no type", model_of(tensor_proto("w", ElementType::Undefined, {1}).text(9, "abcd")), {"'w'", "no type"}},
      {"type -1", model_of(Proto().text(8, "w").integer(2, -1)), {"'w'", "type -1"}},
      {"segment", model_of(tensor(ElementType::F32).message(3, Proto())), {"'w'", "segment"}, Status::Unsupported},
      {"no name", model_of(tensor_proto("", ElementType::F32, {}).text(9, "abcd")), {"initializer 0", "no name"}},
      {"u8 of 256", numbers_of(ElementType::U8, 5, 256), {"'w'", "256", "uint8"}},
      {"u8 of -1", numbers_of(ElementType::U8, 5, -1), {"'w'", "-1", "uint8"}},
      {"i8 of 128", numbers_of(ElementType::I8, 5, 128), {"'w'", "128", "int8"}},
      {"f16 of 65536", numbers_of(ElementType::F16, 5, 65536), {"'w'", "65536", "float16"}},
      {"u32 of 2^32", numbers_of(ElementType::U32, 11, huge), {"'w'", "4294967296", "uint32"}},
      {"bool of 2", numbers_of(ElementType::Bool, 5, 2), {"'w'", "2", "bool"}},
      {"raw bool of 2", model_of(tensor(ElementType::Bool).text(9, "\1\1\2")), {"'w'", "element 2 is 2"}},
      {"sparse with a negative dim",
       model_proto(Proto().message(15, Proto().message(1, Proto().text(8, "s")).integer(3, -3))),
       {"tensor 's'", "-3"}},
      {"sparse without a name", model_proto(Proto().message(15, Proto())), {"a tensor without a name", "sparse"}},
  };
}

std::vector<BadModel> bad_nodes() {
  const Proto y = node_proto("n", "Op", {"x"}, {"y"});
  const auto reads = [](std::string_view name, std::string_view input, std::string_view output) {
    return node_proto(name, "Op", {input}, {output});
  };
  const Proto w = tensor_proto("x", ElementType::F32, {}).text(9, "abcd");
  const Proto later = attribute_proto("then", 5).message(6, Proto().message(1, reads("in", "late", "z")));
  return {
      {"no type", nodes_of({Proto().text(3, "n")}), {"node 'n' ()", "no type"}},
      {"empty node", nodes_of({y, Proto()}), {"node 1 lacks"}},
      {"input of nothing", nodes_of({reads("n", "absent", "y")}), {"node 'n' (Op)", "'absent'", "by nothing"}},
      {"nameless node", nodes_of({y, reads("", "absent", "z")}), {"node 1 (Op)", "'absent'"}},
      {"not in order",
       nodes_of({reads("a", "t", "u"), reads("b", "x", "t")}),
       {"node 'a' (Op)", "'t'", "node 'b' (Op)", "later"}},
      {"cycle", nodes_of({reads("a", "t", "u"), reads("b", "u", "t")}), {"node 'a'", "'t'", "node 'b'"}},
      {"a cycle of one", nodes_of({reads("a", "t", "t")}), {"node 'a'", "need itself"}},
      {"output twice", nodes_of({y, reads("m", "x", "y")}), {"'y'", "node 'n' (Op)", "node 'm' (Op)"}},
      {"output twice in a node", nodes_of({node_proto("n", "Op", {}, {"y", "y"})}), {"'y'", "twice"}},
      {"output that is an input", nodes_of({reads("n", "", "x")}), {"'x'", "an input", "node 'n'"}},
      {"initializer twice",
       model_proto(Proto().message(5, w).message(5, w)),
       {"'x'", "an initializer and by an initializer"}},
      {"input twice",
       model_proto(Proto().message(11, kInput).message(11, kInput)),
       {"'x'", "an input and by an input"}},
      {"output of nothing", model_proto(Proto().message(12, kInput)), {"output 'x'", "nothing"}},
      {"made later around",
       nodes_of({Proto(y).message(5, later), reads("l", "x", "late")}),
       {"node 'n' (Op)", "attribute 'then'", "node 'in' (Op)", "'late'", "later"}},
      {"attribute twice",
       nodes_of({Proto(y).message(5, attribute_proto("a", 2)).message(5, attribute_proto("a", 1))}),
       {"node 'n'", "attribute 'a'", "twice"}},
      {"empty attribute", attribute_of(Proto()), {"node 'n'", "attribute 0"}},
      {"attribute without a name", attribute_of(Proto().integer(20, 2).integer(3, 1000)), {"attribute ''", "no name"}},
      {"attribute without a type", attribute_of(Proto().text(1, "a").integer(3, 1000)), {"attribute 'a'", "no type"}},
      {"attribute without a tensor", attribute_of(attribute_proto("a", 4)), {"attribute 'a'", "no value"}},
      {"two tensors",
       attribute_of(attribute_proto("a", 4).message(5, w).message(5, w)),
       {"attribute 'a'", "given twice"}},
      {"tensor in an attribute",
       attribute_of(attribute_proto("a", 4).message(5, tensor_proto("", ElementType::F32, {2}))),
       {"node 'n' (Op)", "attribute 'a'", "a tensor without a name", "[2]"}},
      {"int that is text", attribute_of(attribute_proto("a", 2).text(3, "1")), {"attribute 'a'", "field 3 is bytes"}},
      {"reference outside of functions",
       attribute_of(Proto().text(1, "a").text(21, "b").integer(20, 2)),
       {"'b'", "in no function"}},
      {"reference to nothing",
       model_proto(Proto()).message(
           25, function_proto("F").message(
                   7, node_proto("n", "Op", {}, {}).message(5, Proto().text(1, "a").text(21, "b").integer(20, 2)))),
       {"function 'F'", "node 'n' (Op)", "attribute 'a'", "'b'"}},
      {"input of a function",
       model_proto(graph_of({})).message(25, function_proto("F").message(7, reads("n", "x", "y"))),
       {"function 'F'", "'x'", "by nothing"}},
  };
}

std::vector<BadModel> bad_places() {
  const auto at = [](std::string_view location) { return model_of(elsewhere_proto(location, "", "")); };
  const auto part = [](std::string_view offset, std::string_view length) {
    return model_of(elsewhere_proto("w.bin", offset, length));
  };
  return {
      {"missing", at("absent.bin"), {"tensor 'w'", "absent.bin", "cannot be read"}, Status::NotFound},
      {"a folder", at("folder"), {"tensor 'w'", "folder"}, Status::NotFound},
      {"absolute", at("/etc/passwd"), {"tensor 'w'", "'/etc/passwd'", "absolute"}},
      {"above", at("../w.bin"), {"tensor 'w'", "'../w.bin'", "out of"}},
      {"above after all", at("folder/../../w.bin"), {"out of"}},
      {"the folder itself", at("folder/.."), {"no file"}},
      {"empty", at(""), {"no file"}},
      {"a zero in it", at(std::string_view("w.bin\0", 6)), {"no path"}},
      {"no location", model_of(tensor_proto("w", ElementType::F32, {3}).integer(14, 1)), {"does not name"}},
      {"too short", part("4", ""), {"12 bytes from 4 on", "'w.bin' has 12"}},
      {"behind the end", part("18446744073709551615", ""), {"from 18446744073709551615 on"}},
      {"another length", part("", "11"), {"11 bytes", "12"}},
      {"offset of -1", part("-1", ""), {"offset '-1'"}},
      {"offset of 2^64", part("18446744073709551616", ""), {"offset '18446744073709551616'"}},
      {"offset in words", part("0x0", ""), {"offset '0x0'"}},
      {"length of nothing",
       model_of(elsewhere_proto("w.bin", "0", "").message(13, pair_proto("length", ""))),
       {"length ''"}},
      {"values here, too",
       model_of(elsewhere_proto("w.bin", "", "").text(9, "abcdefghijkl")),
       {"raw_data", "external_data"}},
  };
}

void check_refused(const BadModel& bad, std::string_view folder = "") {
  const ModelRead r = read_onnx(bad.model, folder);
  INFO(bad.what << ": " << (r.messages.empty() ? "" : r.messages[0]));
  CHECK(r.status == bad.status);
  CHECK(r.model.opsets.empty());
  REQUIRE(r.messages.size() == 1);
  CHECK(r.messages[0].starts_with("memory: "));
  for (const char* word : bad.words) CHECK_THAT(r.messages[0], holds(word));
}

// A small model with every kind of part.
std::string sound_model() {
  const Proto inner = Proto().message(1, node_proto("in", "Neg", {"x"}, {"z"})).message(12, Proto().text(1, "z"));
  Proto node = node_proto("n", "Op", {"x", "", "w"}, {"y"});
  node.message(5, attribute_proto("f", 1).number(2, 0.25f))
      .message(5, attribute_proto("is", 7).packed(8, std::vector<int64_t>{1, -1}));
  node.message(5, attribute_proto("g", 5).message(6, inner)).message(5, attribute_proto("ss", 8).texts(9, {"a", "bc"}));
  node.message(5, attribute_proto("t", 4).message(
                      5, tensor_proto("", ElementType::I64, {2}).packed(7, std::vector<int64_t>{3, -4})));
  Proto graph;
  graph.text(2, "graph").message(11, value_proto("x", ElementType::F32, {"batch", "3"})).message(1, node);
  graph.message(5, tensor_proto("w", ElementType::F32, {3}).text(9, "0123456789ab"));
  graph.message(5, tensor_proto("v", ElementType::Bool, {2}).integers(5, {0, 1}));
  graph.message(5, elsewhere_proto("w.bin", "0", "12").text(8, "u"));
  graph.message(12, value_proto("y", ElementType::F32, {"batch"}));
  const Proto function = function_proto("F").texts(4, {"a"}).texts(5, {"b"}).text(6, "p").message(
      7, node_proto("m", "Op", {"a"}, {"b"}).message(5, Proto().text(1, "q").text(21, "p").integer(20, 1)));
  return model_proto(graph).message(25, function).bytes();
}

}  // namespace

TEST_CASE("onnx file: bad models are refused with one message that says where and why", "[onnx]") {
  for (const std::vector<BadModel>& list : {bad_messages(), bad_tensors(), bad_nodes()})
    for (const BadModel& bad : list) check_refused(bad);
}

TEST_CASE("onnx file: values are read in the model's folder alone", "[onnx]") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "model");
  std::filesystem::create_directory(folder / "model/folder");
  folder.write("w.bin", "abcdefghijkl");
  folder.write("model/w.bin", "abcdefghijkl");
  for (const BadModel& bad : bad_places()) check_refused(bad, (folder / "model").string());
  check_refused(
      {"no folder", model_of(elsewhere_proto("w.bin", "", "")), {"'w.bin'", "without a folder"}, Status::NotFound});
}

TEST_CASE("onnx file: every prefix of a model is refused, or is one with less in it", "[onnx]") {
  const ScratchFolder folder;
  folder.write("w.bin", "abcdefghijkl");
  const std::string whole = sound_model();
  const ModelRead sound = read_onnx(whole, folder.path());
  INFO((sound.messages.empty() ? "" : sound.messages[0]));
  REQUIRE(sound.status == Status::Ok);
  for (size_t n = 0; n < whole.size(); ++n) {
    INFO(n << " bytes");
    const ModelRead r = read_onnx(whole.substr(0, n), folder.path());
    // Another such model, without its function.
    if (r.status == Status::Ok) CHECK(r.model.functions.empty());
    CHECK(r.messages.size() == (r.status == Status::Ok ? 0 : 1));
  }
}

TEST_CASE("onnx file: names from a file stay on one line of a message", "[onnx]") {
  const std::string name = "a\n\x1b[31m" + std::string(1000, 'x');
  const ModelRead r = read_onnx(nodes_of({node_proto(name, name, {name}, {})}));
  REQUIRE(r.messages.size() == 1);
  CHECK(r.messages[0].find_first_of("\n\x1b") == std::string::npos);
  CHECK(r.messages[0].size() < 600);
}

TEST_CASE("onnx file: deep nesting of what is not read is no depth", "[onnx]") {
  Proto type = Proto().integer(1, 1);
  for (int i = 0; i < 10000; ++i) type = Proto().message(1, type);
  CHECK(read_onnx(input_of(Proto().text(1, "x").message(2, Proto().message(4, type)))).status == Status::Ok);
  Proto graph = Proto().message(12, Proto().text(1, "x"));
  for (int i = 0; i < 2000; ++i)
    graph = Proto().message(1, node_proto("", "If", {}, {}).message(5, attribute_proto("then", 5).message(6, graph)));
  const ModelRead r = read_onnx(model_proto(graph));
  CHECK(r.status == Status::InvalidFile);
  REQUIRE(r.messages.size() == 1);
  CHECK_THAT(r.messages[0], holds("more than 8 levels"));
}

TEST_CASE("onnx file: memory is at most what the file's size allows", "[onnx]") {
  const auto many = [](uint32_t field, const Proto& one) {
    Proto all;
    for (int i = 0; i < 5000; ++i) all.message(field, one);
    return all;
  };
  const Proto attribute = attribute_proto("a", 1), node = Proto().text(4, "a"), empty;
  const Proto shape = Proto().message(2, many(1, empty));
  const Proto strings = attribute_proto("a", 8).raw(many(9, empty).bytes());
  const Proto graphs = attribute_proto("a", 5).message(6, empty);
  const std::string ones(5000, '\1');
  const Proto varints = tensor_proto("w", ElementType::I64, {5000}).text(7, ones);
  for (const Proto& model : {model_proto(many(1, node)), model_proto(many(1, empty)), model_proto(many(5, empty)),
                             model_proto(many(15, empty)), model_proto(many(11, empty)),
                             model_proto(Proto().message(1, Proto(node).raw(many(5, attribute).bytes()))),
                             model_proto(Proto().message(1, Proto(node).raw(many(1, empty).bytes()))),
                             model_proto(many(1, Proto(node).message(5, graphs))), attribute_of(strings),
                             attribute_of(attribute_proto("a", 7).text(8, ones)), model_of(varints),
                             input_of(Proto().text(1, "x").message(2, Proto().message(1, shape))),
                             model_proto(empty).raw(many(8, empty).bytes()),
                             model_proto(empty).raw(many(25, Proto().text(1, "F")).bytes())}) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(model.bytes()));
    INFO(bytes.size() << " bytes");
    onnx::ModelFile read;
    Status status = Status::Ok;
    {
      const LimitNews limit(64 * bytes.size());
      status = onnx::read_model(bytes, "memory", "", no_log(), &read);
    }
    CHECK(status != Status::OutOfMemory);
  }
}

TEST_CASE("onnx file: memory that is not there is a status", "[onnx]") {
  const std::string model = sound_model();
  onnx::ModelFile read;
  Status status = Status::Ok;
  {
    const LimitNews limit(200);
    status = onnx::read_model(std::as_bytes(std::span(model)), "memory", "", no_log(), &read);
  }
  CHECK(status == Status::OutOfMemory);
}

TEST_CASE("hostile: changed ONNX models", "[hostile][onnx]") {
  const ScratchFolder folder;
  folder.write("w.bin", "abcdefghijkl");
  const std::string whole = sound_model();
  int64_t taken = 0;
  const int64_t cases = hostile_cases("ONNX models", 4000, [&](ops::Random& r) {
    std::string bytes = whole;
    for (int64_t edits = 1 + r.below(3); edits > 0; --edits) {
      const size_t at = static_cast<size_t>(r.below(static_cast<int64_t>(bytes.size())));
      switch (r.below(5)) {
        case 0: bytes[at] = static_cast<char>(r.next()); break;
        case 1: bytes[at] = static_cast<char>(r.pick({0, 1, 2, 0x7f, 0x80, 0xff})); break;
        case 2: bytes.insert(at, std::string(static_cast<size_t>(1 + r.below(12)), '\xff')); break;
        case 3: bytes.erase(at, static_cast<size_t>(1 + r.below(8))); break;
        default: bytes[at] = static_cast<char>(bytes[at] ^ (1 << r.below(8)));
      }
      if (bytes.empty()) bytes = whole;
    }
    const ModelRead read = read_onnx(bytes, folder.path());
    CHECK(read.messages.size() == (read.status == Status::Ok ? 0 : 1));
    if (read.status != Status::Ok) return;
    ++taken;
    for (const onnx::FileTensor& tensor : read.model.graph.initializers)
      if (const size_t width = onnx::bytes_of_element(tensor.type); width != 0)
        CHECK(tensor.data.size() == static_cast<size_t>(tensor.elements()) * width);
  });
  tell_sound(taken, cases);
}

}  // namespace heed::test
