// Graphs built in C give the same bits as the same calls in C++.
#include <heed/custom.hpp>

#include "c/kept.hpp"

namespace heed::test {
namespace {

constexpr uint32_t kTokens = 5;

// Both sides use x [B, n, 8] with n an extent up to 6, ids I32 [2, n], and the tensors of `weights`.
struct Given {
  heed_graph* c = nullptr;
  Graph cpp;
  heed_tensor x = 0, ids = 0, mask = 0;
  heed_dim n = 0;
  Tensor cpp_x, cpp_ids, cpp_mask;
  Dim cpp_n;

  heed_tensor weight(const char* name, std::initializer_list<heed_dim> shape) {
    return heed_graph_weight(c, name, shape.begin(), shape.size(), HEED_F32);
  }
};

template <class T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

struct Inputs {
  std::vector<float> x = pattern(2 * kTokens * 8, 1);
  std::vector<int32_t> ids = {0, 3, 2, 7, 1, 6, 5, 4, 3, 0};
  std::vector<uint8_t> mask = {0, 1, 0, 0, 1, 0, 0, 0, 0, 1};
};

// Builds both, runs both with the same values, and compares outputs of `bytes` bytes.
void check_same(const char* what, size_t bytes, const std::function<heed_tensor(Given&)>& in_c,
                const std::function<Tensor(Given&)>& in_cpp) {
  INFO(what);
  Tensors tensors;
  tensors.add("table", {8, 8}, 7);
  tensors.add("gamma", {8}, 8);
  tensors.add("beta", {8}, 9);
  tensors.add("block.wqkv.weight", {24, 8}, 10);
  tensors.add("block.wqkv.bias", {24}, 11);
  tensors.add("block.wo.weight", {8, 8}, 12);
  tensors.add("block.wo.bias", {8}, 13);
  KeptGraph graph(heed_graph_create);
  Given given;
  given.c = graph;
  given.n = heed_graph_extent(graph, "n", 6);
  const heed_dim x_shape[] = {2, given.n, 8}, row_shape[] = {2, given.n};
  given.x = heed_graph_input(graph, "x", x_shape, 3, HEED_F32);
  given.ids = heed_graph_input(graph, "ids", row_shape, 2, HEED_I32);
  given.mask = heed_graph_input(graph, "mask", row_shape, 2, HEED_U8);
  given.cpp_n = given.cpp.extent("n", 6);
  given.cpp_x = given.cpp.input("x", {2, given.cpp_n, 8});
  given.cpp_ids = given.cpp.input("ids", {2, given.cpp_n}, DType::I32);
  given.cpp_mask = given.cpp.input("mask", {2, given.cpp_n}, DType::U8);
  const heed_tensor made = in_c(given);
  done(heed_graph_output(graph, "y", made));
  given.cpp.output("y", in_cpp(given));
  INFO(given.cpp.error());
  REQUIRE(given.cpp.status() == Status::Ok);

  const Inputs inputs;
  KeptDevice device = open_c("cpu");
  std::vector<heed_host_tensor> list;
  for (const HostTensor& t : tensors.list())
    list.push_back({tensors.values.find(std::string(t.name))->first.c_str(), t.shape.data(), t.shape.size(),
                    t.data.data(), t.data.size(), HEED_F32, 0});
  KeptWeights weights(heed_device_upload, device, list.data(), list.size(), nullptr);
  KeptPlan plan(heed_device_compile, device, graph, weights, nullptr);
  std::vector<std::byte> got(bytes), want(bytes);
  const heed_input c_inputs[] = {{"x", inputs.x.data(), inputs.x.size() * 4, HEED_F32, 0},
                                 {"ids", inputs.ids.data(), inputs.ids.size() * 4, HEED_I32, 0},
                                 {"mask", inputs.mask.data(), inputs.mask.size(), HEED_U8, 0}};
  const heed_output output = {"y", got.data(), got.size(), HEED_DTYPE_DEFAULT, 0};
  const heed_extent_value extent = {"n", kTokens};
  heed_run_info run = run_info(c_inputs, {&output, 1});
  run.extents = &extent;
  run.extent_count = 1;
  run.seed = 5;
  done(heed_plan_run(plan, &run));

  Device cpu = open_cpu();
  Plan cpp_plan = compiled(cpu, given.cpp, uploaded(cpu, tensors.list()));
  REQUIRE(cpp_plan.run({{"x", inputs.x}, {"ids", inputs.ids}, {"mask", inputs.mask}, {"y", want}}, {{"n", kTokens}},
                       {.seed = 5}) == Status::Ok);
  CHECK(got == want);
  CHECK(std::any_of(got.begin(), got.end(), [](std::byte b) { return b != std::byte{0}; }));
}

constexpr size_t kTokenRows = 2 * kTokens, kBytes = kTokenRows * 8 * 4;

}  // namespace

TEST_CASE("C: operations of graphs are those of C++", "[c]") {
  check_same(
      "products, activations, casts, sums", kBytes,
      [](Given& g) {
        auto options = sized<heed_matmul_options>();
        options.transpose_b = 1;
        options.scale = 0.5f;
        heed_tensor y = heed_graph_matmul(g.c, g.x, g.weight("table", {8, 8}), &options);
        y = heed_graph_activation(g.c, y, HEED_ACTIVATION_GELU_TANH);
        y = heed_graph_add(g.c, y, heed_graph_linear(g.c, g.x, g.weight("table", {8, 8}), g.weight("beta", {8})));
        y = heed_graph_cast(g.c, heed_graph_cast(g.c, heed_graph_scale(g.c, y, 1.5f), HEED_BF16), HEED_F32);
        return heed_graph_mul(g.c, heed_graph_dropout(g.c, y, 0.5f, -1), heed_graph_find_weight(g.c, "beta"));
      },
      [](Given& g) {
        Graph& c = g.cpp;
        Tensor y = c.matmul(g.cpp_x, c.weight("table", {8, 8}), {.transpose_b = true, .scale = 0.5f});
        y = c.activation(y, Activation::GeluTanh);
        y = c.add(y, c.linear(g.cpp_x, c.weight("table", {8, 8}), c.weight("beta", {8})));
        y = c.cast(c.cast(c.scale(y, 1.5f), DType::BF16), DType::F32);
        return c.mul(c.dropout(y, 0.5f), c.weight("beta", {8}));
      });
  check_same(
      "norms and embeddings", kBytes,
      [](Given& g) {
        heed_tensor y = heed_graph_embedding(g.c, g.weight("table", {8, 8}), g.ids, HEED_DTYPE_DEFAULT);
        y = heed_graph_layernorm(g.c, y, g.weight("gamma", {8}), 0, 1e-5f);
        y = heed_graph_rmsnorm(g.c, heed_graph_positional_encoding(g.c, y), g.weight("gamma", {8}), 1e-6f);
        return heed_graph_l2_normalize(g.c, y, 1e-12f);
      },
      [](Given& g) {
        Graph& c = g.cpp;
        Tensor y = c.embedding(c.weight("table", {8, 8}), g.cpp_ids);
        y = c.layernorm(y, c.weight("gamma", {8}), {}, 1e-5f);
        y = c.rmsnorm(c.positional_encoding(y), c.weight("gamma", {8}), 1e-6f);
        return c.l2_normalize(y);
      });
  check_same(
      "rotary, softmax and views", kBytes,
      [](Given& g) {
        auto rotary = sized<heed_rotary_options>();
        rotary.pairs = HEED_ROTARY_ADJACENT;
        rotary.first = 3;
        rotary.width = 4;
        auto softmax = sized<heed_softmax_options>();
        softmax.scale = 2;
        softmax.masked_fill = -5;
        const heed_dim split[] = {2, g.n, 2, 4}, joined[] = {2, g.n, 8};
        const int32_t axes[] = {0, 2, 1, 3};
        heed_tensor y = heed_graph_reshape(g.c, heed_graph_rotary(g.c, g.x, &rotary), split, 4);
        y = heed_graph_transpose(g.c, heed_graph_permute(g.c, y, axes, 4), 1, 2);
        y = heed_graph_softmax(g.c, heed_graph_reshape(g.c, y, joined, 3), &softmax);
        const heed_tensor parts[] = {heed_graph_slice(g.c, y, -1, 6, 2), heed_graph_slice(g.c, y, 2, 0, 6)};
        return heed_graph_concat(g.c, parts, 2, -1);
      },
      [](Given& g) {
        Graph& c = g.cpp;
        Tensor y =
            c.reshape(c.rotary(g.cpp_x, {.pairs = RotaryPairs::Adjacent, .width = 4, .first = 3}), {2, g.cpp_n, 2, 4});
        y = c.transpose(c.permute(y, {0, 2, 1, 3}), 1, 2);
        y = c.softmax(c.reshape(y, {2, g.cpp_n, 8}), {.scale = 2, .masked_fill = -5.0f});
        return c.concat({c.slice(y, -1, 6, 2), c.slice(y, 2, 0, 6)}, -1);
      });
  check_same(
      "means, takes and last rows", 2 * 8 * 4,
      [](Given& g) {
        const heed_tensor mean = heed_graph_mean(g.c, g.x, 1, g.mask, HEED_MASK_KEEP);
        const heed_tensor row = heed_graph_select(g.c, g.x, 1, 0),
                          last = heed_graph_select(g.c, heed_graph_last(g.c, g.x, 1), 1, 0);
        const heed_dim one[] = {2, 1};
        const int32_t values[] = {3, 1};
        const heed_tensor places = heed_graph_constant(g.c, "places", one, 2, HEED_I32, values, sizeof(values));
        const heed_tensor taken = heed_graph_select(g.c, heed_graph_take(g.c, g.x, 1, places), 1, 0);
        return heed_graph_add(g.c, heed_graph_add(g.c, mean, row), heed_graph_add(g.c, last, taken));
      },
      [](Given& g) {
        Graph& c = g.cpp;
        const int32_t values[] = {3, 1};
        const Tensor mean = c.mean(g.cpp_x, 1, keep(g.cpp_mask));
        const Tensor row = c.select(g.cpp_x, 1, 0), last = c.select(c.last(g.cpp_x, 1), 1, 0);
        const Tensor taken = c.select(c.take(g.cpp_x, 1, c.constant("places", {2, 1}, values)), 1, 0);
        return c.add(c.add(mean, row), c.add(last, taken));
      });
  check_same(
      "reductions", 2 * 4,
      [](Given& g) {
        const int32_t axes[] = {1, -1};
        heed_top_k_result top = {};
        heed_graph_top_k(g.c, heed_graph_cumsum(g.c, g.x, 2, 1, 0), 3, -1, 1, &top);
        const heed_tensor length = heed_graph_reduce(g.c, g.x, HEED_REDUCTION_L2, axes, 2, 0);
        return heed_graph_add(g.c, length, heed_graph_reduce(g.c, top.values, HEED_REDUCTION_MAX, axes, 2, 0));
      },
      [](Given& g) {
        const Tensor top = g.cpp.top_k(g.cpp.cumsum(g.cpp_x, 2, true), 3, -1, true).values;
        return g.cpp.add(g.cpp.reduce(g.cpp_x, Reduction::L2, {1, 2}), g.cpp.reduce(top, Reduction::Max, {1, 2}));
      });
  check_same(
      "tokens", kTokenRows * 4,
      [](Given& g) {
        auto sample = sized<heed_sample_options>();
        sample.top_k = 5;
        sample.temperature = 0.7f;
        sample.top_p = 0.9f;
        sample.repetition_penalty = 1.3f;
        const heed_dim before[] = {2, g.n, 1};
        sample.previous = heed_graph_reshape(g.c, g.ids, before, 3);
        sample.previous_count = 1;
        sample.step = 4;
        const heed_tensor drawn = heed_graph_sample(g.c, g.x, &sample);
        return heed_graph_add(g.c, drawn, heed_graph_argmax(g.c, g.x, -1, 0, 0));
      },
      [](Given& g) {
        Graph& c = g.cpp;
        const Tensor drawn = c.sample(g.cpp_x, {.previous = c.reshape(g.cpp_ids, {2, g.cpp_n, 1}),
                                                .previous_count = 1,
                                                .repetition_penalty = 1.3f,
                                                .temperature = 0.7f,
                                                .top_k = 5,
                                                .top_p = 0.9f,
                                                .step = 4});
        return c.add(drawn, c.argmax(g.cpp_x));
      });
  check_same(
      "losses", kTokenRows * 4, [](Given& g) { return heed_graph_cross_entropy(g.c, g.x, g.ids, 0.1f); },
      [](Given& g) { return g.cpp.cross_entropy(g.cpp_x, g.cpp_ids, 0.1f); });
  check_same(
      "attention with a mask and its log of sums", 2 * 2 * kTokens * 4,
      [](Given& g) {
        const heed_dim heads[] = {2, g.n, 2, 4};
        const heed_tensor q = heed_graph_transpose(g.c, heed_graph_reshape(g.c, g.x, heads, 4), 1, 2);
        auto options = sized<heed_attention_options>();
        options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        options.key_padding = g.mask;
        options.key_padding_meaning = HEED_MASK_EXCLUDE;
        options.scale = 0.3f;
        options.return_weights = options.return_log_sum_exp = 1;
        heed_attention_result result = {};
        const heed_tensor output = heed_graph_attention(g.c, q, q, q, &options, &result);
        CHECK(output == result.output);
        CHECK(result.weights != 0);
        return result.log_sum_exp;
      },
      [](Given& g) {
        const Tensor q = g.cpp.transpose(g.cpp.reshape(g.cpp_x, {2, g.cpp_n, 2, 4}), 1, 2);
        return g.cpp
            .attention(q, q, q,
                       {.scale = 0.3f,
                        .causal = Causal::BottomRight,
                        .key_padding = exclude(g.cpp_mask),
                        .return_weights = true,
                        .return_log_sum_exp = true})
            .log_sum_exp;
      });
  check_same(
      "a layer, and its weights", kBytes,
      [](Given& g) {
        auto options = sized<heed_multi_head_options>();
        options.heads = 2;
        options.causal = HEED_CAUSAL_TOP_LEFT;
        options.key_padding = g.mask;
        options.key_padding_meaning = HEED_MASK_KEEP;
        heed_tensor weights = 0;
        options.weights = &weights;
        const heed_tensor y = heed_nn_self_attention(g.c, g.x, "block", &options);
        heed_dim shape[HEED_MAX_RANK];
        size_t rank = 0;
        done(heed_graph_shape(g.c, weights, shape, HEED_MAX_RANK, &rank));
        CHECK((rank == 4 && shape[1] == 2 && shape[2] == g.n));
        return y;
      },
      [](Given& g) {
        return nn::self_attention(g.cpp, g.cpp_x, "block",
                                  {.heads = 2, .causal = Causal::TopLeft, .key_padding = keep(g.cpp_mask)});
      });
}

TEST_CASE("C: a graph keeps its first mistake", "[c][misuse]") {
  KeptGraph graph(heed_graph_create);
  KeptGraph other(heed_graph_create);
  const heed_dim shape[] = {2, 3}, wide[] = {4, 5};
  const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  const heed_tensor foreign = heed_graph_input(other, "x", shape, 2, HEED_F32);
  CHECK(x != 0);
  CHECK(foreign != x);
  CHECK(heed_graph_find_weight(graph, "absent") == 0);
  done(heed_graph_get_status(graph));

  CHECK(heed_graph_add(graph, x, foreign) == 0);
  refused(heed_graph_get_status(graph), HEED_INVALID_ARGUMENT, "none of this graph's");
  // Later calls report nothing more.
  CHECK(heed_graph_input(graph, "z", wide, 99, HEED_F32) == 0);
  refused(heed_graph_output(graph, "y", x), HEED_INVALID_ARGUMENT, "none of this graph's");
  heed_plan* plan = nullptr;
  KeptDevice device = open_c("cpu");
  refused(heed_device_compile(device, graph, nullptr, nullptr, &plan), HEED_INVALID_ARGUMENT, "none of this graph's");
  CHECK(plan == nullptr);
}

namespace {

// The mistake that a call on a new graph with x [2, 3] reports.
void check_mistake(heed_status status, const char* text, const std::function<void(heed_graph*, heed_tensor)>& build) {
  INFO(text);
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {2, 3};
  build(graph, heed_graph_input(graph, "x", shape, 2, HEED_F32));
  refused(heed_graph_get_status(graph), status, text);
}

}  // namespace

TEST_CASE("C: what is wrong with arguments is the graph's mistake", "[c][misuse]") {
  const heed_dim wide[] = {4, 5}, many[] = {1, 1, 1, 1, 1, 1, 1}, negative[] = {-5, 3};
  check_mistake(HEED_INVALID_ARGUMENT, "b is 0", [](heed_graph* g, heed_tensor x) { heed_graph_add(g, x, 0); });
  check_mistake(HEED_INVALID_ARGUMENT, "none of this graph's",
                [](heed_graph* g, heed_tensor x) { heed_graph_add(g, x, x + 1); });
  check_mistake(HEED_INVALID_ARGUMENT, "none of this graph's",
                [](heed_graph* g, heed_tensor x) { heed_graph_add(g, x, 1); });
  check_mistake(HEED_INVALID_ARGUMENT, "dim 0 is -5",
                [&](heed_graph* g, heed_tensor) { heed_graph_input(g, "y", negative, 2, HEED_F32); });
  check_mistake(HEED_INVALID_ARGUMENT, "7 sizes",
                [&](heed_graph* g, heed_tensor) { heed_graph_input(g, "y", many, 7, HEED_F32); });
  check_mistake(HEED_INVALID_ARGUMENT, "a shape is NULL",
                [](heed_graph* g, heed_tensor) { heed_graph_input(g, "y", nullptr, 2, HEED_F32); });
  check_mistake(HEED_INVALID_ARGUMENT, "name is NULL",
                [&](heed_graph* g, heed_tensor) { heed_graph_input(g, nullptr, wide, 2, HEED_F32); });
  check_mistake(HEED_INVALID_ARGUMENT, "dtype is 13",
                [&](heed_graph* g, heed_tensor) { heed_graph_input(g, "y", wide, 2, 13); });
  check_mistake(HEED_SHAPE_MISMATCH, "add", [&](heed_graph* g, heed_tensor x) {
    heed_graph_add(g, x, heed_graph_input(g, "y", wide, 2, HEED_F32));
  });
  check_mistake(HEED_INVALID_ARGUMENT, "kind is 6",
                [](heed_graph* g, heed_tensor x) { heed_graph_activation(g, x, 6); });
  check_mistake(HEED_INVALID_ARGUMENT, "HEED_MASK_EXCLUDE",
                [](heed_graph* g, heed_tensor x) { heed_graph_mean(g, x, 0, x, -1); });
  check_mistake(HEED_INVALID_ARGUMENT, "_init", [](heed_graph* g, heed_tensor x) {
    const heed_softmax_options options = {};
    heed_graph_softmax(g, x, &options);
  });
  check_mistake(HEED_INVALID_ARGUMENT, "heed_rotary_scaling has the size 0", [](heed_graph* g, heed_tensor x) {
    auto options = sized<heed_rotary_options>();
    options.scaling = {};
    heed_graph_rotary(g, x, &options);
  });
  check_mistake(HEED_INVALID_ARGUMENT, "the meaning of mask", [](heed_graph* g, heed_tensor x) {
    auto options = sized<heed_softmax_options>();
    options.mask = x;
    heed_graph_softmax(g, x, &options);
  });
  check_mistake(HEED_INVALID_ARGUMENT, "causal is 3", [](heed_graph* g, heed_tensor x) {
    auto options = sized<heed_softmax_options>();
    options.causal = 3;
    heed_graph_softmax(g, x, &options);
  });
  check_mistake(HEED_INVALID_ARGUMENT, "4294967296",
                [](heed_graph* g, heed_tensor x) { heed_graph_dropout(g, x, 0.1f, int64_t{1} << 32); });
  check_mistake(HEED_SHAPE_MISMATCH, "no whole f32",
                [&](heed_graph* g, heed_tensor) { heed_graph_constant(g, "c", wide, 2, HEED_F32, "abc", 3); });
  check_mistake(HEED_DTYPE_MISMATCH, "f16",
                [&](heed_graph* g, heed_tensor) { heed_graph_constant(g, "c", wide, 2, HEED_F16, "abcd", 4); });
  check_mistake(HEED_INVALID_ARGUMENT, "axes is NULL",
                [](heed_graph* g, heed_tensor x) { heed_graph_permute(g, x, nullptr, 2); });
  check_mistake(HEED_INVALID_ARGUMENT, "parts is NULL",
                [](heed_graph* g, heed_tensor) { heed_graph_concat(g, nullptr, 2, 0); });
  check_mistake(HEED_UNSUPPORTED, "mine",
                [](heed_graph* g, heed_tensor) { heed_graph_fail(g, HEED_UNSUPPORTED, "mine"); });
  check_mistake(HEED_INVALID_ARGUMENT, "prefix is NULL",
                [](heed_graph* g, heed_tensor x) { heed_nn_layernorm(g, x, nullptr, 0); });
  check_mistake(HEED_INVALID_ARGUMENT, "heed_attention_names has the size", [](heed_graph* g, heed_tensor x) {
    auto options = sized<heed_multi_head_options>();
    const heed_attention_names names = {};
    options.names = &names;
    heed_nn_self_attention(g, x, "p", &options);
  });
}

TEST_CASE("C: copies of graphs know what was made before", "[c]") {
  KeptGraph copy;
  KeptGraph graph(heed_graph_create);
  const heed_dim n = heed_graph_extent(graph, "n", 7);
  const heed_dim shape[] = {n, 3};
  const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  done(heed_graph_clone(graph, copy.out()));
  const heed_tensor y = heed_graph_scale(copy, x, 2);
  CHECK(y != 0);
  heed_dim sizes[HEED_MAX_RANK];
  size_t rank = 0;
  done(heed_graph_shape(copy, x, sizes, HEED_MAX_RANK, &rank));
  CHECK((rank == 2 && sizes[0] == n && sizes[1] == 3));
  refused(heed_graph_shape(copy, x, sizes, 1, &rank), HEED_BUFFER_TOO_SMALL, "there are 2");
  int64_t most = 0;
  done(heed_graph_dim_max(copy, n, &most));
  CHECK(most == 7);
  done(heed_graph_dim_max(copy, 12, &most));
  CHECK(most == 12);
  refused(heed_graph_dim_max(copy, n - 1, &most), HEED_INVALID_ARGUMENT, "size");
  heed_dtype dtype = 0;
  done(heed_graph_dtype(copy, y, &dtype));
  CHECK(dtype == HEED_F32);
  // Each graph has its own tensors, also if both have a tensor with the same number.
  const heed_tensor z = heed_graph_scale(graph, x, 3);
  CHECK(z != y);
  refused(heed_graph_dtype(graph, y, &dtype), HEED_INVALID_ARGUMENT, "none of this graph's");
  refused(heed_graph_dtype(copy, z, &dtype), HEED_INVALID_ARGUMENT, "none of this graph's");
  done(heed_graph_push_label(graph, "part"));
  done(heed_graph_pop_label(graph));
  done(heed_graph_pop_label(graph));
}

TEST_CASE("C: a graph goes on after a mistake that is rolled back", "[c]") {
  KeptGraph graph(heed_graph_create);
  const heed_dim shape[] = {2, 3}, rows[] = {4, 3};
  const heed_tensor x = heed_graph_input(graph, "x", shape, 2, HEED_F32);
  done(heed_graph_roll_back(graph));  // the graph has no mistake
  const auto fail = [&] {
    CHECK(heed_nn_linear(graph, heed_graph_input(graph, "rows", rows, 2, HEED_F32), "fc", 5, 1, HEED_DTYPE_DEFAULT) !=
          0);
    CHECK(heed_graph_matmul(graph, x, x, nullptr) == 0);
    CHECK(heed_graph_scale(graph, x, 2) == 0);
  };
  fail();
  const size_t before = heed_graph_weight_count(graph);
  CHECK(before == 2);
  done(heed_graph_roll_back(graph));
  done(heed_graph_get_status(graph));
  CHECK(heed_graph_weight_count(graph) == before);
  // A layer that fails after declaring its first weight leaves no weight behind.
  auto options = sized<heed_multi_head_options>();
  options.heads = 1;
  const heed_dim wrong[] = {7, 7};
  CHECK(heed_graph_weight(graph, "a.wo.weight", wrong, 2, HEED_F32) != 0);
  CHECK(heed_nn_self_attention(graph, x, "a", &options) == 0);
  CHECK(heed_graph_weight_count(graph) > before + 1);
  done(heed_graph_roll_back(graph));
  CHECK(heed_graph_weight_count(graph) == before + 1);
  auto info = sized<heed_weight_info>();
  done(heed_graph_get_weight(graph, before, &info));
  CHECK(
      (std::string_view(info.name) == "a.wo.weight" && info.rank == 2 && info.shape[1] == 7 && info.dtype == HEED_F32));
  refused(heed_graph_get_weight(graph, before + 1, &info), HEED_INDEX_OUT_OF_RANGE, "there is no 3");
  // If a call that writes a state fails, the state stays unwritten. Tensors from before the call stay valid.
  const heed_tensor state = heed_graph_state(graph, "s", shape, 2, HEED_F32);
  CHECK(heed_graph_append(graph, state, x, 0, 1) == 0);
  done(heed_graph_roll_back(graph));
  const heed_tensor now = heed_graph_assign(graph, state, x);
  CHECK(now != 0);
  done(heed_graph_output(graph, "y", heed_graph_add(graph, now, x)));
  KeptDevice device = open_c("cpu");
  KeptPlan plan;
  KeptOptimizer optimizer;
  auto kind = sized<heed_optimizer_options>();
  done(heed_optimizer_create(&kind, optimizer.out()));
  const int64_t fc[] = {5, 3}, bias[] = {6};
  done(heed_optimizer_add(optimizer, "fc.weight", fc, 2, 0));
  done(heed_optimizer_add(optimizer, "fc.bias", bias, 1, 0));
  refused(heed_optimizer_keep(optimizer, graph), HEED_SHAPE_MISMATCH, "fc.bias");  // fc.weight is in a state now
  done(heed_graph_roll_back(graph));
  done(heed_device_compile(device, graph, nullptr, nullptr, plan.out()));
  refused(heed_graph_roll_back(nullptr), HEED_INVALID_ARGUMENT, "graph");
}

}  // namespace heed::test
