#include "json.hpp"

#include <nlohmann/json.hpp>

namespace heed::program {

std::string text_of(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace heed::program
