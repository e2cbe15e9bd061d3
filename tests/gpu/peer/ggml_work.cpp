// Computes works of tests/gpu/profile/works.cpp with ggml's Vulkan backend.
//   ggml_work BACKENDS WORK                 once, so that the layer can record it. BACKENDS: the folder with libggml-vulkan.so
//   ggml_work BACKENDS --seconds S WORK...  repeatedly. Prints "wall,WORK,median,least,most,runs,copies" in microseconds by the
//                                           host's clock, including the upload of inputs that change with each token, and the
//                                           download of the result; `runs` runs were counted. With GGML_VK_PERF_LOGGER=1 ggml's
//                                           log of each run comes first, and a run computes a work of few nodes `copies` times
// Exit code 4: ggml has no such work, or not on this device.
#include <ggml-alloc.h>
#include <ggml-backend.h>
#include <ggml.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>
#include <vector>

namespace {

struct Build {
  ggml_context* ctx;
  std::vector<ggml_tensor*> inputs = {};
  std::vector<ggml_tensor*> shared = {};  // those of `inputs` that all copies of a work read
  size_t next = 0;                        // of `shared`
  ggml_tensor* own(ggml_type type, int64_t a, int64_t b = 1, int64_t c = 1) {
    return inputs.emplace_back(ggml_new_tensor_3d(ctx, type, a, b, c));
  }
  ggml_tensor* tensor(ggml_type type, int64_t a, int64_t b = 1, int64_t c = 1) {
    if (next == shared.size()) shared.push_back(own(type, a, b, c));
    return shared[next++];
  }
};

// Splits a work's name into words. Sizes are numbers separated by x.
struct Words {
  std::vector<std::string> words = {};
  explicit Words(const std::string& text) {
    std::istringstream list(text);
    for (std::string word; list >> word;) words.push_back(word);
  }
  std::vector<int64_t> sizes(size_t i) const {
    std::vector<int64_t> result;
    std::istringstream list(i < words.size() ? words[i] : "");
    for (std::string size; std::getline(list, size, 'x');) result.push_back(std::atoll(size.c_str()));
    return result;
  }
};

ggml_type type_of(const std::string& word) {
  for (const ggml_type type :
       {GGML_TYPE_F32, GGML_TYPE_F16, GGML_TYPE_BF16, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1, GGML_TYPE_Q8_0})
    if (word == ggml_type_name(type)) return type;
  return GGML_TYPE_F32;
}

ggml_tensor* attention(Build& b, ggml_type type, const std::vector<int64_t>& heads, int64_t queries, int64_t keys,
                       bool causal) {
  const int64_t kv_heads = heads[0] == 32 ? 8 : heads[0];
  ggml_tensor* mask = causal ? b.tensor(GGML_TYPE_F16, keys, queries) : nullptr;
  if (mask != nullptr) ggml_set_name(mask, "mask");
  ggml_tensor* q = b.tensor(GGML_TYPE_F32, heads[1], queries, heads[0]);
  return ggml_flash_attn_ext(b.ctx, q, b.tensor(type, heads[1], keys, kv_heads),
                             b.tensor(type, heads[1], keys, kv_heads), mask,
                             1.0f / std::sqrt(static_cast<float>(heads[1])), 0.0f, 0.0f);
}

ggml_tensor* linear(Build& b, ggml_tensor* x, ggml_type type, int64_t out) {
  return ggml_add(b.ctx, ggml_mul_mat(b.ctx, b.tensor(type, x->ne[0], out), x), b.tensor(GGML_TYPE_F32, out));
}
ggml_tensor* layernorm(Build& b, ggml_tensor* x) {
  ggml_tensor* scaled = ggml_mul(b.ctx, ggml_norm(b.ctx, x, 1e-5f), b.tensor(GGML_TYPE_F32, x->ne[0]));
  return ggml_add(b.ctx, scaled, b.tensor(GGML_TYPE_F32, x->ne[0]));
}

ggml_tensor* encoder(Build& b, ggml_type type, int64_t tokens) {
  const auto heads_of = [&](ggml_tensor* x) {
    return ggml_permute(b.ctx, ggml_reshape_3d(b.ctx, x, 64, 12, tokens), 0, 2, 1, 3);
  };
  // Keys and values become f16, as in a cache: ggml's attention on matrix units supports no other type.
  const auto kept = [&](ggml_tensor* x) { return ggml_cast(b.ctx, heads_of(x), type); };
  ggml_tensor* x = b.tensor(GGML_TYPE_F32, 768, tokens);
  for (int i = 0; i < 12; ++i) {
    ggml_tensor* q = heads_of(linear(b, x, type, 768));
    ggml_tensor* k = kept(linear(b, x, type, 768));
    ggml_tensor* v = kept(linear(b, x, type, 768));
    ggml_tensor* y = ggml_flash_attn_ext(b.ctx, q, k, v, nullptr, 0.125f, 0.0f, 0.0f);
    x = layernorm(b, ggml_add(b.ctx, x, linear(b, ggml_reshape_2d(b.ctx, y, 768, tokens), type, 768)));
    x = layernorm(b, ggml_add(b.ctx, x, linear(b, ggml_gelu_erf(b.ctx, linear(b, x, type, 3072)), type, 768)));
  }
  return x;
}

// A token of SmolLM2-135M after `past` others, with keys and values in caches of f16, fused as in llama.cpp's graph.
ggml_tensor* smollm2(Build& b, ggml_cgraph* graph, ggml_type type, int64_t past) {
  constexpr int64_t kWidth = 576, kHeads = 9, kKeys = 3, kHead = 64, kHidden = 1536, kVocabulary = 49152;
  ggml_tensor* position = b.tensor(GGML_TYPE_I32, 1);
  ggml_tensor* at = b.tensor(GGML_TYPE_I64, 1);
  ggml_tensor* mask = b.tensor(GGML_TYPE_F16, past + 1, 1);
  ggml_tensor* x = ggml_get_rows(b.ctx, b.tensor(GGML_TYPE_F32, kWidth, 16), position);
  const auto norm = [&](ggml_tensor* y) {
    return ggml_mul(b.ctx, ggml_rms_norm(b.ctx, y, 1e-5f), b.tensor(GGML_TYPE_F32, kWidth));
  };
  const auto product = [&](ggml_tensor* y, int64_t out) {
    return ggml_mul_mat(b.ctx, b.tensor(type, y->ne[0], out), y);
  };
  const auto turned = [&](ggml_tensor* y, int64_t heads) {
    return ggml_rope_ext(b.ctx, ggml_reshape_3d(b.ctx, y, kHead, heads, 1), position, nullptr, kHead, 0, 8192, 100000,
                         1, 0, 1, 32, 1);
  };
  for (int i = 0; i < 30; ++i) {
    ggml_tensor* normed = norm(x);
    ggml_tensor* q = turned(product(normed, kHeads * kHead), kHeads);
    ggml_tensor* k = turned(product(normed, kKeys * kHead), kKeys);
    ggml_tensor* v = product(normed, kKeys * kHead);
    const auto append = [&](ggml_tensor* y) {
      ggml_tensor* cache = b.tensor(GGML_TYPE_F16, kKeys * kHead, past + 1);
      ggml_build_forward_expand(graph, ggml_set_rows(b.ctx, cache, ggml_reshape_2d(b.ctx, y, kKeys * kHead, 1), at));
      return ggml_permute(b.ctx, ggml_reshape_3d(b.ctx, cache, kHead, kKeys, past + 1), 0, 2, 1, 3);
    };
    ggml_build_forward_expand(graph, q);
    ggml_tensor* keys = append(k);
    ggml_tensor* values = append(v);
    ggml_tensor* y =
        ggml_flash_attn_ext(b.ctx, ggml_permute(b.ctx, q, 0, 2, 1, 3), keys, values, mask, 0.125f, 0.0f, 0.0f);
    x = ggml_add(b.ctx, product(ggml_reshape_2d(b.ctx, y, kWidth, 1), kWidth), x);
    normed = norm(x);
    ggml_tensor* gate = product(normed, kHidden);
    x = ggml_add(b.ctx, product(ggml_swiglu_split(b.ctx, gate, product(normed, kHidden)), kWidth), x);
  }
  return product(norm(x), kVocabulary);
}

// Returns null if there is no such work.
ggml_tensor* build(const Words& w, Build& b, ggml_cgraph* graph) {
  const std::string& what = w.words[0];
  const std::vector<int64_t> s = w.sizes(2);
  if (what == "token") {  // token after KEYS TYPE HEADS
    return attention(b, type_of(w.words[3]), w.sizes(4), 1, w.sizes(2)[0], false);
  }
  const ggml_type type = type_of(w.words[1]);
  // Each copy has its own rows, since ggml converts equal rows only once for consecutive matmuls.
  if (what == "product") return ggml_mul_mat(b.ctx, b.tensor(type, s[2], s[1]), b.own(GGML_TYPE_F32, s[2], s[0]));
  if (what == "attention") {
    const int64_t tokens = w.sizes(3)[0];
    return attention(b, type, s, tokens, tokens, w.words.back() == "causal");
  }
  if (what == "encoder") return encoder(b, type, s[0]);
  if (what == "smollm2") return smollm2(b, graph, type, 512);
  if (what == "rotary") {
    ggml_tensor* x = b.tensor(GGML_TYPE_F32, 64, 12, s[0]);
    return ggml_rope(b.ctx, x, b.tensor(GGML_TYPE_I32, s[0]), 64, 2);
  }
  ggml_tensor* x = b.tensor(GGML_TYPE_F32, s.at(1), s[0]);
  if (what == "softmax") return ggml_soft_max(b.ctx, x);
  if (what == "layernorm") return layernorm(b, x);
  if (what == "rmsnorm") return ggml_mul(b.ctx, ggml_rms_norm(b.ctx, x, 1e-5f), b.tensor(GGML_TYPE_F32, s[1]));
  return nullptr;
}

// Values that are neither all equal nor large. A mask hides later keys. Integers are zeros.
void fill(ggml_tensor* tensor) {
  const auto count = static_cast<size_t>(ggml_nelements(tensor));
  if (tensor->type == GGML_TYPE_I32 || tensor->type == GGML_TYPE_I64) {
    const std::vector<char> zeros(ggml_nbytes(tensor));
    return ggml_backend_tensor_set(tensor, zeros.data(), 0, zeros.size());
  }
  const bool mask = std::strcmp(tensor->name, "mask") == 0;
  std::vector<float> values(count);
  uint32_t state = 1;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    values[i] = static_cast<float>(state >> 8) / 8388608.0f - 1.0f;
    const auto keys = static_cast<size_t>(tensor->ne[0]);
    if (mask) values[i] = i % keys > i / keys ? -INFINITY : 0.0f;
  }
  if (tensor->type == GGML_TYPE_F32) return ggml_backend_tensor_set(tensor, values.data(), 0, count * 4);
  std::vector<char> bytes(ggml_nbytes(tensor));
  ggml_quantize_chunk(tensor->type, values.data(), bytes.data(), 0, static_cast<int64_t>(count) / tensor->ne[0],
                      tensor->ne[0], nullptr);
  ggml_backend_tensor_set(tensor, bytes.data(), 0, bytes.size());
}

// A GPU lowers its clock while it has little to do, and raises it slowly. Where the GPU's own clock measures, works of at most kFewNodes
// nodes are therefore computed kCopies times, and the first kWarmUp seconds do not count.
constexpr int kFewNodes = 4, kCopies = 16;
constexpr double kWarmUp = 0.3;

// Repeats for `seconds`, after two runs that create pipelines.
bool measure(ggml_backend_t backend, ggml_cgraph* graph, Build& b, ggml_tensor* result, double seconds,
             const std::string& work, int copies) {
  using Clock = std::chrono::steady_clock;
  std::vector<char> bytes(ggml_nbytes(result));
  std::vector<double> times;
  const Clock::time_point start = Clock::now();
  for (int i = 0;; ++i) {
    const Clock::time_point begin = Clock::now();
    const double spent = std::chrono::duration<double>(begin - start).count();
    if (times.size() >= 5 && spent > kWarmUp + seconds) break;
    for (ggml_tensor* input : b.inputs)
      if (input->type == GGML_TYPE_I32 || input->type == GGML_TYPE_I64) fill(input);
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) return false;
    if (copies == 1) ggml_backend_tensor_get(result, bytes.data(), 0, bytes.size());
    if (i >= 2 && spent >= kWarmUp)
      times.push_back(std::chrono::duration<double, std::micro>(Clock::now() - begin).count());
  }
  std::sort(times.begin(), times.end());
  std::fflush(nullptr);
  std::fprintf(stderr, "wall,%s,%.1f,%.1f,%.1f,%zu,%d\n", work.c_str(), times[times.size() / 2], times.front(),
               times.back(), times.size(), copies);
  return true;
}

// `seconds` 0 means once.
int run(ggml_backend_t backend, const std::string& work, double seconds) {
  ggml_context* ctx =
      ggml_init({ggml_tensor_overhead() * 8192 + ggml_graph_overhead_custom(8192, false), nullptr, true});
  Build b{ctx};
  ggml_cgraph* graph = ggml_new_graph_custom(ctx, 8192, false);
  ggml_tensor* result = build(Words(work), b, graph);
  if (result == nullptr) return 4;
  ggml_build_forward_expand(graph, result);
  const bool few =
      seconds > 0 && std::getenv("GGML_VK_PERF_LOGGER") != nullptr && ggml_graph_n_nodes(graph) <= kFewNodes;
  const int copies = few ? kCopies : 1;
  for (int i = 1; i < copies; ++i) {
    b.next = 0;
    ggml_build_forward_expand(graph, build(Words(work), b, graph));
  }
  for (int i = 0; i < ggml_graph_n_nodes(graph); ++i)
    if (!ggml_backend_supports_op(backend, ggml_graph_node(graph, i))) {
      std::fprintf(stderr, "%s: ggml does not do %s\n", work.c_str(), ggml_op_desc(ggml_graph_node(graph, i)));
      return 4;
    }
  ggml_backend_buffer_t memory = ggml_backend_alloc_ctx_tensors(ctx, backend);
  if (memory == nullptr) return 4;
  for (ggml_tensor* input : b.inputs) fill(input);
  if (seconds > 0) {
    const bool measured = measure(backend, graph, b, result, seconds, work, copies);
    ggml_backend_buffer_free(memory);
    ggml_free(ctx);
    return measured ? 0 : 1;
  }
  const bool good = ggml_backend_graph_compute(backend, graph) == GGML_STATUS_SUCCESS;
  ggml_backend_synchronize(backend);
  std::fprintf(stderr, "%s: %d nodes\n", work.c_str(), ggml_graph_n_nodes(graph));
  return good ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  const bool timed = argc > 4 && std::strcmp(argv[2], "--seconds") == 0;
  if (argc != 3 && !timed) return 2;
  ggml_backend_load((std::string(argv[1]) + "/libggml-vulkan.so").c_str());
  ggml_backend_dev_t device = ggml_backend_dev_count() > 0 ? ggml_backend_dev_get(0) : nullptr;
  ggml_backend_t backend = device != nullptr ? ggml_backend_dev_init(device, nullptr) : nullptr;
  if (backend == nullptr) {
    std::fprintf(stderr, "ggml finds no Vulkan device\n");
    return 1;
  }
  std::fprintf(stderr, "%s\n", ggml_backend_dev_description(device));
  int result = timed ? 0 : run(backend, argv[2], 0);
  for (int i = 4; timed && i < argc; ++i)
    if (const int failed = run(backend, argv[i], std::atof(argv[3])); failed != 0) result = failed;
  // Exits without destructors, since threads of ggml and the driver wait for work that was never computed.
  std::fflush(nullptr);
  std::_Exit(result);
}
