// Environment variables for the length of a scope.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

namespace heed::test {

class SetVariable {
 public:
  SetVariable(const char* name, const char* value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    setenv(name, value, 1);
  }
  ~SetVariable() {
    if (old_)
      setenv(name_, old_->c_str(), 1);
    else
      unsetenv(name_);
  }
  SetVariable(const SetVariable&) = delete;
  SetVariable& operator=(const SetVariable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> old_;
};

}  // namespace heed::test
