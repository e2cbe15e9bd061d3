// Decoders from GGUF files and from Hugging Face folders give the tokens that were computed in double.
#include "io/gguf_writer.hpp"
#include "models/support.hpp"

#include "base/half.hpp"

namespace heed::test {
namespace {

void check_says(const ops::TestDevice& on, const DecoderModel& model, const std::string& name) {
  const TinyDecoder wanted = tiny_decoder(name);
  ModelSpeaker speaker(on.device, model, 72, 8);
  int32_t next = speaker.read(wanted.prompt);
  const size_t steps = on.interpreted ? 4 : wanted.tokens.size();
  for (size_t i = 0; i < steps; ++i) {
    INFO("token " << i);
    REQUIRE(next == wanted.tokens[i]);
    CHECK(wanted.distance(speaker.logits, i) < 1e-4);
    next = speaker.read({&next, 1});
  }
}

// Writes the weights as model.safetensors, all of type `dtype`, with `prefix` before their names.
std::string weights_of(const TinyDecoder& tiny, DType dtype, const std::string& prefix) {
  std::string header, data;
  for (const SafeTensors::Entry& entry : tiny.file.entries()) {
    if (!tiny.is_weight(entry.name)) continue;
    std::vector<float> values;
    REQUIRE(read_f32(entry, stderr_log(), &values) == Status::Ok);
    if (entry.shape.size() == 1)
      for (float& value : values) value -= tiny.norm_offset;
    std::string bytes(values.size() * size_of(dtype), '\0');
    convert_floats(values.data(), DType::F32, bytes.data(), dtype, values.size());
    std::string shape;
    for (const int64_t size : entry.shape) shape += (shape.empty() ? "" : ",") + std::to_string(size);
    header += (header.empty() ? "{\"" : ",\"") + prefix + entry.name + "\":{\"dtype\":\"" +
              (dtype == DType::F32   ? "F32"
               : dtype == DType::F16 ? "F16"
                                     : "BF16") +
              "\",\"shape\":[" + shape + "],\"data_offsets\":[" + std::to_string(data.size()) + "," +
              std::to_string(data.size() + bytes.size()) + "]}";
    data += bytes;
  }
  header += "}";
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(uint64_t{header.size()} >> (8 * i));
  return length + header + data;
}

// Blocks of 32 with a scale of f16, rounded to 127 steps.
std::string as_q8_0(const std::vector<float>& values) {
  std::string bytes;
  for (size_t i = 0; i < values.size(); i += 32) {
    float most = 0;
    for (size_t k = 0; k < 32; ++k) most = std::max(most, std::fabs(values[i + k]));
    const uint16_t scale = float_to_half(most / 127.0f);
    bytes += GgufWriter::bytes_of(scale);
    for (size_t k = 0; k < 32; ++k)
      bytes += static_cast<char>(most > 0 ? std::lround(values[i + k] / half_to_float(scale)) : 0);
  }
  return bytes;
}

}  // namespace

TEST_CASE("models in GGUF files say what they said in double on every device", "[ops][model_files]") {
  for (const ops::TestDevice& on : ops::test_devices())
    for (const std::string& name : tiny_decoders()) {
      INFO(name << " on " << on.word);
      check_says(on, opened_model(tiny_gguf(name)), name);
    }
}

TEST_CASE("models in folders of Hugging Face say what they said in double", "[model_files]") {
  const ops::TestDevice cpu = {"cpu", open_cpu()};
  for (const std::string& name : tiny_decoders()) {
    INFO(name);
    const TinyDecoder source = tiny_decoder(name);
    ScratchFolder folder;
    folder.write("config.json", source.config_json);
    folder.write("model.safetensors", weights_of(source, DType::F32, name == "gpt2" ? "transformer." : ""));
    const DecoderModel model = opened_model(folder.path());
    CHECK(model.gguf() == nullptr);
    check_says(cpu, model, name);
  }
}

TEST_CASE("models keep the types of their matrices, or are widened", "[model_files]") {
  Device cpu = open_cpu();
  for (const char* name : {"qwen2", "gpt2"}) {
    INFO(name);
    const TinyDecoder source = tiny_decoder(name);
    ScratchFolder folder;
    folder.write("config.json", source.config_json);
    folder.write("model.safetensors", weights_of(source, DType::F16, ""));
    const DecoderModel model = opened_model(folder.path());
    int vectors = 0;
    for (const HostTensor& tensor : model.tensors()) {
      INFO(tensor.name);
      const bool is_small = tensor.shape.size() < 2 || tensor.name == "wpe.weight";
      CHECK(tensor.dtype == (is_small ? DType::F32 : DType::F16));
      vectors += is_small;
    }
    CHECK(vectors > 0);
    std::vector<std::vector<float>> said;
    for (const DecoderOptions& options :
         {DecoderOptions{}, DecoderOptions{.weight_dtype = DType::F32}, DecoderOptions{.weight_dtype = DType::BF16},
          DecoderOptions{.dtype = DType::F16}}) {
      ModelSpeaker speaker(cpu, model, 72, 8, options);
      speaker.read(source.prompt);
      said.push_back(speaker.logits);
    }
    const auto distance = [&](const float* other, const std::vector<float>& logits) {
      double most = 0;
      for (size_t i = 0; i < logits.size(); ++i)
        most = std::max(most, std::fabs(static_cast<double>(other[i]) - static_cast<double>(logits[i])));
      return most;
    };
    CHECK(distance(source.logits.data(), said[0]) < 0.02);
    CHECK(distance(said[0].data(), said[1]) < 1e-4);  // the same values with more bytes
    CHECK(distance(source.logits.data(), said[2]) < 0.2);
    CHECK(distance(said[0].data(), said[2]) > 1e-4);  // BF16 rounds the F16 values
    CHECK(distance(source.logits.data(), said[3]) < 0.1);
  }
}

TEST_CASE("models: quantized matrices stay as they are, and say what their values say", "[model_files]") {
  // A tiny decoder whose rows are Q8_0 if they are whole blocks, and F16 otherwise.
  Gguf source = opened<Gguf>(tiny_gguf("qwen2"), stderr_log());
  GgufWriter w;
  for (const Gguf::Field& field : source.fields()) {
    if (field.value.type() == Gguf::ValueType::Text)
      w.text(field.name, *field.value.text());
    else if (field.value.type() == Gguf::ValueType::F32)
      w.f32(field.name, static_cast<float>(*field.value.number()));
    else
      w.u32(field.name, static_cast<uint32_t>(*field.value.integer()));
  }
  size_t quantized = 0;
  for (const Gguf::Entry& entry : source.entries()) {
    const std::vector<uint64_t> shape(entry.shape.begin(), entry.shape.end());
    std::vector<float> values(static_cast<size_t>(entry.elements()));
    std::memcpy(values.data(), entry.data.data(), entry.data.size());
    const bool is_matrix = shape.size() > 1, whole = is_matrix && shape.back() % 32 == 0;
    quantized += whole;
    std::string bytes;
    if (whole) {
      bytes = as_q8_0(values);
    } else if (is_matrix) {
      bytes.resize(values.size() * 2);
      convert_floats(values.data(), DType::F32, bytes.data(), DType::F16, values.size());
    } else {
      bytes.assign(reinterpret_cast<const char*>(entry.data.data()), entry.data.size());
    }
    w.tensor(entry.name, whole ? 8 : is_matrix ? 1 : 0, shape, bytes);
  }
  const std::string bytes = w.file();
  Gguf file;
  REQUIRE(Gguf::parse(std::as_bytes(std::span(bytes)), "memory", stderr_log(), &file) == Status::Ok);
  DecoderModel model;
  REQUIRE(DecoderModel::open(std::move(file), stderr_log(), &model) == Status::Ok);
  size_t kept = 0;
  for (const HostTensor& tensor : model.tensors()) kept += tensor.dtype == DType::Q8_0;
  CHECK(kept == quantized);
  CHECK(kept > 8);
  const std::vector<int32_t> prompt = tiny_decoder("qwen2").prompt;
  Device cpu = open_cpu();
  ModelSpeaker as_it_is(cpu, model, 72, 8), widened(cpu, model, 72, 8, {.weight_dtype = DType::F32});
  CHECK(as_it_is.read(prompt) == widened.read(prompt));
  CHECK(difference(as_it_is.logits.data(), widened.logits).empty());
}

TEST_CASE("models: a graph has no prefix, and needs a model", "[model_files]") {
  const DecoderModel model = opened_model(tiny_gguf("qwen3"));
  Graph g, other;
  (void)model.build(g, g.input("ids", {1, 2}, DType::I32), {.prefix = "part"});
  CHECK(g.status() == Status::InvalidArgument);
  const DecoderModel none;
  (void)none.build(other, other.input("ids", {1, 2}, DType::I32));
  CHECK(other.status() == Status::InvalidArgument);
  Device cpu = open_cpu();
  Weights weights;
  CHECK(none.upload(cpu, {}, &weights) == Status::InvalidArgument);
  CHECK(none.tensors().empty());
  CHECK(none.config().layers == 0);
}

}  // namespace heed::test
