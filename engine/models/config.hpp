// A decoder's configuration while its family reads it, from a config.json or from a GGUF file's metadata.
#pragma once

#include <heed/decoder.hpp>
#include <heed/gguf.hpp>
#include <heed/nn.hpp>

#include "base/logging.hpp"
#include "io/gguf_fields.hpp"
#include "io/json_file.hpp"

namespace heed::models {

struct DecoderFamily;

class JsonConfig {
 public:
  JsonConfig(Json object, std::string where, const Log& log) : fields(object, std::move(where), log), log_(log) {}

  int64_t size(const char* name, std::optional<int64_t> otherwise = {});
  // Fails with Unsupported if `wrong`: heed does not implement the setting `name`.
  void refuse(const char* name, bool wrong);
  // Sets the head width from the number of heads, read from `name`, unless it is set.
  void check_heads(const char* name);
  // Reads "rope_theta", "rope_scaling" and "rope_parameters". A missing base leaves the default.
  void read_rotation();
  Status status() const { return fields.status() == Status::Ok ? inner_ : fields.status(); }

  Fields fields;
  DecoderConfig config;

 private:
  void read_scaling(Fields* inner);
  void read_window_rotation(Json of_windows, const std::string& where);

  const Log& log_;
  Status inner_ = Status::Ok;  // status of a nested object
};

class GgufConfig {
 public:
  GgufConfig(const Gguf& opened, std::string architecture, const Log& log)
      : file(opened), fields(opened, std::move(architecture), log), log_(log) {}

  // Reads layers, widths, heads, window and the eps of norms, which has the key `eps`.
  void read_sizes(const char* eps);
  // Reads the size of the vocabulary, and whether the token table also gives logits. Call it after checks for Unsupported keys.
  void read_tables();
  void read_rotation();
  // Number of rows of a table that the file must have.
  int64_t rows_of(const char* tensor);

  // Fails if a key shows that the network differs from its architecture's usual one.
  void refuse_others(const DecoderFamily& family);
  // Warns of keys of the architecture that nothing has read.
  void warn_of_unknown() const;

  const Gguf& file;
  GgufFields fields;
  DecoderConfig config;

 private:
  void read_scaling();
  void read_factors();

  const Log& log_;
};

}  // namespace heed::models
