// The text of --help: what an app's description says, an example first, then each option, in lines of at most 100 characters.
#pragma once

#include <algorithm>
#include <sstream>
#include <string>

#include <CLI/CLI.hpp>

namespace samples {

class Help : public CLI::Formatter {
 public:
  std::string make_help(const CLI::App* app, std::string, CLI::AppFormatMode) const override {
    std::string text = app->get_description() + "\n\n";
    for (const CLI::Option* option : app->get_options([](const CLI::Option* o) { return !o->get_group().empty(); }))
      text += entry(names_of(*option), meaning_of(*option));
    for (const CLI::App* command : app->get_subcommands([](const CLI::App*) { return true; })) {
      const std::string& said = command->get_description();
      text += entry(command->get_name(), said.substr(said.rfind('\n') + 1));
    }
    if (!app->get_footer().empty()) text += "\n" + app->get_footer() + "\n";
    return text;
  }

 private:
  static constexpr size_t kWidth = 100, kNames = 24;

  // "--top-k N", "--weights f32|f16".
  static std::string names_of(const CLI::Option& option) {
    if (!option.nonpositional()) return option.get_name(true);
    const std::string names = option.get_name(false, true);
    if (option.get_items_expected_max() == 0) return names;
    std::string type = option.get_type_name();  // followed by the checks: "TEXT:{f32,f16}"
    const size_t begin = type.find('{'), end = type.find('}');
    type = begin < end && end != std::string::npos ? type.substr(begin + 1, end - begin - 1)
                                                   : type.substr(0, type.find(':'));
    std::replace(type.begin(), type.end(), ',', '|');
    return names + " " + (type == "INT" || type == "UINT" || type == "FLOAT" ? "N" : type);
  }

  static std::string meaning_of(const CLI::Option& option) {
    const std::string& usual = option.get_default_str();
    return option.get_description() + (usual.empty() ? "" : "; default: " + usual);
  }

  // Names that are too long for their column have a line of their own.
  static std::string entry(const std::string& names, const std::string& meaning) {
    std::string text = "  " + names;
    size_t column = text.size();
    if (column + 2 > kNames) {
      text += "\n";
      column = 0;
    }
    text.append(kNames - column, ' ');
    column = kNames;
    std::istringstream words(meaning);
    for (std::string word; words >> word;) {
      if (column > kNames && column + 1 + word.size() > kWidth) {
        text += "\n" + std::string(kNames, ' ');
        column = kNames;
      }
      if (column > kNames) text += ' ';
      column += word.size() + (column > kNames ? 1 : 0);
      text += word;
    }
    return text + "\n";
  }
};

}  // namespace samples
