// oneDNN primitives with packed weights and post-operations (bias, gelu, residual), as a careful user of the library would write them.
// Builds with versions 2 and 3.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include "works.hpp"

namespace {

using namespace peers;
using dnnl::memory;
using Dims = memory::dims;
using Type = memory::data_type;
using Tag = memory::format_tag;

dnnl::engine& engine() {
  static dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}
dnnl::stream& stream() {
  static dnnl::stream s(engine());
  return s;
}

// Memory on huge pages, like heed's memory for weights.
struct Store {
  std::vector<std::shared_ptr<void>> held;
  void* allocate(size_t bytes) {
    constexpr size_t kPage = 2u << 20;
    bytes = (bytes + kPage - 1) / kPage * kPage;
    void* data = std::aligned_alloc(bytes >= 2 * kPage ? kPage : 64, bytes);
#if defined(MADV_HUGEPAGE)
    if (bytes >= 2 * kPage) (void)madvise(data, bytes, MADV_HUGEPAGE);
#endif
    std::memset(data, 0, bytes);
    held.emplace_back(data, std::free);
    return data;
  }
  memory make(const memory::desc& desc) { return memory(desc, engine(), allocate(desc.get_size())); }
  memory make(const Dims& dims, Type type = Type::f32) {
    static const Tag tags[] = {Tag::a, Tag::ab, Tag::abc, Tag::abcd};
    return make(memory::desc(dims, type, tags[dims.size() - 1]));
  }
  memory filled(const Dims& dims, const std::vector<float>& values) {
    memory m = make(dims);
    std::memcpy(m.get_data_handle(), values.data(), values.size() * sizeof(float));
    return m;
  }
};

memory::desc any(const Dims& dims, Type type) { return memory::desc(dims, type, Tag::any); }

using Arguments = std::unordered_map<int, memory>;
struct Call {
  dnnl::primitive primitive;
  Arguments arguments;
};
struct Net {
  Store store;
  std::vector<Call> calls;
  memory result;
  size_t count = 0;
  void run() {
    for (Call& call : calls) call.primitive.execute(stream(), call.arguments);
    stream().wait();
  }
};

dnnl::matmul::primitive_desc describe(const memory::desc& a, const memory::desc& b, const memory::desc& bias,
                                      const memory::desc& c, const dnnl::primitive_attr& attr, bool biased) {
#if DNNL_VERSION_MAJOR >= 3
  if (biased) return {engine(), a, b, bias, c, attr};
  return {engine(), a, b, c, attr};
#else
  if (biased) return {dnnl::matmul::desc(a, b, bias, c), attr, engine()};
  return {dnnl::matmul::desc(a, b, c), attr, engine()};
#endif
}

struct Linear {
  bool gelu = false;
  const memory* residual = nullptr;
};

// c = a w^T + bias, then gelu, then + residual. Weights are packed once, in the primitive's preferred layout.
memory linear(Net& net, const memory& a, uint32_t salt, int64_t out, int64_t in, Type type, bool biased,
              Linear more = {}) {
  const int64_t rows = a.get_desc().dims()[0];
  dnnl::primitive_attr attr;
  dnnl::post_ops ops;
#if DNNL_VERSION_MAJOR >= 3
  if (more.gelu) ops.append_eltwise(dnnl::algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
#else
  if (more.gelu) ops.append_eltwise(1.0f, dnnl::algorithm::eltwise_gelu_erf, 0.0f, 0.0f);
#endif
  if (more.residual != nullptr) ops.append_binary(dnnl::algorithm::binary_add, more.residual->get_desc());
  attr.set_post_ops(ops);
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  memory c = net.store.make({rows, out}, more.gelu && type != Type::f32 ? type : Type::f32);
  const memory::desc bias_desc({1, out}, Type::f32, Tag::ab);
  memory source = a;
  if (a.get_desc().data_type() != type) {
    source = net.store.make({rows, in}, type);
    net.calls.push_back({dnnl::reorder(a, source), {{DNNL_ARG_FROM, a}, {DNNL_ARG_TO, source}}});
  }
  const auto pd = describe(source.get_desc(), any({in, out}, type), bias_desc, c.get_desc(), attr, biased);
  Store plain;
  const std::vector<float> values = tensor(salt, out * in, kWeightSize);
  memory loose(memory::desc({in, out}, Type::f32, Tag::ba), engine(), const_cast<float*>(values.data()));
  memory packed = net.store.make(pd.weights_desc());
  dnnl::reorder(loose, packed).execute(stream(), loose, packed);
  stream().wait();
  Arguments arguments = {{DNNL_ARG_SRC, source},
                         {DNNL_ARG_WEIGHTS, packed},
                         {DNNL_ARG_DST, c},
                         {DNNL_ARG_SCRATCHPAD, net.store.make(pd.scratchpad_desc())}};
  if (biased) arguments[DNNL_ARG_BIAS] = net.store.filled({1, out}, tensor(salt + 1, out, kBiasSize));
  if (more.residual != nullptr)
    arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(more.gelu ? 1 : 0) | DNNL_ARG_SRC_1] = *more.residual;
  net.calls.push_back({dnnl::matmul(pd), arguments});
  return c;
}

memory norm(Net& net, const memory& x) {
  const memory::desc desc = x.get_desc();
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::layer_normalization_forward::primitive_desc pd(engine(), dnnl::prop_kind::forward_inference, desc, desc,
                                                             1e-5f, flags);
#else
  const dnnl::layer_normalization_forward::primitive_desc pd(
      dnnl::layer_normalization_forward::desc(dnnl::prop_kind::forward_inference, desc, 1e-5f, flags), engine());
#endif
  const auto width = static_cast<size_t>(kWidth);
  memory y = net.store.make(desc);
  net.calls.push_back({dnnl::layer_normalization_forward(pd),
                       {{DNNL_ARG_SRC, x},
                        {DNNL_ARG_DST, y},
                        {DNNL_ARG_SCALE, net.store.filled({kWidth}, std::vector<float>(width, 1.0f))},
                        {DNNL_ARG_SHIFT, net.store.filled({kWidth}, std::vector<float>(width, 0.0f))}}});
  return y;
}

// The view of heads [batch, heads, tokens, kHead] in a matrix.
memory heads_of(const memory& from, int64_t offset, const Dims& dims, const Dims& strides) {
  const memory::desc desc(dims, Type::f32, strides);
  return memory(desc, engine(), static_cast<float*>(from.get_data_handle()) + offset);
}

// softmax(q k^T / 8) v as three primitives, with transposed k.
void attend(Net& net, const memory& q, const memory& k_t, const memory& v, const memory& out, bool causal) {
  const Dims dims = q.get_desc().dims();
  const int64_t queries = dims[2], keys = v.get_desc().dims()[2];
  memory scores = net.store.make({dims[0], dims[1], queries, keys});
  dnnl::primitive_attr attr;
  dnnl::post_ops ops;
  ops.append_eltwise(
#if DNNL_VERSION_MAJOR < 3
      1.0f,
#endif
      dnnl::algorithm::eltwise_linear, 0.125f, 0.0f);
  memory mask;
  if (causal) {
    mask = net.store.make({1, 1, queries, keys});
    auto* values = static_cast<float*>(mask.get_data_handle());
    for (int64_t i = 0; i < queries; ++i)
      for (int64_t j = i + 1; j < keys; ++j) values[i * keys + j] = -1e30f;
    ops.append_binary(dnnl::algorithm::binary_add, mask.get_desc());
  }
  attr.set_post_ops(ops);
  const auto first = describe(q.get_desc(), k_t.get_desc(), {}, scores.get_desc(), attr, false);
  Arguments arguments = {{DNNL_ARG_SRC, q}, {DNNL_ARG_WEIGHTS, k_t}, {DNNL_ARG_DST, scores}};
  if (causal) arguments[DNNL_ARG_ATTR_MULTIPLE_POST_OP(1) | DNNL_ARG_SRC_1] = mask;
  net.calls.push_back({dnnl::matmul(first), arguments});
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::softmax_forward::primitive_desc softmax(engine(), dnnl::prop_kind::forward_inference,
                                                      dnnl::algorithm::softmax_accurate, scores.get_desc(),
                                                      scores.get_desc(), 3);
#else
  const dnnl::softmax_forward::primitive_desc softmax(
      dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, scores.get_desc(), 3), engine());
#endif
  net.calls.push_back({dnnl::softmax_forward(softmax), {{DNNL_ARG_SRC, scores}, {DNNL_ARG_DST, scores}}});
  const auto second = describe(scores.get_desc(), v.get_desc(), {}, out.get_desc(), {}, false);
  net.calls.push_back({dnnl::matmul(second), {{DNNL_ARG_SRC, scores}, {DNNL_ARG_WEIGHTS, v}, {DNNL_ARG_DST, out}}});
}

memory feed_forward(Net& net, const memory& x, uint32_t layer, Type type) {
  const memory wide = linear(net, x, layer + kUp, kHidden, kWidth, type, true, {.gelu = true});
  return norm(net, linear(net, wide, layer + kDown, kWidth, kHidden, type, true, {.residual = &x}));
}

bool stored_as(const std::string& word, Type* type) {
  *type = word == "bf16" ? Type::bf16 : Type::f32;
  return word == "bf16" || word == "f32";
}

bool start(const std::shared_ptr<Net>& net, const memory& result, int64_t count, Work* work) {
  net->result = result;
  work->run = [net] {
    net->run();
    return true;
  };
  work->result = [net](size_t i) { return static_cast<const float*>(net->result.get_data_handle())[i]; };
  work->count = static_cast<size_t>(count);
  return true;
}

bool prepare_matmul(std::istream& arguments, Work* work) {
  int64_t m = 0, n = 0, k = 0;
  std::string word;
  Type type;
  if (!(arguments >> m >> n >> k >> word) || !stored_as(word, &type)) return false;
  const auto net = std::make_shared<Net>();
  const memory x = net->store.filled({m, k}, tensor(kInput, m * k, kInputSize));
  return start(net, linear(*net, x, kQkv, n, k, type, false), m * n, work);
}

bool prepare_attention(std::istream& arguments, Work* work) {
  int64_t tokens = 0;
  std::string kind, type;
  if (!(arguments >> tokens >> kind >> type) || type != "f32") return false;
  const auto net = std::make_shared<Net>();
  const Dims dims = {1, kHeads, tokens, kHead};
  memory parts[3];
  for (uint32_t i = 0; i < 3; ++i) parts[i] = net->store.filled(dims, tensor(kInput + i, kWidth * tokens, kInputSize));
  const memory k_t = heads_of(parts[1], 0, {1, kHeads, kHead, tokens}, {kWidth * tokens, kHead * tokens, 1, kHead});
  const memory out = net->store.make(dims);
  attend(*net, parts[0], k_t, parts[2], out, kind == "causal");
  return start(net, out, kWidth * tokens, work);
}

bool prepare_encoder(std::istream& arguments, Work* work) {
  int64_t batch = 0, tokens = 0;
  std::string word;
  Type type;
  if (!(arguments >> batch >> tokens >> word) || !stored_as(word, &type)) return false;
  const auto net = std::make_shared<Net>();
  const int64_t rows = batch * tokens;
  memory x = net->store.filled({rows, kWidth}, tensor(kInput, rows * kWidth, kInputSize));
  const Dims dims = {batch, kHeads, tokens, kHead}, turned = {batch, kHeads, kHead, tokens};
  for (uint32_t i = 0; i < kLayers; ++i) {
    const memory qkv = linear(*net, x, 16 * i + kQkv, 3 * kWidth, kWidth, type, true);
    const Dims strides = {tokens * 3 * kWidth, kHead, 3 * kWidth, 1},
               t_strides = {tokens * 3 * kWidth, kHead, 1, 3 * kWidth};
    const memory mixed = net->store.make({rows, kWidth});
    attend(*net, heads_of(qkv, 0, dims, strides), heads_of(qkv, kWidth, turned, t_strides),
           heads_of(qkv, 2 * kWidth, dims, strides), heads_of(mixed, 0, dims, {tokens * kWidth, kHead, kWidth, 1}),
           false);
    x = norm(*net, linear(*net, mixed, 16 * i + kOut, kWidth, kWidth, type, true, {.residual = &x}));
    x = feed_forward(*net, x, 16 * i, type);
  }
  return start(net, x, rows * kWidth, work);
}

bool prepare_decode(std::istream& arguments, Work* work) {
  int64_t keys = 0;
  std::string word;
  Type type;
  if (!(arguments >> keys >> word) || !stored_as(word, &type)) return false;
  const auto net = std::make_shared<Net>();
  memory x = net->store.filled({1, kWidth}, tensor(kInput, kWidth, kInputSize));
  for (uint32_t i = 0; i < kLayers; ++i) {
    const Dims past = {1, kHeads, keys, kHead};
    const memory k = net->store.filled(past, tensor(16 * i + kPastKeys, kWidth * keys, kInputSize));
    const memory v = net->store.filled(past, tensor(16 * i + kPastValues, kWidth * keys, kInputSize));
    const memory qkv = linear(*net, x, 16 * i + kQkv, 3 * kWidth, kWidth, type, true),
                 mixed = net->store.make({1, kWidth});
    const Dims one = {1, kHeads, 1, kHead}, strides = {kWidth, kHead, kWidth, 1};
    attend(*net, heads_of(qkv, 0, one, {3 * kWidth, kHead, 3 * kWidth, 1}),
           heads_of(k, 0, {1, kHeads, kHead, keys}, {kWidth * keys, kHead * keys, 1, kHead}), v,
           heads_of(mixed, 0, one, strides), false);
    x = norm(*net, linear(*net, mixed, 16 * i + kOut, kWidth, kWidth, type, true, {.residual = &x}));
    x = feed_forward(*net, x, 16 * i, type);
  }
  return start(net, x, kWidth, work);
}

// x [.., channels] convolved by w [kOut, .., channels], with channels last as in the other peers. `src` and `weights` are oneDNN's dims,
// channels first.
bool convolve(const Dims& src, const Dims& weights, const Dims& dst, const Dims& strides, int64_t padding, Work* work) {
  const auto net = std::make_shared<Net>();
  const size_t axes = strides.size();
  const Tag last = axes == 1 ? Tag::nwc : Tag::nhwc;
  const auto count = [](const Dims& dims) {
    int64_t all = 1;
    for (const int64_t dim : dims) all *= dim;
    return all;
  };
  const Dims pads(axes, padding), dilation(axes, 0);
  const memory::desc x_desc(src, Type::f32, last), y_desc(dst, Type::f32, last), bias_desc({dst[1]}, Type::f32, Tag::a);
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto algorithm = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
  const dnnl::convolution_forward::primitive_desc pd(engine(), kind, algorithm, x_desc, any(weights, Type::f32),
                                                     bias_desc, y_desc, strides, dilation, pads, pads);
#else
  const dnnl::convolution_forward::primitive_desc pd(
      {kind, algorithm, x_desc, any(weights, Type::f32), bias_desc, y_desc, strides, dilation, pads, pads}, engine());
#endif
  std::vector<float> x = tensor(kInput, count(src), kInputSize), w = tensor(kQkv, count(weights), kWeightSize);
  memory source = net->store.make(x_desc), result = net->store.make(y_desc),
         packed = net->store.make(pd.weights_desc());
  std::memcpy(source.get_data_handle(), x.data(), x.size() * sizeof(float));
  memory loose(memory::desc(weights, Type::f32, axes == 1 ? Tag::owi : Tag::ohwi), engine(), w.data());
  dnnl::reorder(loose, packed).execute(stream(), loose, packed);
  stream().wait();
  net->calls.push_back({dnnl::convolution_forward(pd),
                        {{DNNL_ARG_SRC, source},
                         {DNNL_ARG_WEIGHTS, packed},
                         {DNNL_ARG_BIAS, net->store.filled({dst[1]}, tensor(kQkvBias, dst[1], kBiasSize))},
                         {DNNL_ARG_DST, result}}});
  return start(net, result, count(dst), work);
}

bool prepare_conv1d(std::istream& arguments, Work* work) {
  int64_t length = 0, channels = 0, made = 0, stride = 0;
  std::string type;
  if (!(arguments >> length >> channels >> made >> stride >> type) || type != "f32") return false;
  return convolve({1, channels, length}, {made, channels, 3}, {1, made, (length - 1) / stride + 1}, {stride}, 1, work);
}

bool prepare_patches(std::istream& arguments, Work* work) {
  int64_t side = 0;
  std::string type;
  if (!(arguments >> side >> type) || type != "f32") return false;
  return convolve({1, 3, side, side}, {kWidth, 3, 16, 16}, {1, kWidth, side / 16, side / 16}, {16, 16}, 0, work);
}

Prepare find(const std::string& work) {
  if (work == "conv1d") return prepare_conv1d;
  if (work == "patches") return prepare_patches;
  if (work == "matmul") return prepare_matmul;
  if (work == "attention") return prepare_attention;
  if (work == "encoder") return prepare_encoder;
  if (work == "decode") return prepare_decode;
  return {};
}

}  // namespace

int main() {
  const dnnl_version_t* v = dnnl_version();
  return serve("oneDNN " + std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch),
               find);
}
