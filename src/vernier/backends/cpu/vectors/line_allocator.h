// Numbers that registers load, no vector of them from two lines of memory.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace vernier::cpu {

// Begins at a line of memory.
template <class T>
struct LineAllocator {
  using value_type = T;
  static constexpr std::align_val_t kLine{64};

  T* allocate(size_t count) { return static_cast<T*>(::operator new(count * sizeof(T), kLine)); }
  void deallocate(T* at, size_t /*count*/) noexcept { ::operator delete(at, kLine); }
  bool operator==(const LineAllocator&) const = default;
};

using LineVector = std::vector<float, LineAllocator<float>>;

}  // namespace vernier::cpu
