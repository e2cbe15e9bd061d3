// A decoder's numbers while its family reads them, from a config.json or from a GGUF file's metadata.
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
  // Fails with Unsupported if `wrong`: with this setting the network would be another one.
  void refuse(const char* name, bool wrong);
  // Sets the width of a head from the number of heads, which `name` has told, unless there is one.
  void check_heads(const char* name);
  // "rope_theta", "rope_scaling" and "rope_parameters". A base that is not there stays as it is.
  void read_rotation();
  Status status() const { return fields.status() == Status::Ok ? inner_ : fields.status(); }

  Fields fields;
  DecoderConfig config;

 private:
  void read_scaling(Fields* inner);
  void read_window_rotation(Json of_windows, const std::string& where);

  const Log& log_;
  Status inner_ = Status::Ok;  // of an object inside
};

class GgufConfig {
 public:
  GgufConfig(const Gguf& opened, std::string architecture, const Log& log)
      : file(opened), fields(opened, std::move(architecture), log), log_(log) {}

  // Layers, widths, heads, window and the eps of norms, which is in the key `eps`.
  void read_sizes(const char* eps);
  // Whether the table of tokens gives logits, too, and how many there are: Unsupported keys come first.
  void read_tables();
  void read_rotation();
  // The rows of a table that the file must have.
  int64_t rows_of(const char* tensor);

  // Fails where a key tells that the network is not what its architecture says.
  void refuse_others(const DecoderFamily& family);
  // Names keys of the architecture that nobody reads.
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
