#include "vernier/exec/packed_constants.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "vernier/base/error.h"

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
  EXPECT_EQ(packed.get(values(1), "a", 3, Count{&times}), first);
  const auto second = packed.get(values(1), "b", 3, Count{&times});
  const auto third = packed.get(values(3), "a", 3, Count{&times});
  // The same bytes under other sizes are another constant.
  const auto fourth = packed.get(values(1).reshaped({2, 1}), "a", 3, Count{&times});
  EXPECT_EQ(packed.forms().size(), 4U);
  EXPECT_EQ(times, 0) << "nobody has read one";
  for (const auto& form : {first, second, third, fourth, first}) EXPECT_EQ(form->content().size(), 3U);
  EXPECT_EQ(times, 4);
  EXPECT_EQ(first->content()[2], std::byte{7});
}

TEST(PackedConstants, AFormThatCouldNotBeMadeIsTriedAgain) {
  PackedConstants packed;
  int times = 0;
  const auto form = packed.get(values(1), "a", 3, [&](std::byte* to) {
    if (times == 0) {
      ++times;
      throw bad_input("not now");
    }
    Count{&times}(to);
  });
  EXPECT_THROW(form->content(), Error);
  EXPECT_FALSE(form->is_made());
  EXPECT_EQ(form->content()[0], std::byte{7});
  EXPECT_TRUE(form->is_made());
  EXPECT_EQ(times, 2);
}

TEST(PackedConstants, ManyThreadsMakeAFormOnce) {
  PackedConstants packed;
  int times = 0;
  const auto form = packed.get(values(1), "a", 3, Count{&times});
  std::vector<std::jthread> readers;
  for (int i = 0; i < 8; ++i) readers.emplace_back([&] { EXPECT_EQ(form->content()[1], std::byte{7}); });
  readers.clear();
  EXPECT_EQ(times, 1);
}

TEST(PackedConstants, AFormOfAnotherSizeIsRefused) {
  PackedConstants packed;
  packed.get(values(1), "a", 3, {});
  EXPECT_THROW(packed.get(values(1), "a", 4, {}), Error);
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
  packed.add({11, "a"}, std::make_shared<PackedForm>(content, nullptr));
  EXPECT_EQ(packed.get(source, "a", 1, {})->content().data(), content);
}

}  // namespace
}  // namespace vernier
