// Copies a box of elements between two buffers: what every operator that moves data at known sizes comes to.
// Elements are carried by width, not by type.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {

// Element (i, j, …) lies at i * axes[0].from + j * axes[1].from + …; steps are in bytes, may be 0 (an element
// that is repeated) or negative in the source, and are positive in the target.
struct CopyAxis {
  int64_t size, from, to;
};

class StridedCopy {
 public:
  static constexpr size_t kMaxAxes = 24;

  // Elements of `width` bytes: 1, 2, 4, 8 or 16. Offsets are those of element (0, 0, …), in bytes.
  StridedCopy(size_t width, std::vector<CopyAxis> axes, int64_t from_offset, int64_t to_offset);
  // Does nothing where the elements are in their places already.
  void run(const void* from, void* to) const;
  // Whether all elements keep their places, so that nothing is to do where both buffers are one.
  bool keeps_places() const;

 private:
  // Says what is done with the innermost axes.
  enum class Inner : uint8_t { kRun, kRepeat, kTranspose, kStrided };

  bool keeps_steps() const;
  void simplify();
  void choose_inner();
  template <class Body>
  void walk(int64_t begin, int64_t end, const std::byte* from, std::byte* to, const Body& body) const;
  void copy_rows(const CopyAxis& row, int64_t begin, int64_t end, const std::byte* from, std::byte* to) const;
  template <class T>
  void copy_elements(const CopyAxis& row, int64_t begin, int64_t end, const std::byte* from,
                     std::byte* to) const;
  void transpose_blocks(int64_t begin, int64_t end, const std::byte* from, std::byte* to) const;

  size_t width_;
  std::vector<CopyAxis> axes_;  // around the inner ones
  int64_t from_offset_, to_offset_;
  Inner inner_ = Inner::kStrided;
  CopyAxis row_{1, 0, 0};     // the innermost in the target
  CopyAxis column_{1, 0, 0};  // kTranspose: the innermost in the source
  int64_t items_ = 0, grain_ = 1;
};

// Copies of short runs whose length is known before the loop.

// Calls body(copy) with a function copy(from, to) that copies `bytes`: in one or two instructions where there
// are 1, 2, 4, 8 or 16.
template <class Body>
void with_run(size_t bytes, const Body& body) {
  switch (bytes) {
    case 1: return body([](const std::byte* from, std::byte* to) { *to = *from; });
    case 2: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 2); });
    case 4: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 4); });
    case 8: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 8); });
    case 16: return body([](const std::byte* from, std::byte* to) { std::memcpy(to, from, 16); });
    default: return body([bytes](const std::byte* from, std::byte* to) { std::memcpy(to, from, bytes); });
  }
}

// The transposition of a matrix in memory, by vectors.

// Element (r, c), of `width` bytes (1, 2, 4, 8 or 16), goes from `from + r * from_step + c * width` to
// `to + c * to_step + r * width`; steps are in bytes.
void transpose_tiles(size_t width, const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                     int64_t rows, int64_t columns);

}  // namespace vernier::cpu
