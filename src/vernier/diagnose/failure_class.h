// The classes in which engines fail.
#pragma once

#include <string>
#include <string_view>

namespace vernier {

// B1 to B48 of the project's taxonomy of failures (docs/diagnosis.md lists them), or unexplained.
class FailureClass {
 public:
  static constexpr int kClasses = 48;

  constexpr FailureClass() = default;  // unexplained
  // Throws internal_error for a number that is no class.
  explicit FailureClass(int number);

  constexpr bool operator==(const FailureClass&) const = default;
  constexpr auto operator<=>(const FailureClass&) const = default;
  bool is_explained() const { return number_ != 0; }
  std::string code() const;        // "B32", "unexplained"
  std::string_view title() const;  // "bound of a Clip"

 private:
  int number_ = 0;
};

}  // namespace vernier
