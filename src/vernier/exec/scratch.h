// Aligned memory that grows, and never shrinks.
#pragma once

#include <cstddef>
#include <memory>

namespace vernier {

class Scratch {
 public:
  // At least `bytes`, aligned to a page; what was in it is lost when it grows. Throws OutOfMemory. Areas
  // of 2 MiB and more ask for huge pages.
  std::byte* at_least(size_t bytes);
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  std::unique_ptr<std::byte, Free> memory_;
  size_t bytes_ = 0;
};

}  // namespace vernier
