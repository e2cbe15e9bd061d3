// Graph calls: elementwise functions. Each adds a node with a program of one or a few steps; join_elementwise later merges chains of them
// into one pass.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <span>

#include "graph/build/backward.hpp"

namespace heed {

using detail::Build;
using Operand = ElementwiseAttrs::Operand;

namespace {

// The bits of a one-element constant, as programs store them; none for other tensors.
std::optional<uint32_t> number_of(const Build& build, Tensor t) {
  const TensorInfo& info = build.info(t);
  for (const detail::ConstantInfo& constant : build.data().constants) {
    if (constant.tensor != info.storage || constant.data.size() != size_of(info.dtype)) continue;
    uint32_t bits = 0;
    std::memcpy(&bits, constant.data.data(), constant.data.size());  // a U8 is the low byte
    return bits;
  }
  return std::nullopt;
}

// One call: its operands become inputs of a node, or numbers of its program.
class Call {
 public:
  Call(Build& build, std::span<const Tensor> operands) : build_(build), tensors_(operands.begin(), operands.end()) {}

  // Records a mistake and returns false unless all operands have one type that the function accepts, and broadcast. The first `masks`
  // operands are U8.
  bool fits(Function function, size_t masks = 0) {
    if (!build_.needs(tensors_)) return false;
    for (const Tensor x : tensors_) numbers_.push_back(number_of(build_, x));
    // At least one operand stays a tensor, so that the node has an input type.
    if (std::all_of(numbers_.begin() + static_cast<ptrdiff_t>(masks), numbers_.end(),
                    [](const auto& n) { return n.has_value(); }))
      numbers_[masks].reset();
    return have_type(function, masks) && have_shape();
  }

  const TensorInfo& typed() const { return build_.info(typed_); }
  Domain domain() const { return domain_of(typed().dtype); }

  // Makes operand i an input of the node, or a number of its program.
  Operand operand(ElementwiseAttrs* attrs, size_t i) {
    if (numbers_[i]) return attrs->scalar_bits(*numbers_[i]);
    const auto known = std::find(inputs_.begin(), inputs_.end(), tensors_[i]);
    const auto at = known - inputs_.begin();
    if (known == inputs_.end()) inputs_.push_back(tensors_[i]);
    return ElementwiseAttrs::input(static_cast<int>(at));
  }

  Tensor add(const ElementwiseAttrs& attrs, DType to) {
    const Tensor result = build_.add_like(shape_, to);
    Node& node = build_.add_node(Op::Elementwise, {}, result, attrs);
    std::copy(inputs_.begin(), inputs_.end(), node.inputs.begin());
    return result;
  }

 private:
  bool have_type(Function function, size_t masks) {
    for (size_t i = 0; i < masks; ++i)
      if (build_.info(tensors_[i]).dtype != DType::U8)
        return build_.refuse(Status::DTypeMismatch, format("mask %s must be u8", build_.text(tensors_[i]).c_str()));
    size_t typed = masks;
    while (numbers_[typed]) ++typed;
    typed_ = tensors_[typed];
    const uint32_t takes = info_of(function).takes;
    bool fits = (takes >> static_cast<int>(domain()) & 1) != 0;
    for (size_t i = masks; i < tensors_.size(); ++i) {
      const DType dtype = build_.info(tensors_[i]).dtype;
      fits = fits && (dtype == this->typed().dtype || (numbers_[i] && domain_of(dtype) == domain()));
    }
    if (fits) return true;
    std::string texts;
    for (size_t i = masks; i < tensors_.size(); ++i) texts += (i == masks ? "" : " and ") + build_.text(tensors_[i]);
    const bool bytes = (takes & functions::kByte) != 0, whole = (takes & functions::kWhole) != 0,
               floats = (takes & functions::kFloat) != 0;
    return build_.refuse(
        Status::DTypeMismatch,
        format("%s: %s%s%s%s is needed", texts.c_str(), tensors_.size() - masks > 1 ? "the same one of " : "",
               floats ? "f32, f16 and bf16" : "u8", floats && whole ? ", or i32," : "",
               floats && bytes ? " or u8," : ""));
  }

  bool have_shape() {
    shape_ = build_.info(tensors_[0]);
    for (size_t i = 1; i < tensors_.size(); ++i) {
      TensorInfo out;
      if (!build_.broadcast(shape_, build_.info(tensors_[i]), &out))
        return build_.refuse(
            Status::ShapeMismatch,
            format("%s and %s do not broadcast", build_.text(tensors_[0]).c_str(), build_.text(tensors_[i]).c_str()));
      shape_ = out;
    }
    return true;
  }

  Build& build_;
  std::vector<Tensor> tensors_, inputs_;
  std::vector<std::optional<uint32_t>> numbers_;
  Tensor typed_;
  TensorInfo shape_;
};

DType result_type(Function function, DType operands) {
  switch (info_of(function).result) {
    case FunctionInfo::Result::Byte: return DType::U8;
    case FunctionInfo::Result::Whole: return DType::I32;
    case FunctionInfo::Result::Float: return DType::F32;
    default: return operands;
  }
}

Tensor apply(Build build, Function function, std::span<const Tensor> operands) {
  Call call(build, operands);
  if (!call.fits(function, function == Function::Where ? 1 : 0)) return {};
  ElementwiseAttrs attrs = ElementwiseAttrs::empty();
  std::array<Operand, 3> reads{};
  for (size_t i = 0; i < operands.size(); ++i) reads[i] = call.operand(&attrs, i);
  const bool commutes = function == Function::Add || function == Function::Mul;
  if (commutes && reads[0].is(Operand::Scalar)) std::swap(reads[0], reads[1]);
  attrs.add(function, reads, call.domain());
  return call.add(attrs, result_type(function, call.typed().dtype));
}
Tensor apply(Build build, Function function, std::initializer_list<Tensor> operands) {
  return apply(build, function, std::span(operands.begin(), operands.size()));
}

// Adds a node with a program of one floating-point tensor. body(attrs, x) appends the steps and returns the result.
template <class Body>
Tensor of_one(Build build, Tensor x, const Body& body) {
  Call call(build, {&x, 1});
  if (!call.fits(Function::Exp)) return {};
  ElementwiseAttrs attrs = ElementwiseAttrs::empty();
  body(attrs, call.operand(&attrs, 0));
  return call.add(attrs, call.typed().dtype);
}

}  // namespace

Tensor detail::apply(GraphData& data, Function function, std::span<const Tensor> operands) {
  return heed::apply({data, info_of(function).name}, function, operands);
}

// The calls that the sheet lists, by their number of operands.
#define HEED_CALL_1(name, function) \
  Tensor Graph::name(Tensor x) { return heed::apply({*data_, #name}, Function::function, {x}); }
#define HEED_CALL_2(name, function) \
  Tensor Graph::name(Tensor a, Tensor b) { return heed::apply({*data_, #name}, Function::function, {a, b}); }
#define HEED_CALL_3(name, function)                                        \
  Tensor Graph::name(Tensor mask, Tensor a, Tensor b) {                    \
    return heed::apply({*data_, #name}, Function::function, {mask, a, b}); \
  }
#define HEED_FUNCTION_kCall(enumerator, name, operands) HEED_CALL_##operands(name, enumerator)
#define HEED_FUNCTION_kInner(enumerator, name, operands)
#define HEED_FUNCTION(enumerator, name, operands, takes, result, flops, graph) \
  HEED_FUNCTION_##graph(enumerator, name, operands)
#include "graph/functions.inc"
#undef HEED_FUNCTION

Tensor Graph::number(double value, DType dtype) {
  Build build(*data_, "number");
  if (build.failed()) return {};
  const bool is_float = dtype == DType::F32, is_whole = dtype == DType::I32;
  const double low = is_whole ? -2147483648.0 : 0.0, high = is_whole ? 2147483647.0 : 255.0;
  if (!is_float && !is_whole && dtype != DType::U8)
    return build.fail(Status::DTypeMismatch, "a number is f32, which also serves f16 and bf16, or i32 or u8");
  if (!is_float && !(value >= low && value <= high && value == std::floor(value)))
    return build.fail(Status::InvalidArgument, format("%g is no number of type %s", value, to_string(dtype)));
  // Equal numbers share one constant. Its name is unlikely to collide with a user's.
  const std::string name = format("number/%s/%a", to_string(dtype), value);
  return build.shared_table(name, {1}, dtype, 1, [&](std::byte* memory) {
    const auto f = static_cast<float>(value);
    const auto i = is_float ? 0 : static_cast<int32_t>(value);
    const auto u = static_cast<uint8_t>(i);
    std::memcpy(memory,
                is_float   ? static_cast<const void*>(&f)
                : is_whole ? static_cast<const void*>(&i)
                           : &u,
                size_of(dtype));
  });
}

Tensor Graph::clamp(Tensor x, float low, float high) {
  Build build(*data_, "clamp");
  if (!(low <= high) && !build.failed())
    return build.fail(Status::InvalidArgument,
                      format("from %g to %g", static_cast<double>(low), static_cast<double>(high)));
  return of_one(build, x, [&](ElementwiseAttrs& attrs, Operand value) {
    value = attrs.add(Function::Max, {value, attrs.scalar(low)});
    attrs.add(Function::Min, {value, attrs.scalar(high)});
  });
}

Tensor Graph::elu(Tensor x, float alpha) {
  return of_one({*data_, "elu"}, x, [&](ElementwiseAttrs& attrs, Operand value) {
    attrs.add(Function::Elu, {value, attrs.scalar(alpha)});
  });
}

Tensor Graph::leaky_relu(Tensor x, float slope) {
  return of_one({*data_, "leaky_relu"}, x, [&](ElementwiseAttrs& attrs, Operand value) {
    const Operand positive = attrs.add(Function::Gt, {value, attrs.scalar(0.0f)});
    const Operand scaled = attrs.add(Function::Mul, {value, attrs.scalar(slope)});
    attrs.add(Function::Where, {positive, value, scaled});
  });
}

namespace {
Operand add_hard_sigmoid(ElementwiseAttrs& attrs, Operand x, float slope) {
  Operand value = attrs.add(Function::Mul, {x, attrs.scalar(slope)});
  value = attrs.add(Function::Add, {value, attrs.scalar(0.5f)});
  value = attrs.add(Function::Max, {value, attrs.scalar(0.0f)});
  return attrs.add(Function::Min, {value, attrs.scalar(1.0f)});
}
}  // namespace

Tensor Graph::hard_sigmoid(Tensor x, float slope) {
  return of_one({*data_, "hard_sigmoid"}, x,
                [&](ElementwiseAttrs& attrs, Operand value) { add_hard_sigmoid(attrs, value, slope); });
}

Tensor Graph::hard_swish(Tensor x) {
  return of_one({*data_, "hard_swish"}, x, [&](ElementwiseAttrs& attrs, Operand value) {
    attrs.add(Function::Mul, {value, add_hard_sigmoid(attrs, value, 1.0f / 6.0f)});
  });
}

Tensor Graph::scale(Tensor x, float factor) {
  Build build(*data_, "scale");
  return of_one(build, x, [&](ElementwiseAttrs& attrs, Operand) { attrs = program_of({.scale = factor}); });
}

Tensor Graph::activation(Tensor x, Activation kind) {
  Build build(*data_, "activation");
  if (kind > Activation::Tanh && build.needs({x}))
    return build.fail(Status::InvalidArgument, format("there is no activation %d", static_cast<int>(kind)));
  if (kind == Activation::None) return build.needs({x}) ? x : Tensor{};
  return apply(build, function_of(kind), {x});
}

Tensor Graph::cast(Tensor x, DType to) {
  Build build(*data_, "cast");
  if (!build.needs({x}) || !build.is_type(to, "the type")) return {};
  if (dtype(x) == to) return x;
  const Domain from = domain_of(dtype(x)), into = domain_of(to);
  const Function function = from == into            ? Function::Copy
                            : into == Domain::Float ? Function::ToFloat
                            : into == Domain::Whole ? Function::ToWhole
                                                    : Function::ToByte;
  Call call(build, {&x, 1});
  if (!call.fits(function)) return {};
  ElementwiseAttrs attrs = ElementwiseAttrs::empty();
  call.operand(&attrs, 0);
  attrs.add(function, {ElementwiseAttrs::input(0)}, from);
  return call.add(attrs, to);
}

}  // namespace heed
