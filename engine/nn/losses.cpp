#include "nn/parts.hpp"

namespace heed::nn {

namespace {

constexpr const char* kName = "cross_entropy";

// [...] -> [..., 1]
Tensor as_column(Graph& g, Tensor labels) {
  Shape shape = g.shape(labels);
  shape.push_back(1);
  return g.reshape(labels, shape);
}

}  // namespace

CrossEntropyResult cross_entropy(Graph& g, Tensor logits, Tensor labels, const CrossEntropyOptions& options) {
  const int64_t classes = width_of(g, logits, kName);
  if (classes == 0) return {};
  const auto share = options.label_smoothing;
  const bool is_weighted = options.class_weights.valid();
  if (!(share >= 0.0f && share <= 1.0f) || options.reduction > LossReduction::Mean)
    return {
        mistake(g, Status::InvalidArgument, kName,
                "label_smoothing is %g, reduction is %d; the first must be 0 to 1, the second one of those there are",
                static_cast<double>(share), static_cast<int>(options.reduction)),
        {}};
  const Shape given = g.shape(options.class_weights);
  if (is_weighted && (given.rank != 1 || given[0] != Dim(classes)))
    return {mistake(g, Status::ShapeMismatch, kName, "class_weights must be [%lld], a number for each class",
                    static_cast<long long>(classes)),
            {}};
  const Label label(g, kName);
  const auto number = [&](int64_t value) { return g.number(static_cast<double>(value), DType::I32); };
  const Tensor none = g.number(0.0);
  const Tensor is_class = g.logical_and(g.ge(labels, number(0)), g.lt(labels, number(classes))),
               counts = g.logical_and(is_class, g.ne(labels, number(options.ignored)));
  labels = g.where(counts, labels, number(-1));

  const Tensor logs = options.of_log_probabilities ? logits : g.log_softmax(logits);
  const bool smooths_apart = share > 0.0f && (is_weighted || options.of_log_probabilities);
  Tensor losses;
  if (options.of_log_probabilities) {
    const Tensor picked = g.take(logits, -1, as_column(g, labels));
    losses = g.cast(g.neg(g.reshape(picked, g.shape(labels))), DType::F32);
  } else {
    losses = g.cross_entropy(logits, labels, smooths_apart ? 0.0f : share);
  }
  Tensor class_weights, weights;
  if (is_weighted) {
    class_weights = g.cast(options.class_weights, DType::F32);
    weights = g.reshape(g.take(class_weights, 0, g.reshape(labels, {-1})), g.shape(labels));
    losses = g.mul(losses, weights);
  }
  if (smooths_apart) {
    // Not the 16-bit log-probabilities, whose rounding errors would add up.
    const Tensor wide = g.cast(logits, DType::F32);
    Tensor all = options.of_log_probabilities ? wide : g.dtype(logits) == DType::F32 ? logs : g.log_softmax(wide);
    if (is_weighted) all = g.mul(all, class_weights);
    const Tensor means = g.where(counts, g.reduce(all, Reduction::Mean, {-1}), none);
    losses = g.sub(g.scale(losses, 1.0f - share), g.scale(means, share));
  }

  if (options.reduction == LossReduction::None) return {losses, logs};
  const Tensor sum = g.reduce(losses, Reduction::Sum, {});
  if (options.reduction == LossReduction::Sum) return {sum, logs};
  const Tensor total = g.reduce(is_weighted ? weights : g.cast(counts, DType::F32), Reduction::Sum, {});
  return {g.div(sum, g.where(g.eq(total, none), g.number(1.0), total)), logs};
}

}  // namespace heed::nn
