// Layers through C build the graphs that heed::nn builds: the same weights, tensors and nodes in the same order.
#include "c/graph_object.hpp"
#include "c/kept.hpp"
#include "graph/graph_data.hpp"

namespace heed::test {
namespace {

struct Sides {
  heed_graph* c = nullptr;
  heed_tensor x = 0, memory = 0;
  Graph cpp;
  Tensor cpp_x, cpp_memory;
};

void check_same_data(const detail::GraphData& got, const detail::GraphData& want) {
  REQUIRE(got.weights.size() == want.weights.size());
  for (size_t i = 0; i < want.weights.size(); ++i) {
    CHECK(got.weights[i].name == want.weights[i].name);
    CHECK(got.weights[i].tensor == want.weights[i].tensor);
  }
  REQUIRE(got.tensors.size() == want.tensors.size());
  for (size_t i = 0; i < want.tensors.size(); ++i) {
    INFO("tensor " << i << " " << want.tensors[i].name);
    CHECK(got.tensors[i].dims == want.tensors[i].dims);
    CHECK(got.tensors[i].dtype == want.tensors[i].dtype);
    CHECK(got.tensors[i].storage == want.tensors[i].storage);
  }
  REQUIRE(got.nodes.size() == want.nodes.size());
  for (size_t i = 0; i < want.nodes.size(); ++i) {
    INFO("node " << i << " " << want.nodes[i].label);
    CHECK(got.nodes[i].op == want.nodes[i].op);
    CHECK(got.nodes[i].inputs == want.nodes[i].inputs);
    CHECK(got.nodes[i].outputs == want.nodes[i].outputs);
    CHECK(got.nodes[i].label == want.nodes[i].label);
  }
}

// Builds with x [2, 5, 8] and memory [2, 4, 8] through both. The graph must declare at least `weights` weights.
void check_layer(const char* what, size_t weights, const std::function<void(Sides&)>& in_c,
                 const std::function<void(Sides&)>& in_cpp) {
  INFO(what);
  KeptGraph graph(heed_graph_create);
  Sides sides;
  sides.c = graph;
  const heed_dim x_shape[] = {2, 5, 8}, memory_shape[] = {2, 4, 8};
  sides.x = heed_graph_input(graph, "x", x_shape, 3, HEED_F32);
  sides.memory = heed_graph_input(graph, "memory", memory_shape, 3, HEED_F32);
  sides.cpp_x = sides.cpp.input("x", {2, 5, 8});
  sides.cpp_memory = sides.cpp.input("memory", {2, 4, 8});
  in_c(sides);
  done(heed_graph_get_status(graph));
  in_cpp(sides);
  INFO(sides.cpp.error());
  REQUIRE(sides.cpp.status() == Status::Ok);
  CHECK(sides.cpp.data().weights.size() >= weights);
  c::Call call("test");
  const c::Pin<c::Graph> behind(call, graph);
  REQUIRE(behind);
  check_same_data(behind->it.data(), sides.cpp.data());
}

}  // namespace

TEST_CASE("C: small layers and attentions are those of heed::nn", "[c][nn]") {
  check_layer(
      "linear and norms", 4,
      [](Sides& s) {
        const heed_tensor y = heed_nn_linear(s.c, s.x, "fc", 6, 1, HEED_BF16);
        heed_nn_rmsnorm(s.c, heed_nn_layernorm(s.c, y, "a", 1e-5f), "b", 1e-6f);
      },
      [](Sides& s) {
        nn::rmsnorm(s.cpp, nn::layernorm(s.cpp, nn::linear(s.cpp, s.cpp_x, "fc", 6, true, DType::BF16), "a"), "b");
      });
  check_layer(
      "attention with names, grouped keys, norms of heads, rotary and a cache", 6,
      [](Sides& s) {
        auto names = sized<heed_attention_names>();
        names.q = "query";
        names.kv = "both";
        names.out = "last";
        names.q_norm = "qn";
        names.k_norm = "kn";
        auto rotary = sized<heed_rotary_options>();
        rotary.base = 500;
        rotary.scaling.kind = HEED_ROTARY_SCALING_LINEAR;
        rotary.scaling.factor = 2;
        auto options = sized<heed_multi_head_options>();
        options.heads = 4;
        options.kv_heads = 2;
        options.out_width = 10;
        options.names = &names;
        options.rotary = &rotary;
        options.cache.capacity = 16;
        options.cache.past = heed_graph_position(s.c, "past", 12);
        options.cache.dtype = HEED_F16;
        options.causal = HEED_CAUSAL_BOTTOM_RIGHT;
        options.window = 6;
        options.bias = 0;
        options.weight_dtype = HEED_F16;
        options.head_norm_eps = 1e-4f;
        heed_nn_self_attention(s.c, s.x, "layer", &options);
      },
      [](Sides& s) {
        const Dim past = s.cpp.position("past", 12);
        nn::self_attention(
            s.cpp, s.cpp_x, "layer",
            {.heads = 4,
             .kv_heads = 2,
             .out_width = 10,
             .names = nn::AttentionNames{.q = "query", .kv = "both", .out = "last", .q_norm = "qn", .k_norm = "kn"},
             .bias = false,
             .weight_dtype = DType::F16,
             .causal = Causal::BottomRight,
             .window = 6,
             .rotary = RotaryOptions{.base = 500, .scaling = {.kind = RotaryScaling::Kind::Linear, .factor = 2}},
             .head_norm_eps = 1e-4f,
             .cache = {.capacity = 16, .past = past, .dtype = DType::F16}});
      });
  check_layer(
      "cross, separate and single", 14,
      [](Sides& s) {
        auto options = sized<heed_multi_head_options>();
        options.heads = 2;
        options.scale = 0.25f;
        heed_nn_cross_attention(s.c, s.x, s.memory, "cross", &options);
        heed_nn_attention(s.c, s.x, s.memory, s.memory, "separate", nullptr);
        options.names = heed_nn_torch_multihead();
        heed_nn_self_attention(s.c, s.x, "torch", &options);
        auto single = sized<heed_attention_options>();
        single.softcap = 3.0f;
        single.window_ahead = 2;
        single.return_scores = HEED_SCORES_MASKED;
        heed_attention_result result = {};
        CHECK(heed_nn_single_head(s.c, s.x, s.memory, s.memory, &single, &result) == result.output);
        CHECK((result.scores != 0 && result.weights == 0));
        heed_nn_single_head(s.c, s.x, s.memory, s.memory, nullptr, nullptr);
      },
      [](Sides& s) {
        nn::cross_attention(s.cpp, s.cpp_x, s.cpp_memory, "cross", {.heads = 2, .scale = 0.25f});
        nn::attention(s.cpp, s.cpp_x, s.cpp_memory, s.cpp_memory, "separate");
        nn::self_attention(s.cpp, s.cpp_x, "torch", {.heads = 2, .names = nn::kTorchMultihead, .scale = 0.25f});
        nn::single_head(s.cpp, s.cpp_x, s.cpp_memory, s.cpp_memory,
                        {.softcap = 3.0f, .window_ahead = 2, .return_scores = Scores::Masked});
        nn::single_head(s.cpp, s.cpp_x, s.cpp_memory, s.cpp_memory);
      });
}

TEST_CASE("C: the loss is that of heed::nn", "[c][nn]") {
  check_layer(
      "cross entropy", 0,
      [](Sides& s) {
        const heed_dim shape[] = {2, 5}, classes = 8;
        auto options = sized<heed_cross_entropy_options>();
        options.class_weights = heed_graph_input(s.c, "weights", &classes, 1, HEED_F32);
        options.label_smoothing = 0.1f;
        options.reduction = HEED_LOSS_REDUCTION_SUM;
        const heed_tensor labels = heed_graph_input(s.c, "labels", shape, 2, HEED_I32);
        heed_cross_entropy_result result = {};
        CHECK(heed_nn_cross_entropy(s.c, s.x, labels, &options, &result) == result.loss);
        CHECK(result.log_probabilities != 0);
      },
      [](Sides& s) {
        const Tensor weights = s.cpp.input("weights", {8}), labels = s.cpp.input("labels", {2, 5}, DType::I32);
        nn::cross_entropy(s.cpp, s.cpp_x, labels,
                          {.class_weights = weights, .label_smoothing = 0.1f, .reduction = nn::LossReduction::Sum});
      });
}

TEST_CASE("C: blocks, layers, stacks and the transformer are those of heed::nn", "[c][nn]") {
  check_layer(
      "blocks", 10,
      [](Sides& s) {
        auto names = sized<heed_attention_block_names>();
        names.norm = "ln";
        auto norm = sized<heed_norm_options>();
        norm.placement = HEED_NORM_PRE;
        norm.kind = HEED_NORM_RMS;
        norm.eps = 1e-3f;
        heed_tensor y = heed_nn_attention_block(s.c, s.x, s.x, s.x, "a", &names, nullptr, &norm);
        auto feed = sized<heed_feed_forward_options>();
        feed.hidden = 12;
        feed.gate = "gate";
        feed.activation = HEED_ACTIVATION_SILU;
        feed.bias = 0;
        y = heed_nn_feed_forward_block(s.c, y, "b", nullptr, &feed, &norm);
        heed_nn_feed_forward(s.c, y, "c", nullptr);
      },
      [](Sides& s) {
        const nn::NormOptions norm = {.placement = nn::NormPlacement::Pre, .eps = 1e-3f, .kind = nn::NormKind::Rms};
        Tensor y = nn::attention_block(s.cpp, s.cpp_x, s.cpp_x, s.cpp_x, "a", {.norm = "ln"}, {}, norm);
        y = nn::feed_forward_block(s.cpp, y, "b", {},
                                   {.hidden = 12, .activation = Activation::Silu, .gate = "gate", .bias = false}, norm);
        nn::feed_forward(s.cpp, y, "c");
      });
  check_layer(
      "layers and stacks", 40,
      [](Sides& s) {
        auto encoder = sized<heed_encoder_layer_options>();
        encoder.attention.heads = 4;
        encoder.attention.causal = HEED_CAUSAL_TOP_LEFT;
        auto decoder = sized<heed_decoder_layer_options>();
        decoder.self_attention = encoder.attention;
        auto two = sized<heed_stack_options>(), three = sized<heed_stack_options>();
        two.layers = 2;
        two.final_norm = "many.norm";
        three.layers = 3;
        heed_tensor y = heed_nn_encoder_layer(s.c, s.x, "one", &encoder);
        y = heed_nn_encoder_stack(s.c, y, "many", &encoder, &two);
        y = heed_nn_decoder_layer(s.c, y, s.memory, "two", &decoder);
        heed_nn_decoder_stack(s.c, y, s.memory, "more", &decoder, &three);
      },
      [](Sides& s) {
        const nn::EncoderLayerOptions encoder = {.attention = {.heads = 4, .causal = Causal::TopLeft}};
        const nn::DecoderLayerOptions decoder = {.self_attention = {.heads = 4, .causal = Causal::TopLeft}};
        Tensor y = nn::encoder_layer(s.cpp, s.cpp_x, "one", encoder);
        y = nn::encoder_stack(s.cpp, y, "many", encoder, {2, "many.norm"});
        y = nn::decoder_layer(s.cpp, y, s.cpp_memory, "two", decoder);
        nn::decoder_stack(s.cpp, y, s.cpp_memory, "more", decoder, {3, {}});
      });
  check_layer(
      "the transformer", 30,
      [](Sides& s) {
        auto options = sized<heed_transformer_options>();
        options.vocabulary = 11;
        options.decoder_stack.layers = 2;
        options.encoder_stack.final_norm = "encoder.norm";
        heed_transformer_result result = {};
        CHECK(heed_nn_transformer(s.c, s.x, s.memory, "model", &options, &result) == result.encoded);
        CHECK((result.encoded != 0 && result.decoded != 0 && result.logits != 0));
        done(heed_graph_output(s.c, "y", result.probabilities));
      },
      [](Sides& s) {
        const nn::TransformerResult result =
            nn::transformer(s.cpp, s.cpp_x, s.cpp_memory, "model",
                            {.encoder_stack = {1, "encoder.norm"}, .decoder_stack = {2, {}}, .vocabulary = 11});
        s.cpp.output("y", result.probabilities);
      });
}

}  // namespace heed::test
