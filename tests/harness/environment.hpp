// Environment variables: reads numbers, and sets variables for the length of a scope.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace heed::test {

inline int64_t number_from(const char* variable, int64_t otherwise) {
  const char* text = std::getenv(variable);
  return text != nullptr ? static_cast<int64_t>(std::strtoll(text, nullptr, 10)) : otherwise;
}

class SetVariable {
 public:
  SetVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    set(name, value);
  }
  ~SetVariable() { set(name_, old_ ? old_->c_str() : nullptr); }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  // Null removes the variable.
  static void set(const char* name, const char* value) {
#if defined(_WIN32)
    _putenv_s(name, value != nullptr ? value : "");
#else
    if (value != nullptr)
      setenv(name, value, 1);
    else
      unsetenv(name);
#endif
  }

  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace heed::test
