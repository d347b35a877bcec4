#include "vernier/backends/cpu/movement/strided_copy.h"

#include "vernier/base/error.h"

namespace vernier::cpu {

namespace {

constexpr int64_t kBytesPerThread = 1 << 17;
// A transposition goes by blocks of so many bytes in the target's rows and elements in the source's: both
// stay in the first cache, and neither buffer is touched in pieces of less than a few lines.
constexpr int64_t kBlockBytes = 256, kBlockColumns = 64;

int64_t blocks_of(int64_t size, int64_t block) {
  return (size + block - 1) / block;
}

struct Bits128 {
  uint64_t low, high;
};

}  // namespace

StridedCopy::StridedCopy(size_t width, std::vector<CopyAxis> axes, int64_t from_offset, int64_t to_offset)
    : width_(width), axes_(std::move(axes)), from_offset_(from_offset), to_offset_(to_offset) {
  for (const CopyAxis& axis : axes_) {
    if (axis.size == 0) return;
  }
  simplify();
  choose_inner();
  if (axes_.size() > kMaxAxes) throw internal_error("a copy along {} axes", axes_.size());
  items_ = 1;
  for (const CopyAxis& axis : axes_) items_ *= axis.size;
  int64_t item_bytes = static_cast<int64_t>(width_) * row_.size;
  if (inner_ == Inner::kTranspose) {
    items_ *= blocks_of(row_.size * static_cast<int64_t>(width_), kBlockBytes) *
              blocks_of(column_.size, kBlockColumns);
    item_bytes = std::min(item_bytes, kBlockBytes) * std::min(column_.size, kBlockColumns);
  }
  grain_ = std::max<int64_t>(1, kBytesPerThread / std::max<int64_t>(1, item_bytes));
}

// Drops axes of size 1, sorts by the target, joins neighbours that are one run in both buffers, and takes
// short runs as wider elements.
void StridedCopy::simplify() {
  std::erase_if(axes_, [](const CopyAxis& axis) { return axis.size == 1; });
  std::stable_sort(axes_.begin(), axes_.end(),
                   [](const CopyAxis& a, const CopyAxis& b) { return a.to > b.to; });
  std::vector<CopyAxis> joined;
  for (const CopyAxis& axis : axes_) {
    if (!joined.empty() && joined.back().from == axis.from * axis.size &&
        joined.back().to == axis.to * axis.size)
      joined.back() = {joined.back().size * axis.size, axis.from, axis.to};
    else
      joined.push_back(axis);
  }
  axes_ = std::move(joined);
  if (axes_.empty()) return;
  const CopyAxis last = axes_.back();
  const auto width = static_cast<int64_t>(width_);
  const int64_t wide = width * last.size;
  if (last.from == width && last.to == width && (wide == 2 || wide == 4 || wide == 8 || wide == 16)) {
    width_ = static_cast<size_t>(wide);
    axes_.pop_back();
  }
}

void StridedCopy::choose_inner() {
  const auto width = static_cast<int64_t>(width_);
  inner_ = Inner::kStrided;
  if (axes_.empty()) {
    row_ = {1, width, width};
    return;
  }
  row_ = axes_.back();
  axes_.pop_back();
  if (row_.to != width) return;
  if (row_.from == width) {
    inner_ = Inner::kRun;
    return;
  }
  for (size_t i = axes_.size(); i-- > 0;) {
    if (axes_[i].from != width) continue;
    inner_ = Inner::kTranspose;
    column_ = axes_[i];
    axes_.erase(axes_.begin() + static_cast<std::ptrdiff_t>(i));
    return;
  }
  if (row_.from == 0) inner_ = Inner::kRepeat;
}

bool StridedCopy::keeps_steps() const {
  const auto stays = [](const CopyAxis& axis) { return axis.from == axis.to; };
  return stays(row_) && stays(column_) && std::all_of(axes_.begin(), axes_.end(), stays);
}

bool StridedCopy::keeps_places() const {
  return items_ == 0 || (from_offset_ == to_offset_ && keeps_steps());
}

// Calls body(from, to) for the items [begin, end) of the outer axes.
template <class Body>
void StridedCopy::walk(int64_t begin, int64_t end, const std::byte* from, std::byte* to,
                       const Body& body) const {
  std::array<int64_t, kMaxAxes> index;
  const size_t rank = axes_.size();
  int64_t rest = begin;
  for (size_t i = rank; i-- > 0; rest /= axes_[i].size) {
    index[i] = rest % axes_[i].size;
    from += index[i] * axes_[i].from;
    to += index[i] * axes_[i].to;
  }
  for (int64_t item = begin; item < end; ++item) {
    body(from, to);
    for (size_t i = rank; i-- > 0;) {
      from += axes_[i].from;
      to += axes_[i].to;
      if (++index[i] < axes_[i].size) break;
      index[i] = 0;
      from -= axes_[i].size * axes_[i].from;
      to -= axes_[i].size * axes_[i].to;
    }
  }
}

template <class T>
void StridedCopy::copy_elements(const CopyAxis& row, int64_t begin, int64_t end, const std::byte* from,
                                std::byte* to) const {
  if (inner_ == Inner::kRepeat) {
    walk(begin, end, from, to, [row](const std::byte* source, std::byte* target) {
      T value;
      std::memcpy(&value, source, sizeof(T));
      for (int64_t i = 0; i < row.size; ++i)
        std::memcpy(target + i * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
    });
  } else {
    walk(begin, end, from, to, [row](const std::byte* source, std::byte* target) {
      for (int64_t i = 0; i < row.size; ++i) {
        std::memcpy(target, source, sizeof(T));
        source += row.from;
        target += row.to;
      }
    });
  }
}

void StridedCopy::copy_rows(const CopyAxis& row, int64_t begin, int64_t end, const std::byte* from,
                            std::byte* to) const {
  if (inner_ == Inner::kRun) {
    const auto bytes = static_cast<size_t>(row.size) * width_;
    walk(begin, end, from, to,
         [bytes](const std::byte* source, std::byte* target) { std::memcpy(target, source, bytes); });
    return;
  }
  switch (width_) {
    case 1: return copy_elements<uint8_t>(row, begin, end, from, to);
    case 2: return copy_elements<uint16_t>(row, begin, end, from, to);
    case 4: return copy_elements<uint32_t>(row, begin, end, from, to);
    case 8: return copy_elements<uint64_t>(row, begin, end, from, to);
    default: return copy_elements<Bits128>(row, begin, end, from, to);
  }
}

void StridedCopy::transpose_blocks(int64_t begin, int64_t end, const std::byte* from, std::byte* to) const {
  const auto width = static_cast<int64_t>(width_);
  const int64_t rows = kBlockBytes / width, across = blocks_of(row_.size, rows),
                down = blocks_of(column_.size, kBlockColumns), blocks = across * down;
  int64_t at = begin % blocks;
  walk(begin / blocks, blocks_of(end, blocks), from, to, [&](const std::byte* source, std::byte* target) {
    for (; at < blocks && begin < end; ++at, ++begin) {
      // Along the shorter side first.
      const int64_t row = (across < down ? at % across : at / down) * rows,
                    column = (across < down ? at / across : at % down) * kBlockColumns;
      transpose_tiles(width_, source + row * row_.from + column * width, row_.from,
                      target + column * column_.to + row * width, column_.to, std::min(rows, row_.size - row),
                      std::min(kBlockColumns, column_.size - column));
    }
    at = 0;
  });
}

void StridedCopy::run(const void* from, void* to) const {
  if (items_ == 0) return;
  const std::byte* source = static_cast<const std::byte*>(from) + from_offset_;
  std::byte* target = static_cast<std::byte*>(to) + to_offset_;
  if (source == target && keeps_steps()) return;
  if (inner_ == Inner::kTranspose) {
    parallel(items_, grain_,
             [&](int64_t begin, int64_t end) { transpose_blocks(begin, end, source, target); });
  } else if (items_ == 1) {
    // One long row is cut.
    parallel(row_.size, kBytesPerThread / static_cast<int64_t>(width_), [&](int64_t begin, int64_t end) {
      copy_rows({end - begin, row_.from, row_.to}, 0, 1, source + begin * row_.from,
                target + begin * row_.to);
    });
  } else {
    parallel(items_, grain_,
             [&](int64_t begin, int64_t end) { copy_rows(row_, begin, end, source, target); });
  }
}

}  // namespace vernier::cpu
