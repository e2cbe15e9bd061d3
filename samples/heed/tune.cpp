// `heed tune`: measures which kernels are the fastest on a device, and how much faster they are than the default choice.
#include <algorithm>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "golden/run.hpp"
#include "json.hpp"

namespace heed::program {

namespace {

using goldens::Messages;

nlohmann::json sizes_of(const TunedProduct& p) {
  return {{"m", p.m},
          {"n", p.n},
          {"k", p.k},
          {"transpose_b", p.transpose_b},
          {"b_dtype", to_string(p.b_dtype)},
          {"round_rows", p.round_rows},
          {"emulate_f32", p.emulate_f32}};
}

nlohmann::json sizes_of(const TunedAttention& a) {
  return {{"queries", a.queries}, {"keys", a.keys}, {"heads", a.heads}, {"head_size", a.head_size}};
}

template <class Work>
nlohmann::json to_json(const std::vector<Work>& list) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Work& t : list) {
    nlohmann::json& row = rows.emplace_back(sizes_of(t));
    row["dtype"] = to_string(t.dtype);
    row["usual"] = t.usual, row["usual_ms"] = t.usual_ms;
    row["fastest"] = t.fastest, row["fastest_ms"] = t.fastest_ms;
    row["variants"] = t.variants;
  }
  return rows;
}

void print_times(const Tuned& t) {
  std::printf("  %2u timed  %10.4f ms  %s", t.variants, t.usual_ms, t.usual.c_str());
  if (t.fastest != t.usual)
    std::printf(" -> %10.4f ms  %s  (%.2fx)", t.fastest_ms, t.fastest.c_str(), t.usual_ms / t.fastest_ms);
  std::printf("\n");
}

void print(const TunedProduct& p) {
  std::printf("matmul    %-4s %5lld x %lld x %lld%-4s", to_string(p.dtype), static_cast<long long>(p.m),
              static_cast<long long>(p.n), static_cast<long long>(p.k), p.transpose_b ? " b^T" : "");
  if (p.round_rows) std::printf(", by %s, round_rows", to_string(p.b_dtype));
  if (p.emulate_f32) std::printf(", emulate_f32");
  print_times(p);
}

void print(const TunedAttention& a) {
  std::printf("attention %-4s %5lld x %lld, %lld x %lld", to_string(a.dtype), static_cast<long long>(a.queries),
              static_cast<long long>(a.keys), static_cast<long long>(a.heads), static_cast<long long>(a.head_size));
  print_times(a);
}

template <class Work>
ptrdiff_t count_gains(const std::vector<Work>& list) {
  return std::count_if(list.begin(), list.end(), [](const Tuned& t) { return t.fastest != t.usual; });
}

bool write_file(const std::string& name, const std::vector<std::byte>& bytes) {
  std::ofstream file(name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  file.close();
  return file.good();
}

}  // namespace

Status load_tuning(Device& device, const std::string& name) {
  if (name.empty()) return Status::Ok;
  constexpr size_t kMaxBytes = 1 << 20;  // far larger than any tuning
  std::ifstream file(name, std::ios::binary);
  std::vector<char> bytes(kMaxBytes);
  file.read(bytes.data(), kMaxBytes);
  if (!file.eof() || file.bad()) return Status::NotFound;
  bytes.resize(static_cast<size_t>(file.gcount()));
  return use_tuning(device, std::as_bytes(std::span(bytes)));
}

int tune(const TuneOptions& options) {
  Messages messages;
  const auto explain = [&](Status status) {
    const std::vector<std::string> said = messages.take();
    complain(said.empty() ? to_string(status) : said.front());
  };
  Device device;
  Status status = Device::open(device_options(options.device, messages.log()), &device);
  if (status != Status::Ok) {
    explain(status);
    return kBadInput;
  }
  TuningReport report;
  status = heed::tune(device, {.time_limit_ms = static_cast<uint32_t>(std::max(1.0, options.seconds * 1e3))}, &report);
  if (status != Status::Ok) {
    explain(status);
    return kFailed;
  }
  const ptrdiff_t gains = count_gains(report.products) + count_gains(report.attentions);
  if (options.json) {
    const nlohmann::json all = {{"device", device.info().word},
                                {"driver", device.info().driver},
                                {"milliseconds", report.milliseconds},
                                {"products", to_json(report.products)},
                                {"attentions", to_json(report.attentions)}};
    std::printf("%s\n", text_of(all).c_str());
  } else {
    const DeviceInfo& info = device.info();
    std::printf("%s  %s%s%s\n", info.word.c_str(), info.name.c_str(), info.driver.empty() ? "" : "  ",
                info.driver.c_str());
    for (const TunedProduct& product : report.products) print(product);
    for (const TunedAttention& attention : report.attentions) print(attention);
    if (report.blob.empty())
      std::printf("nothing to tune: this device has one kernel for each product and attention\n");
    else
      std::printf("%zu sizes in %.1f s; another kernel than by the rules for %td of them\n",
                  report.products.size() + report.attentions.size(), report.milliseconds * 1e-3, gains);
  }
  if (options.out.empty()) return kSuccess;
  if (report.blob.empty()) {
    complain(device.info().word + " has nothing to tune, so that " + options.out + " is not written");
    return kFailed;
  }
  if (!write_file(options.out, report.blob)) {
    complain("cannot write " + options.out);
    return kFailed;
  }
  return kSuccess;
}

}  // namespace heed::program
