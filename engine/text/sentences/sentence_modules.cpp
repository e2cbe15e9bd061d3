#include "text/sentences/sentence_modules.hpp"

#include "base/logging.hpp"
#include "io/json_file.hpp"
#include "io/model_folder.hpp"

namespace heed {

namespace fs = std::filesystem;

namespace {

constexpr const char* kOnlyTheMean = "only the mean of the tokens is supported";

// The class name of a module: "Pooling" for sentence_transformers.models.Pooling, and for
// sentence_transformers.sentence_transformer.modules.pooling.Pooling in later versions. Empty for a class of another package, whatever its
// name.
std::string_view class_of(std::string_view type) {
  if (!type.starts_with("sentence_transformers.")) return {};
  return type.substr(type.rfind('.') + 1);
}

// Later versions write the mode as text, or as a list of modes whose results are concatenated.
bool is_mean(Json mode) {
  if (mode.is_array()) return mode.size() == 1 && is_mean(mode.element(0));
  return mode.text() != nullptr && *mode.text() == "mean";
}

// Earlier versions write a field for each mode: pooling_mode_cls_token, pooling_mode_lasttoken and so on.
Status check_pooling(const fs::path& path, const Log& log) {
  JsonFile object;
  const Status status = read_object(path.string(), kMaxConfigBytes, log, &object);
  if (status != Status::Ok) return status;
  Fields fields(object.root(), path.string(), log);
  if (const Json mode = fields.field("pooling_mode")) {
    if (!is_mean(mode)) fields.fail("pooling_mode", kOnlyTheMean, Status::Unsupported);
    return fields.status();
  }
  constexpr const char* kMean = "pooling_mode_mean_tokens";
  if (!fields.boolean(kMean, true)) fields.fail(kMean, kOnlyTheMean, Status::Unsupported);
  object.root().each([&](const std::string& name, Json) {
    if (name.starts_with("pooling_mode_") && name != kMean && fields.boolean(name.c_str(), false))
      fields.fail(name.c_str(), kOnlyTheMean, Status::Unsupported);
    return true;
  });
  return fields.status();
}

// Accepts the modules one by one, and refuses the first that TextEncoder does not compute at its position.
class ModuleOrder {
 public:
  ModuleOrder(const fs::path& directory, const Log& log) : directory_(directory), log_(log) {}

  Status add(Json module, const std::string& where) {
    Fields fields(module, where, log_);
    const std::string type = fields.text("type"), path = fields.text("path", "");
    if (fields.status() != Status::Ok) return fields.status();
    const std::string_view name = class_of(type);
    if (name == "Dropout") return Status::Ok;  // has no effect outside of training
    if (next_ == Next::Transformer && name == "Transformer") {
      next_ = Next::Pooling;
      if (!path.empty())
        fields.fail("path", "the Transformer's files must lie in the model's own folder", Status::Unsupported);
      return fields.status();
    }
    if (next_ == Next::Pooling && name == "Pooling") {
      next_ = Next::Normalize;
      if (is_plain_name(path)) return check_pooling(directory_ / path / "config.json", log_);
      fields.fail("path", "must be the name of a folder beside modules.json");
      return fields.status();
    }
    if (next_ == Next::Normalize && name == "Normalize") return Status::Ok;
    fields.fail("type", "TextEncoder computes a Transformer, then Pooling, then Normalize, and no other module",
                Status::Unsupported);
    return fields.status();
  }
  bool complete() const { return next_ == Next::Normalize; }

 private:
  enum class Next { Transformer, Pooling, Normalize };
  const fs::path& directory_;
  const Log& log_;
  Next next_ = Next::Transformer;
};

}  // namespace

Status check_sentence_modules(const fs::path& directory, const Log& log) {
  const fs::path list = directory / "modules.json", pooling = directory / "1_Pooling" / "config.json";
  if (!is_there(list)) return is_there(pooling) ? check_pooling(pooling, log) : Status::Ok;
  JsonFile file;
  Status status = read_array(list.string(), kMaxConfigBytes, log, &file);
  const Json modules = file.root();
  ModuleOrder order(directory, log);
  for (size_t i = 0; i < modules.size() && status == Status::Ok; ++i)
    status = order.add(modules.element(i), format("%s: module %zu", list.string().c_str(), i));
  if (status == Status::Ok && !order.complete())
    return fail(log, Status::Unsupported,
                format("%s: must list a Transformer and Pooling, in this order", list.string().c_str()));
  return status;
}

}  // namespace heed
