// Rows of the comparisons with other libraries, as command-line arguments of every program here:
//   matmul:TYPE:MxNxK              x [M, K] times a weight [N, K]
//   attention:TYPE:HxSxD[:causal]  H heads of width D over S tokens
//   softmax:TYPE:RxC  layernorm:TYPE:RxC  add:TYPE:RxC
//   encoder:TYPE:T                 12 layers of width 768 (post-norm, erf GELU 3072, 12 heads) over T tokens
// TYPE is f32, f16 or bf16 (heed and PyTorch). A program prints a line for each row: the row, a tab, the median in milliseconds
// or "-", a tab, a note.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

namespace heed::bench {

struct Row {
  std::string text, op, type;
  std::vector<int64_t> sizes;
  bool causal = false;
};

// Exits with a message if the row cannot be parsed: these programs measure, and are no library.
inline Row parse_row(const std::string& text) {
  Row row;
  row.text = text;
  std::istringstream fields(text);
  std::string sizes, flag;
  std::getline(fields, row.op, ':');
  std::getline(fields, row.type, ':');
  std::getline(fields, sizes, ':');
  std::getline(fields, flag);
  row.causal = flag == "causal";
  std::istringstream list(sizes);
  for (std::string size; std::getline(list, size, 'x');) row.sizes.push_back(std::atoll(size.c_str()));
  const size_t wanted = row.op == "matmul" || row.op == "attention" ? 3 : row.op == "encoder" ? 1 : 2;
  const bool known = row.op == "matmul" || row.op == "attention" || row.op == "softmax" || row.op == "layernorm" ||
                     row.op == "add" || row.op == "encoder";
  const bool positive = std::all_of(row.sizes.begin(), row.sizes.end(), [](int64_t size) { return size > 0; });
  if (!known || (row.type != "f32" && row.type != "f16" && row.type != "bf16") || row.sizes.size() != wanted ||
      !positive) {
    std::fprintf(stderr, "cannot read the row '%s'\n", text.c_str());
    std::exit(2);
  }
  return row;
}

inline double median(std::vector<double> all) {
  std::sort(all.begin(), all.end());
  return all[all.size() / 2];
}

inline void print_row(const Row& row, double milliseconds, const std::string& note) {
  if (milliseconds >= 0)
    std::printf("%s\t%.4f\t%s\n", row.text.c_str(), milliseconds, note.c_str());
  else
    std::printf("%s\t-\t%s\n", row.text.c_str(), note.c_str());
  std::fflush(stdout);
}

}  // namespace heed::bench
