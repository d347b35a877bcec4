// The one exception type of Vernier. Whatever can go wrong because of what came from outside
// (a model, data, options, a child process) is an Error with a message a person can act on.
#pragma once

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

namespace vernier {

// The values are the exit codes of the command line (README.md).
enum class ErrorCode {
  kUsage = 2,        // the command line is wrong
  kBadInput = 3,     // the model, engine or data is damaged or inconsistent
  kUnsupported = 4,  // valid, but this build cannot do it: operator, type or device
  kInternal = 5,     // a defect of Vernier itself
};

class Error : public std::exception {
 public:
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) { compose(); }

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::string& file() const { return file_; }
  const std::string& node() const { return node_; }
  const char* what() const noexcept override { return text_.c_str(); }

  // Adds context on the way up; what is known already (nearest to the cause) stays.
  Error& in_file(const std::string& file);
  Error& at_node(const std::string& node);
  // Says what the user can do next, in the imperative.
  Error& advise(const std::string& advice);

 private:
  void compose();

  ErrorCode code_;
  std::string message_, file_, node_, advice_, text_;
};

template <class... Args>
Error bad_input(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kBadInput, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
Error unsupported(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kUnsupported, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
Error usage_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kUsage, fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
Error internal_error(fmt::format_string<Args...> format, Args&&... args) {
  return Error(ErrorCode::kInternal, fmt::format(format, std::forward<Args>(args)...));
}

}  // namespace vernier
