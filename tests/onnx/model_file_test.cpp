// The reader of ONNX files, with valid files: every encoding of values, and every part of a model.
#include "onnx/models.hpp"

#include "harness/files.hpp"
#include "harness/setup.hpp"
#include "harness/source_path.hpp"

namespace heed::test {
namespace {

using onnx::FileAttribute;
using onnx::FileTensor;
using Kind = FileAttribute::Kind;

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}
std::string text_of(std::span<const std::byte> data) {
  return {reinterpret_cast<const char*>(data.data()), data.size()};
}

const FileTensor& first_tensor(const ModelRead& r) {
  INFO((r.messages.empty() ? "" : r.messages[0]));
  REQUIRE(r.status == Status::Ok);
  REQUIRE(r.model.graph.initializers.size() == 1);
  return r.model.graph.initializers[0];
}

// Whether values are inside the file.
bool is_in_file(const ModelRead& r, const FileTensor& tensor) {
  const std::less_equal<const std::byte*> not_behind;
  return not_behind(r.bytes.data(), tensor.data.data()) &&
         not_behind(tensor.data.data() + tensor.data.size(), r.bytes.data() + r.bytes.size());
}

// Three values of a type: the bytes in the field for its numbers, and the expected result.
struct Encoding {
  ElementType type;
  uint32_t field;
  std::vector<int64_t> written;
  std::string bytes;
};

const std::vector<Encoding>& encodings() {
  static const std::vector<Encoding> list = {
      {ElementType::Bool, 5, {1, 0, 1}, bytes_of<uint8_t>({1, 0, 1})},
      {ElementType::U8, 5, {0, 7, 255}, bytes_of<uint8_t>({0, 7, 255})},
      {ElementType::I8, 5, {-128, -1, 127}, bytes_of<int8_t>({-128, -1, 127})},
      {ElementType::U16, 5, {0, 300, 65535}, bytes_of<uint16_t>({0, 300, 65535})},
      {ElementType::I16, 5, {-32768, 300, 32767}, bytes_of<int16_t>({-32768, 300, 32767})},
      {ElementType::I32, 5, {INT32_MIN, -1, INT32_MAX}, bytes_of<int32_t>({INT32_MIN, -1, INT32_MAX})},
      {ElementType::F16, 5, {0x3C00, 0x8000, 0xFFFF}, bytes_of<uint16_t>({0x3C00, 0x8000, 0xFFFF})},
      {ElementType::BF16, 5, {0x3F80, 0, 0xFF80}, bytes_of<uint16_t>({0x3F80, 0, 0xFF80})},
      {ElementType::I64, 7, {INT64_MIN, -1, INT64_MAX}, bytes_of<int64_t>({INT64_MIN, -1, INT64_MAX})},
      {ElementType::U32, 11, {0, 300, UINT32_MAX}, bytes_of<uint32_t>({0, 300, UINT32_MAX})},
      {ElementType::U64, 11, {0, 300, -1}, bytes_of<uint64_t>({0, 300, UINT64_MAX})},
  };
  return list;
}

}  // namespace

TEST_CASE("onnx file: whole numbers of every type, raw, packed and one by one", "[onnx]") {
  for (const Encoding& e : encodings()) {
    INFO(onnx::to_string(e.type));
    const Proto tensor = tensor_proto("w", e.type, {3, 1});
    Proto pieces = tensor;
    pieces.packed(e.field, std::vector<int64_t>{e.written[0]}).text(e.field, "").integer(e.field, e.written[1]);
    pieces.packed(e.field, std::vector<int64_t>{e.written[2]});
    for (const Proto& full : {Proto(tensor).text(9, e.bytes), Proto(tensor).packed(e.field, e.written),
                              Proto(tensor).integers(e.field, e.written), pieces}) {
      const ModelRead r = read_onnx(model_of(full));
      const FileTensor& read = first_tensor(r);
      CHECK(read.name == "w");
      CHECK(read.type == e.type);
      CHECK(read.dims == std::vector<int64_t>{3, 1});
      CHECK(read.elements() == 3);
      CHECK(text_of(read.data) == e.bytes);
      CHECK(is_in_file(r, read) == (read.keeps == nullptr));
    }
  }
}

TEST_CASE("onnx file: an int32 of five bytes is the negative one that it is to protobuf", "[onnx]") {
  const Proto tensor = tensor_proto("w", ElementType::I8, {1}).integer(5, 0xFFFFFFFF);
  CHECK(text_of(first_tensor(read_onnx(model_of(tensor))).data) == "\xFF");
}

TEST_CASE("onnx file: floats that lie together stay where they are", "[onnx]") {
  const std::vector<float> f32 = {1.5f, -0.0f, 3e38f};
  const std::vector<double> f64 = {1.5, -0.0, 1e300};
  const Proto single = tensor_proto("w", ElementType::F32, {3}), wide = tensor_proto("w", ElementType::F64, {3});
  for (const bool is_packed : {true, false}) {
    const ModelRead a = read_onnx(model_of(is_packed ? Proto(single).packed(4, f32) : Proto(single).numbers(4, f32)));
    CHECK(text_of(first_tensor(a).data) == bytes_of(f32));
    CHECK(is_in_file(a, first_tensor(a)) == is_packed);
    const ModelRead b = read_onnx(model_of(is_packed ? Proto(wide).packed(10, f64) : Proto(wide).numbers(10, f64)));
    CHECK(text_of(first_tensor(b).data) == bytes_of(f64));
    CHECK(is_in_file(b, first_tensor(b)) == is_packed);
  }
  const ModelRead raw = read_onnx(model_of(Proto(single).text(9, bytes_of(f32))));
  CHECK(is_in_file(raw, first_tensor(raw)));
}

TEST_CASE("onnx file: scalars, tensors without elements, packed dims", "[onnx]") {
  CHECK(first_tensor(read_onnx(model_of(tensor_proto("w", ElementType::F32, {}).text(9, "abcd")))).elements() == 1);
  const int64_t huge = int64_t{1} << 62;
  const ModelRead none = read_onnx(model_of(tensor_proto("w", ElementType::F32, {huge, 0, huge})));
  CHECK(first_tensor(none).elements() == 0);
  CHECK(first_tensor(none).data.empty());
  Proto packed;
  packed.packed(1, std::vector<int64_t>{2, 2}).integer(2, 2).text(8, "w").text(9, "abcd");
  CHECK(first_tensor(read_onnx(model_of(packed))).dims == std::vector<int64_t>{2, 2});
}

TEST_CASE("onnx file: strings, sparse tensors and types without a size have no data", "[onnx]") {
  const ModelRead texts = read_onnx(model_of(tensor_proto("w", ElementType::String, {2}).texts(6, {"a", ""})));
  CHECK(first_tensor(texts).type == ElementType::String);
  CHECK(first_tensor(texts).data.empty());
  const ModelRead small = read_onnx(model_of(tensor_proto("w", static_cast<ElementType>(17), {2}).text(9, "ab")));
  CHECK(first_tensor(small).data.empty());
  CHECK(std::string(onnx::to_string(first_tensor(small).type)) == "float8e4m3fn");
  CHECK(std::string(onnx::to_string(static_cast<ElementType>(99))) == "a type 99");
  const Proto values = tensor_proto("w", ElementType::F32, {1}).text(9, "abcd");
  const Proto sparse = Proto().message(1, values).integers(3, {5, 7});
  const ModelRead r = read_onnx(model_proto(Proto().message(15, sparse)));
  CHECK(first_tensor(r).name == "w");
  CHECK(first_tensor(r).type == ElementType::Undefined);
  CHECK(first_tensor(r).dims == std::vector<int64_t>{5, 7});
}

TEST_CASE("onnx file: values in files beside the model", "[onnx]") {
  const ScratchFolder folder;
  std::filesystem::create_directory(folder / "deep");
  folder.write("weights.bin", "0123456789abcdefghij");
  folder.write("deep/other", "ABCDEFGHIJKL");
  Proto graph;
  graph.message(5, elsewhere_proto("weights.bin", "4", "12").text(8, "a"));
  graph.message(5, elsewhere_proto("./deep/../weights.bin", "8", "").text(8, "b"));
  graph.message(5, elsewhere_proto("deep//other", "", "").text(8, "c"));
  graph.message(5, elsewhere_proto("not there", "", "", {0}).text(8, "d"));
  const ModelRead r = read_onnx(model_proto(graph), folder.path());
  INFO((r.messages.empty() ? "" : r.messages[0]));
  REQUIRE(r.status == Status::Ok);
  const std::vector<FileTensor>& tensors = r.model.graph.initializers;
  CHECK(text_of(tensors[0].data) == "456789abcdef");
  CHECK(text_of(tensors[1].data) == "89abcdefghij");
  CHECK(text_of(tensors[2].data) == "ABCDEFGHIJKL");
  CHECK(tensors[3].data.empty());
  CHECK(tensors[0].keeps == tensors[1].keeps);  // one mapping for each path
  // The mapping lives as long as a tensor uses it.
  FileTensor kept;
  {
    const ModelRead once = read_onnx(model_of(elsewhere_proto("weights.bin", "4", "12")), folder.path());
    kept = first_tensor(once);
  }
  CHECK(text_of(kept.data) == "456789abcdef");
}

TEST_CASE("onnx file: inputs and outputs", "[onnx]") {
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {"batch", "3", "-1", "0"}));
  graph.message(11, value_proto("scalar", ElementType::I64, {}));
  graph.message(11, Proto().text(1, "shapeless").message(2, Proto().message(1, Proto().integer(1, 10))));
  graph.message(11, Proto().text(1, "sequence").message(2, Proto().message(4, Proto().text(9, "x"))));
  graph.message(11, Proto().text(1, "untyped"));
  graph.message(5, tensor_proto("x", ElementType::F32, {}).text(9, "abcd"));  // a default
  graph.message(12, Proto().text(1, "x"));
  const ModelRead r = read_onnx(model_proto(graph));
  INFO((r.messages.empty() ? "" : r.messages[0]));
  REQUIRE(r.status == Status::Ok);
  const std::vector<onnx::FileValue>& inputs = r.model.graph.inputs;
  REQUIRE(inputs.size() == 5);
  CHECK(inputs[0].type == ElementType::F32);
  REQUIRE(inputs[0].dims.size() == 4);
  CHECK((inputs[0].dims[0].symbol == "batch" && inputs[0].dims[0].size == -1));
  CHECK((inputs[0].dims[1].symbol.empty() && inputs[0].dims[1].size == 3));
  CHECK(inputs[0].dims[2].size == -1);
  CHECK(inputs[0].dims[3].size == 0);
  CHECK((inputs[1].has_shape && inputs[1].dims.empty()));
  CHECK((!inputs[2].has_shape && inputs[2].type == ElementType::F16));
  CHECK((!inputs[3].has_shape && inputs[3].type == ElementType::Undefined));
  CHECK(inputs[4].type == ElementType::Undefined);
  CHECK(r.model.graph.outputs[0].name == "x");
}

TEST_CASE("onnx file: nodes and attributes of every kind", "[onnx]") {
  const Proto inner =
      Proto().text(2, "inner").message(1, node_proto("in", "Neg", {"x"}, {"z"})).message(12, Proto().text(1, "z"));
  Proto node = node_proto("n", "Op", {"x", "", "x"}, {"y", "", "y2"});
  node.text(7, "some.domain");
  node.message(5, attribute_proto("f", 1).number(2, 0.25f)).message(5, attribute_proto("i", 2).integer(3, -5));
  node.message(5, attribute_proto("s", 3).text(4, std::string_view("a\0b", 3)));
  node.message(5, attribute_proto("t", 4).message(5, tensor_proto("", ElementType::U8, {1}).text(9, "x")));
  node.message(5, attribute_proto("g", 5).message(6, inner));
  node.message(5, attribute_proto("fs", 6).packed(7, std::vector<float>{1, 2}).number(7, 3.0f));
  node.message(5, attribute_proto("is", 7).integer(8, -1).packed(8, std::vector<int64_t>{INT64_MAX}));
  node.message(5, attribute_proto("ss", 8).texts(9, {"a", ""}));
  node.message(5, attribute_proto("none", 7))
      .message(5, attribute_proto("type", 13).message(14, Proto().integer(2, 1)));
  node.text(6, "documentation");
  Proto graph;
  graph.message(11, value_proto("x", ElementType::F32, {})).message(1, node);
  graph.message(1, node_proto("", "Id", {"y2"}, {"out"}).text(7, "ai.onnx"));
  graph.message(12, value_proto("out", ElementType::F32, {}));
  const ModelRead r = read_onnx(model_proto(graph));
  INFO((r.messages.empty() ? "" : r.messages[0]));
  REQUIRE(r.status == Status::Ok);
  CHECK(r.model.producer == "heed");
  REQUIRE(r.model.opsets.size() == 1);
  CHECK((r.model.opsets[0].domain.empty() && r.model.opsets[0].version == 17));
  REQUIRE(r.model.graph.nodes.size() == 2);
  CHECK(r.model.graph.nodes[1].domain.empty());
  const onnx::FileNode& read = r.model.graph.nodes[0];
  CHECK((read.name == "n" && read.op == "Op" && read.domain == "some.domain"));
  CHECK(read.inputs == std::vector<std::string>{"x", "", "x"});
  CHECK(read.outputs == std::vector<std::string>{"y", "", "y2"});
  REQUIRE(read.attributes.size() == 10);
  CHECK((read.find("f")->kind == Kind::Float && read.find("f")->number == 0.25f));
  CHECK((read.find("i")->kind == Kind::Int && read.find("i")->integer == -5));
  CHECK((read.find("s")->kind == Kind::String && read.find("s")->text == std::string("a\0b", 3)));
  CHECK((read.find("t")->kind == Kind::Tensor && text_of(read.find("t")->tensor.data) == "x"));
  REQUIRE(read.find("g")->graph != nullptr);
  CHECK(read.find("g")->graph->nodes[0].op == "Neg");
  CHECK(read.find("fs")->numbers == std::vector<float>{1, 2, 3});
  CHECK(read.find("is")->integers == std::vector<int64_t>{-1, INT64_MAX});
  CHECK(read.find("ss")->texts == std::vector<std::string>{"a", ""});
  CHECK((read.find("none")->kind == Kind::Ints && read.find("none")->integers.empty()));
  CHECK(read.find("type")->kind == Kind::Other);
  CHECK(read.find("absent") == nullptr);
}

TEST_CASE("onnx file: functions, and graphs that read values around them", "[onnx]") {
  Proto function;
  function.text(1, "F").text(10, "local").texts(4, {"a"}).texts(5, {"b"}).text(6, "alpha");
  function.message(11, attribute_proto("beta", 1).number(2, 2.0f)).message(9, Proto().integer(2, 18));
  function.message(7, node_proto("", "Op", {"a"}, {"b"})
                          .message(5, Proto().text(1, "p").text(21, "alpha").integer(20, 1))
                          .message(5, Proto().text(1, "q").text(21, "beta").integer(20, 5)));
  Proto graph;
  for (const char* name : {"x", "y"}) graph.message(11, value_proto(name, ElementType::F32, {}));
  // Eight nested graphs, of which the innermost reads an input of the outermost.
  Proto inner =
      Proto().message(1, node_proto("deepest", "Add", {"x", "m0"}, {"o8"})).message(12, Proto().text(1, "o8"));
  for (int level = 7; level >= 1; --level) {
    const std::string made = "m" + std::to_string(level), out = "o" + std::to_string(level);
    inner =
        Proto()
            .message(1, node_proto("", "Id", {"y"}, {made}))
            .message(1, node_proto("", "If", {made}, {out}).message(5, attribute_proto("then", 5).message(6, inner)))
            .message(12, Proto().text(1, out));
  }
  graph.message(1, node_proto("", "Id", {"x"}, {"m0"}));
  graph.message(1, node_proto("", "If", {"y"}, {"z"}).message(5, attribute_proto("then", 5).message(6, inner)));
  const ModelRead r = read_onnx(model_proto(graph).message(25, function));
  INFO((r.messages.empty() ? "" : r.messages[0]));
  REQUIRE(r.status == Status::Ok);
  REQUIRE(r.model.functions.size() == 1);
  const onnx::FileFunction& read = r.model.functions[0];
  CHECK((read.name == "F" && read.domain == "local" && read.opsets[0].version == 18));
  CHECK((read.inputs[0] == "a" && read.outputs[0] == "b" && read.attributes[0] == "alpha"));
  CHECK((read.defaults[0].name == "beta" && read.defaults[0].number == 2.0f));
  CHECK(read.nodes[0].find("p")->reference == "alpha");
  // One more level is too deep.
  Proto deeper =
      Proto().message(1, node_proto("", "If", {"y"}, {"z"}).message(5, attribute_proto("then", 5).message(6, inner)));
  Proto outer;
  outer.message(11, value_proto("y", ElementType::F32, {}));
  outer.message(1,
                node_proto("outermost", "If", {"y"}, {"z2"}).message(5, attribute_proto("then", 5).message(6, deeper)));
  const ModelRead refused = read_onnx(model_proto(outer));
  CHECK(refused.status == Status::InvalidFile);
  REQUIRE(refused.messages.size() == 1);
  CHECK_THAT(refused.messages[0], holds("more than 8 levels"));
  CHECK_THAT(refused.messages[0], holds("node 'outermost' (If)"));
}

TEST_CASE("onnx file: a file by PyPI's onnx", "[onnx]") {
  const ModelRead r = read_onnx(read_file(source_path("tests/onnx/witness.onnx")));
  INFO((r.messages.empty() ? "" : r.messages[0]));
  REQUIRE(r.status == Status::Ok);
  CHECK(r.model.producer == "witness.py");
  REQUIRE(r.model.opsets.size() == 2);
  CHECK((r.model.opsets[1].domain == "local" && r.model.opsets[1].version == 1));
  const onnx::FileGraph& graph = r.model.graph;
  CHECK(graph.name == "witness");
  REQUIRE(graph.inputs.size() == 1);
  CHECK((graph.inputs[0].dims[0].symbol == "batch" && graph.inputs[0].dims[1].size == 3 &&
         graph.inputs[0].dims[2].size == -1));
  // The same values in the type's field, and as raw bytes.
  REQUIRE(graph.initializers.size() == 26);
  for (size_t i = 0; i < 26; i += 2) {
    const FileTensor &listed = graph.initializers[i], &raw = graph.initializers[i + 1];
    INFO(listed.name);
    CHECK(raw.name.ends_with(".raw"));
    CHECK(listed.type == raw.type);
    CHECK(text_of(listed.data) == text_of(raw.data));
    CHECK(listed.data.size() == 3 * onnx::bytes_of_element(listed.type));
  }
  CHECK(text_of(graph.initializers[0].data) == bytes_of<float>({0, 1, -100}));
  CHECK(text_of(graph.initializers[4].data) == bytes_of<int8_t>({0, 1, -100}));
  CHECK(text_of(graph.initializers[12].data) == bytes_of<int64_t>({0, 1, -100}));
  REQUIRE(graph.nodes.size() == 4);
  CHECK(text_of(graph.nodes[0].find("value")->tensor.data) == "\1");
  CHECK(graph.nodes[1].find("then_branch")->graph->nodes[0].op == "Neg");
  CHECK(graph.nodes[2].find("by")->number == 2.5f);
  CHECK(graph.nodes[3].name == "na\u00efve");
  CHECK(graph.nodes[3].inputs == std::vector<std::string>{"y", "", "FLOAT.raw"});
  REQUIRE(r.model.functions.size() == 1);
  CHECK(r.model.functions[0].nodes[0].find("value_float")->reference == "by");
}

TEST_CASE("onnx file: a failure leaves the model as it was", "[onnx]") {
  ModelRead r = read_onnx(model_of(tensor_proto("w", ElementType::F32, {}).text(9, "abcd")));
  CHECK(onnx::read_model({}, "empty", "", no_log(), &r.model) == Status::InvalidFile);
  CHECK(r.model.graph.initializers.size() == 1);
}

}  // namespace heed::test
