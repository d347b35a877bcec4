#include "vernier/exec/packed_constants.h"

#include <gtest/gtest.h>

#include <cstring>

namespace vernier {
namespace {

Tensor values(float first) {
  return Tensor::from<float>(ElementType::kFloat, {2}, {first, 2});
}

struct Count {
  int* times;
  void operator()(std::byte* to) const {
    ++*times;
    std::memset(to, 7, 3);
  }
};

TEST(PackedConstants, EachFormOfAContentIsMadeOnce) {
  PackedConstants packed;
  int times = 0;
  const auto first = packed.get(values(1), "a", 3, Count{&times});
  EXPECT_EQ(packed.get(values(1), "a", 3, Count{&times}).bytes.data(), first.bytes.data());
  EXPECT_EQ(times, 1);
  packed.get(values(1), "b", 3, Count{&times});
  packed.get(values(3), "a", 3, Count{&times});
  // The same bytes under other sizes are another constant.
  packed.get(values(1).reshaped({2, 1}), "a", 3, Count{&times});
  EXPECT_EQ(times, 4);
  EXPECT_EQ(packed.forms().size(), 4U);
  EXPECT_EQ(first.bytes.size(), 3U);
  EXPECT_EQ(first.bytes[2], std::byte{7});
}

class Unreadable : public DeferredContent {
 public:
  const void* get() const override { throw internal_error("read"); }
};

TEST(PackedConstants, WhatIsKnownIsNotReadForItsHash) {
  PackedConstants packed;
  const Tensor source = Tensor::deferred(ElementType::kFloat, {2}, std::make_shared<Unreadable>());
  EXPECT_THROW(source.raw(), Error);
  EXPECT_THROW(packed.get(source, "a", 1, {}), Error);
  const std::byte content[1] = {};
  packed.know(source, 11);
  packed.add({11, "a"}, {content, nullptr});
  EXPECT_EQ(packed.get(source, "a", 1, {}).bytes.data(), content);
}

}  // namespace
}  // namespace vernier
