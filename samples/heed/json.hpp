// JSON text. Its code is compiled in one file, since including it costs a second.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace heed::program {

// Replaces invalid UTF-8, which names of drivers may contain.
std::string text_of(const nlohmann::json& value, int indent = 2);

}  // namespace heed::program
