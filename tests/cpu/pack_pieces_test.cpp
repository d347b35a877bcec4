// Weights split straight into blocks lie as oneDNN's own reorder puts the pieces.
#include "vernier/backends/cpu/onednn/pack_pieces.h"

#include <gtest/gtest.h>

#include <random>

#include "vernier/backends/cpu/onednn/split_bf16.h"

namespace vernier::cpu {
namespace {

using Tag = dnnl::memory::format_tag;
using Type = dnnl::memory::data_type;

constexpr int64_t kPieces[] = {0, 2, 0};

std::vector<float> noise(size_t count) {
  std::mt19937_64 random(count);
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) value = normal(random);
  return values;
}

Dims tripled(Dims dims, int axis) {
  dims[static_cast<size_t>(axis)] *= 3;
  return dims;
}

void reorder(const dnnl::memory::desc& from_md, const void* from, const dnnl::memory::desc& to_md, void* to) {
  dnnl::memory source(from_md, dnnl_engine(), const_cast<void*>(from)), target(to_md, dnnl_engine(), to);
  dnnl::reorder(source, target).execute(thread_stream(), source, target);
  thread_stream().wait();
}

// Each piece of all weights on its own, brought to its part by oneDNN.
std::vector<uint16_t> expected(const std::vector<float>& from, const Dims& dims,
                               const dnnl::memory::desc& as_is, int axis, const dnnl::memory::desc& wanted) {
  const auto count = static_cast<int64_t>(from.size());
  std::vector<uint16_t> split(from.size() * 3), whole(from.size() * 3), packed(wanted.get_size() / 2);
  split_rows(from.data(), split.data(), 1, count);
  const auto whole_md = plain(Type::bf16, tripled(dims, axis));
  for (int64_t part = 0; part < 3; ++part) {
    auto offsets = dnnl::memory::dims(dims.size(), 0);
    offsets[static_cast<size_t>(axis)] = part * dims[static_cast<size_t>(axis)];
    reorder(retyped(as_is, Type::bf16), split.data() + kPieces[part] * count,
            whole_md.submemory_desc(to_dnnl(dims), offsets), whole.data());
  }
  reorder(whole_md, whole.data(), wanted, packed.data());
  return packed;
}

bool packs(const Dims& dims, const dnnl::memory::desc& as_is, int axis, Tag tag) {
  const dnnl::memory::desc wanted(to_dnnl(tripled(dims, axis)), Type::bf16, tag);
  const auto from = noise(static_cast<size_t>(element_count(dims)));
  std::vector<uint16_t> packed(wanted.get_size() / 2, 0xABCD);
  if (!pack_pieces(from.data(), as_is, axis, wanted, kPieces, reinterpret_cast<std::byte*>(packed.data()))) {
    EXPECT_EQ(std::count(packed.begin(), packed.end(), 0xABCD), static_cast<int64_t>(packed.size()));
    return false;
  }
  EXPECT_EQ(packed, expected(from, dims, as_is, axis, wanted));
  return true;
}

TEST(PackPieces, WeightsOfConvolutions) {
  const auto as_is = [](const Dims& dims) { return plain(Type::f32, dims); };
  EXPECT_TRUE(packs({128, 96, 1, 1}, as_is({128, 96, 1, 1}), 1, Tag::OIhw16i64o2i));
  EXPECT_TRUE(packs({64, 64, 3, 3}, as_is({64, 64, 3, 3}), 1, Tag::OIhw16i32o2i));
  EXPECT_TRUE(packs({32, 32, 5}, as_is({32, 32, 5}), 1, Tag::OIw8i16o2i));
  EXPECT_TRUE(packs({48, 32, 2, 3}, as_is({48, 32, 2, 3}), 1, Tag::OIhw16i48o2i));
}

TEST(PackPieces, MatricesAsTheyAreAndTransposed) {
  const Dims dims{64, 128};
  EXPECT_TRUE(packs(dims, {to_dnnl(dims), Type::f32, Tag::ab}, 0, Tag::BA16a64b2a));
  EXPECT_TRUE(packs(dims, {to_dnnl(dims), Type::f32, Tag::ba}, 0, Tag::BA16a64b2a));
}

TEST(PackPieces, LeavesOtherBlocksAlone) {
  const auto as_is = [](const Dims& dims) { return plain(Type::f32, dims); };
  // Columns, or depth, that do not fill the blocks; no pairs; no blocks.
  EXPECT_FALSE(packs({72, 64, 1, 1}, as_is({72, 64, 1, 1}), 1, Tag::OIhw16i64o2i));
  EXPECT_FALSE(packs({64, 48, 1, 1}, as_is({64, 48, 1, 1}), 1, Tag::OIhw16i64o2i));
  EXPECT_FALSE(packs({64, 64, 1, 1}, as_is({64, 64, 1, 1}), 1, Tag::OIhw16i16o));
  EXPECT_FALSE(packs({64, 64, 1, 1}, as_is({64, 64, 1, 1}), 1, Tag::oihw));
}

}  // namespace
}  // namespace vernier::cpu
