// Reads a model; the only function that catches exceptions.
#include <algorithm>
#include <exception>
#include <new>
#include <tuple>

#include "base/logging.hpp"
#include "io/safetensors_header.hpp"
#include "onnx/file/graphs.hpp"
#include "onnx/file/order.hpp"
#include "onnx/file/room.hpp"

namespace heed::onnx::file {

namespace {

constexpr size_t kMaxBytes = (size_t{1} << 31) - 1;  // largest protobuf message

void check_functions(const std::vector<FileFunction>& functions) {
  std::vector<const FileFunction*> sorted;
  for (const FileFunction& function : functions) sorted.push_back(&function);
  const auto key = [](const FileFunction* function) { return std::tie(function->domain, function->name); };
  std::sort(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) { return key(a) < key(b); });
  const auto twice =
      std::adjacent_find(sorted.begin(), sorted.end(), [&](const auto* a, const auto* b) { return key(a) == key(b); });
  if (twice != sorted.end()) stop("function '" + printable((*twice)->name) + "' is there twice");
}

void check_opsets(const std::vector<FileOpset>& opsets) {
  if (opsets.empty()) stop("does not say which versions of operators it uses");
  std::vector<const FileOpset*> sorted;
  for (const FileOpset& opset : opsets) sorted.push_back(&opset);
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) { return a->domain < b->domain; });
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->domain == b->domain && a->version != b->version;
  });
  if (twice != sorted.end())
    stop(format("asks for the versions %lld and %lld of the operators of '%s'",
                static_cast<long long>((*twice)->version), static_cast<long long>(twice[1]->version),
                printable((*twice)->domain).c_str()));
}

void read_fields(Message message, FilesBeside* beside, ModelFile* model) {
  make_room(message, {8}, "opset", 0, &model->opsets);
  make_room(message, {25}, "function", kLeastFunction, &model->functions);
  bool has_version = false, has_graph = false;
  while (message.next()) {
    switch (message.field()) {
      case 1: has_version = message.integer() > 0; break;
      case 2: model->producer = message.name(); break;
      case 7:
        if (std::exchange(has_graph, true)) stop("its graph is given twice");
        read_graph(message.message(), 0, beside, &model->graph);
        break;
      case 8: read_opset(message.message(), &model->opsets.emplace_back()); break;
      case 25: read_function(message.message(), beside, &model->functions.emplace_back()); break;
      default: message.skip();
    }
  }
  if (!has_version) stop("is no ONNX model: it has no IR version");
  if (!has_graph) stop("has no graph");
}

void read(std::span<const std::byte> bytes, std::string_view folder, ModelFile* model) {
  if (bytes.size() > kMaxBytes)
    stop(format("has %zu bytes; an ONNX file has at most %zu, and more values in files beside it", bytes.size(),
                kMaxBytes));
  const auto* begin = reinterpret_cast<const char*>(bytes.data());
  FilesBeside beside(folder);
  read_fields(Message({begin, bytes.size()}, begin), &beside, model);
  check_opsets(model->opsets);
  check_functions(model->functions);
  check_order(model->graph);
  for (const FileFunction& function : model->functions) check_order(function);
}

}  // namespace

}  // namespace heed::onnx::file

namespace heed::onnx {

Status read_model(std::span<const std::byte> bytes, std::string_view name, std::string_view folder, const Log& log,
                  ModelFile* model) {
  const auto failed = [&](Status status, const std::string& what) {
    return fail(log, status, std::string(name) + ": " + what);
  };
  try {
    ModelFile made;
    file::read(bytes, folder, &made);
    *model = std::move(made);
    return Status::Ok;
  } catch (const file::Problem& problem) {
    return failed(problem.status, problem.text);
  } catch (const std::bad_alloc&) {
    return failed(Status::OutOfMemory, "there is no memory for it");
  } catch (const std::exception& problem) {
    return failed(Status::InvalidFile, problem.what());
  }
}

}  // namespace heed::onnx
