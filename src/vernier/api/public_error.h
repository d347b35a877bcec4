// Turns errors inside into those that the public interface throws.
#pragma once

#include "vernier/vernier.h"

namespace vernier::api {

struct ErrorState {
  std::string text, file, node, advice;

  static v1::Error make(v1::ErrorCode code, ErrorState state);
};

// Throws the exception under way as a v1::Error. When there is no memory even for its text, that is what it
// says.
[[noreturn]] void rethrow_public();

template <class Call>
decltype(auto) guarded(const Call& call) {
  try {
    return call();
  } catch (...) {
    rethrow_public();
  }
}

}  // namespace vernier::api
