// The text of JSON. Its code is compiled once, since it costs every file that has it a second.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

namespace heed::program {

// Replaces bytes that are not UTF-8, as names of drivers may hold them.
std::string text_of(const nlohmann::json& value, int indent = 2);

}  // namespace heed::program
