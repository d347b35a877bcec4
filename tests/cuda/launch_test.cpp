// Grids and boxes: pure arithmetic, at odd sizes.
#include "vernier/backends/cuda/launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/cuda/pointwise/walk.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {
namespace {

// Threads walk by the number of all threads: each of them has items if the grid is not too large, and none is
// left.
TEST(GridTest, ThreadsGoOverAllItems) {
  for (const int64_t items : {int64_t{1}, int64_t{255}, int64_t{256}, int64_t{257}, int64_t{1} << 33}) {
    const Grid grid = grid_over(items);
    EXPECT_EQ(grid.threads, kThreads);
    EXPECT_GE(grid.x, 1U);
    EXPECT_LE(int64_t{grid.x - 1} * grid.threads, items);
    EXPECT_LE(grid.x, 1U << 20);
    if (items < (int64_t{1} << 28)) {
      EXPECT_GE(int64_t{grid.x} * grid.threads, items);
    }
  }
}

// Folds of a block halve its threads.
TEST(GridTest, BlocksHaveAPowerOfTwoOfThreads) {
  for (const int64_t work : {0, 1, 31, 32, 33, 100, 256, 5000}) {
    const Grid grid = grid_of_blocks(7, work);
    EXPECT_EQ(grid.x, 7U);
    EXPECT_EQ(grid.threads & (grid.threads - 1), 0U);
    EXPECT_GE(grid.threads, 32U);
    EXPECT_LE(grid.threads, kThreads);
  }
}

std::vector<uint8_t> copied(const CopyBox& box, const std::vector<uint8_t>& from, size_t bytes,
                            std::vector<int>& times) {
  std::vector<uint8_t> to(bytes, 0xee);
  Dims sizes;
  for (const CopyAxis& axis : box.axes) sizes.push_back(axis.size);
  ops::for_each_index(sizes, [&](const Dims& at) {
    int64_t source = box.from_offset, target = box.to_offset;
    for (size_t i = 0; i < at.size(); ++i) {
      source += at[i] * box.axes[i].from;
      target += at[i] * box.axes[i].to;
    }
    const auto width = static_cast<int64_t>(box.width);
    std::memcpy(to.data() + target * width, from.data() + source * width, box.width);
    for (int64_t i = 0; i < width; ++i) ++times[static_cast<size_t>(target * width + i)];
  });
  return to;
}

// Boxes of a permuted, sliced and repeated tensor, as they are and simplified, move the same bytes, each
// once.
TEST(StridedCopyTest, SimplifiedBoxesMoveTheSame) {
  std::mt19937 random(7);
  const auto draw = [&](int64_t least, int64_t most) {
    return std::uniform_int_distribution<int64_t>(least, most)(random);
  };
  for (int round = 0; round < 300; ++round) {
    const auto rank = static_cast<size_t>(draw(0, 5));
    Dims source_dims, target_dims;
    std::vector<size_t> order(rank);
    for (size_t i = 0; i < rank; ++i) {
      order[i] = i;
      source_dims.push_back(draw(1, 3) * (draw(0, 2) == 0 ? 8 : 1));
    }
    std::shuffle(order.begin(), order.end(), random);
    if (draw(0, 1) == 0) std::iota(order.begin(), order.end(), size_t{0});
    CopyBox box;
    box.width = size_t{1} << draw(0, 4);
    for (const size_t axis : order) target_dims.push_back(source_dims[axis]);
    const auto from = ops::strides_of(source_dims), to = ops::strides_of(target_dims);
    for (size_t i = 0; i < rank; ++i) {
      const bool turned = draw(0, 6) == 0, repeated = draw(0, 6) == 0;
      const int64_t step = from[order[i]];
      box.axes.push_back({target_dims[i], repeated ? 0 : turned ? -step : step, to[i]});
      if (turned && !repeated) box.from_offset += (target_dims[i] - 1) * step;
    }
    const auto bytes = static_cast<size_t>(element_count(target_dims)) * box.width;
    std::vector<uint8_t> content(bytes);
    for (uint8_t& byte : content) byte = static_cast<uint8_t>(draw(0, 255));
    std::vector<int> times(bytes, 0), simple_times(bytes, 0);
    const auto expected = copied(box, content, bytes, times);
    const CopyBox simple = simplified(box);
    EXPECT_EQ(copied(simple, content, bytes, simple_times), expected);
    EXPECT_EQ(simple_times, std::vector<int>(bytes, 1));
    EXPECT_LE(simple.axes.size(), rank);
  }
}

TEST(StridedCopyTest, ElementsThatLieTogetherAreMovedTogether) {
  const CopyBox whole = simplified({2, {{4, 32, 32}, {32, 1, 1}}, 0, 0});
  EXPECT_EQ(whole.width, 16U);
  EXPECT_EQ(whole.axes, (std::vector<CopyAxis>{{16, 1, 1}}));
  const CopyBox odd = simplified({2, {{4, 33, 32}, {32, 1, 1}}, 0, 0});
  EXPECT_EQ(odd.width, 2U);  // rows begin at odd places
}

TEST(WalkTest, AxesAreJoinedWhereAllOperandsAllowIt) {
  std::vector<PointwiseAccess> accesses(3);
  accesses[0].steps = {60, 20, 5, 1};  // [2, 3, 4, 5]
  accesses[1].steps = {0, 1, 0, 0};    // [3, 1, 1]
  accesses[2].steps = {0, 0, 0, 0};
  EXPECT_EQ(settle_walk(accesses, {2, 3, 4, 5}), (Dims{2, 3, 20}));
  EXPECT_EQ(accesses[0].kind, PointwiseAccess::Kind::kDirect);
  EXPECT_EQ(accesses[1].kind, PointwiseAccess::Kind::kStrided);
  EXPECT_EQ(accesses[1].steps, (std::vector<int64_t>{0, 1, 0}));
  EXPECT_EQ(accesses[2].kind, PointwiseAccess::Kind::kUniform);
}

}  // namespace
}  // namespace vernier::cuda
