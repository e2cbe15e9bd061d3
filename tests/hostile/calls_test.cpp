// Tables of calls outside of graphs, each of which is wrong in one way.

#include "search/support.hpp"

namespace heed::test {

TEST_CASE("hostile: a missing place for the result is an invalid argument", "[hostile]") {
  const std::string folder = tiny_folder();
  const std::string_view text = "{}";
  const SafeTensors::Entry entry{"e", SafeTensors::Type::F32, {0}, {}};
  const std::function<Status()> calls[] = {
      [&] { return SafeTensors::open(folder, {}, nullptr); },
      [&] { return SafeTensors::parse({}, "memory", {}, nullptr); },
      [&] { return read_f32(entry, {}, nullptr); },
      [&] { return read_i32(entry, {}, nullptr); },
      [&] { return Checkpoint::open(folder, {}, nullptr); },
      [&] { return read_bert_config(folder + "/config.json", {}, nullptr); },
      [&] { return parse_bert_config(text, "memory", {}, nullptr); },
      [&] { return BertWeights::load(Checkpoint(), {}, {}, nullptr); },
      [&] { return WordPiece::open(folder, {}, nullptr); },
      [&] { return WordPiece::from_vocabulary(text, "memory", {}, nullptr); },
      [&] { return WordPiece::from_json(text, "memory", {}, nullptr); },
      [&] { return Device::open({.select = "cpu"}, nullptr); },
      [&] { return Device::list({}, nullptr); },
  };
  for (const auto& call : calls) {
    INFO("call " << &call - calls);
    CHECK(call() == Status::InvalidArgument);
  }
}

TEST_CASE("hostile: uploads of types that are none, or that floats are not converted to", "[hostile]") {
  Messages messages;
  Weights weights;
  Device device = open_cpu({.log = messages.log(), .threads = 1});
  const std::vector<std::byte> data(12);
  const int64_t shape[] = {3};
  const auto upload = [&](DType from, const UploadOptions& options) {
    const HostTensor tensor{"w", from, shape, std::span(data).first(3 * size_of(from))};
    return device.upload(std::span(&tensor, 1), &weights, options);
  };
  const auto none = static_cast<DType>(kDTypes);
  CHECK(upload(DType::F32, {.keep_dtype = false, .dtype = DType::BF16}) == Status::Ok);
  CHECK(upload(none, {}) == Status::InvalidArgument);
  CHECK(messages.mention("'w' is of type " + std::to_string(kDTypes)));
  for (const DType to : {DType::U8, DType::I32, none}) {
    messages.text.clear();
    CHECK(upload(DType::F32, {.keep_dtype = false, .dtype = to}) == Status::InvalidArgument);
    CHECK(messages.mention(std::string("not to ") + to_string(to)));
  }
  BertWeights loaded;
  CHECK(BertWeights::load(Checkpoint(), {.layers = INT64_MAX}, messages.log(), &loaded) == Status::InvalidArgument);
}

}  // namespace heed::test
