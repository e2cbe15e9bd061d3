#include "bench/passes.hpp"

#include <algorithm>
#include <cstdio>

namespace heed::program {

namespace {

constexpr size_t kMostColumns = 44;  // a longer label loses its beginning, since its end says more

std::string line(const PassInfo& pass) {
  const size_t cut = pass.label.size() > kMostColumns ? pass.label.size() - kMostColumns : 0;
  char times[24] = "-", text[256];
  if (pass.fewest_bytes > 0) std::snprintf(times, sizeof times, "%.2f", times_fewest(pass));
  std::snprintf(text, sizeof text, "  %-*s %-20s %10u %10.3f %10.3f %7s  ", static_cast<int>(kMostColumns),
                pass.label.c_str() + cut, pass.op.c_str(), pass.dispatches, pass.bytes * 1e-6, pass.fewest_bytes * 1e-6,
                times);
  return text + pass.kernel + "\n";
}

}  // namespace

PassInfo total_of(const std::vector<PassInfo>& passes) {
  PassInfo total;
  for (const PassInfo& pass : passes) {
    total.dispatches += pass.dispatches;
    total.bytes += pass.bytes;
    total.fewest_bytes += pass.fewest_bytes;
    total.flops += pass.flops;
  }
  total.label = "total of " + std::to_string(passes.size()) + (passes.size() == 1 ? " pass" : " passes");
  return total;
}

double times_fewest(const PassInfo& pass) { return pass.fewest_bytes > 0 ? pass.bytes / pass.fewest_bytes : 0; }

std::string table_of(const std::vector<PassInfo>& passes) {
  char head[256];
  std::snprintf(head, sizeof head, "  %-*s %-20s %10s %10s %10s %7s  %s\n", static_cast<int>(kMostColumns), "pass",
                "op", "dispatches", "moved MB", "fewest MB", "times", "kernel");
  std::string text = head;
  for (const PassInfo& pass : passes) text += line(pass);
  return text + line(total_of(passes));
}

}  // namespace heed::program
