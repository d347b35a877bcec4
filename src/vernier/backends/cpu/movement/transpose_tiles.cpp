#include "vernier/backends/cpu/movement/strided_copy.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "vernier/backends/cpu/movement/transpose_tiles.cpp"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace vernier::cpu::HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

// Sixteen bytes that are only copied.
struct Bits128 {
  uint64_t low, high;
};

// Columns outside: what is written is contiguous.
template <class T>
void transpose_elements(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                        int64_t rows, int64_t columns) {
  for (int64_t c = 0; c < columns; ++c) {
    const std::byte* source = from + c * static_cast<int64_t>(sizeof(T));
    std::byte* target = to + c * to_step;
    for (int64_t r = 0; r < rows; ++r) {
      std::memcpy(target, source, sizeof(T));
      source += from_step;
      target += sizeof(T);
    }
  }
}

#if HWY_TARGET != HWY_SCALAR
// Sixteen bytes of each of `kBlocks` rows, one behind the other.
template <class T, size_t kBlocks>
hn::Vec<hn::FixedTag<T, kBlocks * 16 / sizeof(T)>> load_blocks(const std::byte* from, int64_t block_step) {
  if constexpr (kBlocks == 1) {
    return hn::LoadU(hn::FixedTag<T, 16 / sizeof(T)>(), reinterpret_cast<const T*>(from));
  } else {
    constexpr size_t kHalf = kBlocks / 2;
    const auto low = load_blocks<T, kHalf>(from, block_step);
    const auto high = load_blocks<T, kHalf>(from + static_cast<int64_t>(kHalf) * block_step, block_step);
    return hn::Combine(hn::FixedTag<T, kBlocks * 16 / sizeof(T)>(), high, low);
  }
}

// As many columns as 16 bytes have elements, and kBlocks times as many rows: a square in each block of the
// vectors. Interleaving row i of a square of n with row i + n/2, for all i, log2(n) times transposes it.
template <class T, size_t kBlocks>
void transpose_panel(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step) {
  constexpr size_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kBlocks * kSide> d;
  using V = hn::Vec<decltype(d)>;
  V a[kSide], b[kSide];
  for (size_t i = 0; i < kSide; ++i)
    a[i] = load_blocks<T, kBlocks>(from + static_cast<int64_t>(i) * from_step,
                                   static_cast<int64_t>(kSide) * from_step);
  for (size_t stage = 1; stage < kSide; stage *= 2) {
    for (size_t i = 0; i < kSide / 2; ++i) {
      b[2 * i] = hn::InterleaveLower(d, a[i], a[i + kSide / 2]);
      b[2 * i + 1] = hn::InterleaveUpper(d, a[i], a[i + kSide / 2]);
    }
    for (size_t i = 0; i < kSide; ++i) a[i] = b[i];
  }
  for (size_t i = 0; i < kSide; ++i)
    hn::StoreU(a[i], d, reinterpret_cast<T*>(to + static_cast<int64_t>(i) * to_step));
}

// Panels of rows from `first` on, as far as whole ones fit; gives the first row that is left.
template <class T, size_t kBlocks>
int64_t transpose_panels(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                         int64_t first, int64_t rows, int64_t columns) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kColumns = 16 / kWidth, kRows = kColumns * static_cast<int64_t>(kBlocks);
  const int64_t last = first + (rows - first) / kRows * kRows;
  for (int64_t c = 0; c < columns && first < last; c += kColumns) {
    for (int64_t r = first; r < last; r += kRows)
      transpose_panel<T, kBlocks>(from + r * from_step + c * kWidth, from_step, to + c * to_step + r * kWidth,
                                  to_step);
  }
  if constexpr (kBlocks > 1)
    return transpose_panels<T, kBlocks / 2>(from, from_step, to, to_step, last, rows, columns);
  else
    return last;
}

// Two rows: what is written alternates between them.
template <class T>
int64_t interleave_rows(const std::byte* from, int64_t from_step, std::byte* to, int64_t columns) {
  constexpr int64_t kSide = 16 / sizeof(T);
  const hn::FixedTag<T, kSide> d;
  int64_t c = 0;
  for (; c + kSide <= columns; c += kSide) {
    const auto* at = from + c * static_cast<int64_t>(sizeof(T));
    const auto x = hn::LoadU(d, reinterpret_cast<const T*>(at));
    const auto y = hn::LoadU(d, reinterpret_cast<const T*>(at + from_step));
    auto* target = reinterpret_cast<T*>(to + 2 * c * static_cast<int64_t>(sizeof(T)));
    hn::StoreU(hn::InterleaveLower(d, x, y), d, target);
    hn::StoreU(hn::InterleaveUpper(d, x, y), d, target + kSide);
  }
  return c;
}

// Three rows, as of the colours of an image.
template <class T>
int64_t interleave_three(const std::byte* from, int64_t from_step, std::byte* to, int64_t columns) {
  const hn::ScalableTag<T> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  int64_t c = 0;
  for (; c + lanes <= columns; c += lanes) {
    const auto row = [&](int64_t r) HWY_ATTR {
      return hn::LoadU(d, reinterpret_cast<const T*>(from + r * from_step) + c);
    };
    hn::StoreInterleaved3(row(0), row(1), row(2), d, reinterpret_cast<T*>(to) + 3 * c);
  }
  return c;
}
#endif

template <class T>
void transpose(const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step, int64_t rows,
               int64_t columns) {
  int64_t done_rows = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  constexpr int64_t kSide = 16 / kWidth;
  if ((rows == 2 || rows == 3) && to_step == rows * kWidth) {
    const int64_t done = rows == 2 ? interleave_rows<T>(from, from_step, to, columns)
                                   : interleave_three<T>(from, from_step, to, columns);
    from += done * kWidth;
    to += done * to_step;
    columns -= done;
  } else {
    constexpr size_t kBlocks = HWY_MAX_BYTES >= 64 ? 4 : HWY_MAX_BYTES / 16;
    const int64_t whole_columns = columns / kSide * kSide;
    if (whole_columns > 0)
      done_rows = transpose_panels<T, kBlocks>(from, from_step, to, to_step, 0, rows, whole_columns);
    transpose_elements<T>(from + whole_columns * kWidth, from_step, to + whole_columns * to_step, to_step,
                          done_rows, columns - whole_columns);
  }
#endif
  transpose_elements<T>(from + done_rows * from_step, from_step,
                        to + done_rows * static_cast<int64_t>(sizeof(T)), to_step, rows - done_rows, columns);
}

void transpose_any(size_t width, const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                   int64_t rows, int64_t columns) {
  switch (width) {
    case 1: return transpose<uint8_t>(from, from_step, to, to_step, rows, columns);
    case 2: return transpose<uint16_t>(from, from_step, to, to_step, rows, columns);
    case 4: return transpose<uint32_t>(from, from_step, to, to_step, rows, columns);
    case 8: return transpose<uint64_t>(from, from_step, to, to_step, rows, columns);
    default: return transpose_elements<Bits128>(from, from_step, to, to_step, rows, columns);
  }
}

}  // namespace vernier::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace vernier::cpu {

HWY_EXPORT(transpose_any);

void transpose_tiles(size_t width, const std::byte* from, int64_t from_step, std::byte* to, int64_t to_step,
                     int64_t rows, int64_t columns) {
  HWY_DYNAMIC_DISPATCH(transpose_any)(width, from, from_step, to, to_step, rows, columns);
}

}  // namespace vernier::cpu
#endif
