// Rows that normalizations find hard, shared by layernorm and rmsnorm.
#pragma once

#include "ops/trial.hpp"

namespace heed::ops {

struct Rows {
  Sizes shape;
  double center = 0.0, spread = 1.0;  // values are center +- spread, uniformly
  bool gamma = true, beta = true, residual = false;
  double eps = 1e-5;
};

inline std::vector<Rows> awkward_rows() {
  std::vector<Rows> rows;
  for (const int64_t n : {1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128, 129, 257, 768, 1023, 1025, 4097, 9001})
    rows.push_back({{3, n}});
  rows.push_back({{2, 70000}});
  rows.push_back({{70001, 3}});
  rows.push_back({{2, 3, 5, 40}});
  rows.push_back({{40}});
  rows.push_back({{5, 100}, 0.0, 1.0, false, false});
  rows.push_back({{5, 100}, 0.0, 1.0, true, false});
  rows.push_back({{5, 100}, 0.0, 1.0, true, true, true});
  rows.push_back({{5, 1000}, 3.0, 0.5, false, false, true});
  rows.push_back({{5, 100}, 0.0, 1e-4, true, true, false, 1e-12});
  rows.push_back({{5, 100}, 0.0, 1.0, true, true, false, 0.5});
  return rows;
}

inline std::string text_of(const Rows& r) {
  return text_of(r.shape) + (r.gamma ? " gamma" : "") + (r.beta ? " beta" : "") + (r.residual ? " residual" : "") +
         " mean " + std::to_string(r.center) + " spread " + std::to_string(r.spread);
}

}  // namespace heed::ops
