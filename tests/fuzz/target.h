// One fuzz target: a reader of foreign bytes that may throw Error, and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "vernier/base/error.h"
#include "vernier/tensor/tensor.h"

namespace vernier {

// Runs `read` on the bytes. An Error is a refusal; kInternal is a defect, as is any other exception.
template <class Read>
int fuzz(const uint8_t* data, size_t size, Read read) {
  static const bool limited = (set_allocation_limit(size_t{1} << 26), true);
  (void)limited;
  try {
    read(std::as_bytes(std::span(data, size)), std::string_view(reinterpret_cast<const char*>(data), size));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kInternal) __builtin_trap();
  }
  return 0;
}

}  // namespace vernier

#define VERNIER_FUZZ_TARGET(...)                                            \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) { \
    return vernier::fuzz(data, size, __VA_ARGS__);                          \
  }
