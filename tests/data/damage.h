// Damages bytes in every way that a reader of foreign files must survive.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <span>
#include <string>

#include "vernier/base/error.h"

namespace vernier {

using ReadBytes = std::function<void(std::span<const std::byte>)>;

// A buffer of its own for each call, so that a sanitizer sees every read beyond it.
inline void read_copy(const std::string& bytes, const ReadBytes& read) {
  const std::vector<char> copy(bytes.begin(), bytes.end());
  read(std::as_bytes(std::span(copy)));
}

// Every proper prefix must be refused.
inline void expect_prefixes_refused(const std::string& bytes, const ReadBytes& read) {
  for (size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(read_copy(bytes.substr(0, length), read), Error) << "prefix of " << length;
  }
}

// Any flipped bit may be noticed or not, but nothing may happen other than an Error. Returns how many were
// noticed.
inline size_t flip_every_bit(const std::string& bytes, const ReadBytes& read) {
  size_t noticed = 0;
  for (size_t bit = 0; bit < bytes.size() * 8; ++bit) {
    std::string damaged = bytes;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << bit % 8));
    try {
      read_copy(damaged, read);
    } catch (const Error&) {
      ++noticed;
    }
  }
  return noticed;
}

}  // namespace vernier
