// Samples of many rows in pieces.
#include "vernier/calibrate/split_samples.h"

#include <gmock/gmock.h>

#include "vernier/base/error.h"

namespace vernier {
namespace {

class OneSample : public DataSource {
 public:
  explicit OneSample(NamedData inputs) { sample_.emplace(Sample{"file", std::move(inputs), {}, {}}); }
  std::optional<Sample> next() override { return std::exchange(sample_, std::nullopt); }

 private:
  std::optional<Sample> sample_;
};

Tensor counting(Dims dims) {
  Tensor tensor(ElementType::kFloat, std::move(dims));
  float next = 0;
  for (float& value : tensor.mutable_values<float>()) value = next++;
  return tensor;
}

std::vector<Sample> pieces(NamedData inputs, int64_t rows) {
  SplitSamples split(std::make_unique<OneSample>(std::move(inputs)), rows);
  std::vector<Sample> all;
  while (auto sample = split.next()) all.push_back(std::move(*sample));
  return all;
}

TEST(SplitSamples, GivesAllRowsInOrder) {
  const auto all = pieces({{"x", counting({5, 2})}, {"y", counting({5})}}, 2);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[1].inputs.at("x").tensor.to_doubles(), (std::vector<double>{4, 5, 6, 7}));
  EXPECT_EQ(all[2].inputs.at("x").tensor.dims(), (Dims{1, 2}));
  EXPECT_EQ(all[2].inputs.at("y").tensor.to_doubles(), (std::vector<double>{4}));
  EXPECT_EQ(all[2].origin, "file, rows 4 to 4");
  EXPECT_EQ(pieces({{"x", counting({2, 2})}}, 8)[0].origin, "file");
  EXPECT_TRUE(pieces({{"x", counting({0, 2})}}, 1).empty());
}

TEST(SplitSamples, RefusesWhatHasNoRowsInCommon) {
  EXPECT_THROW(pieces({{"x", counting({5, 2})}, {"y", counting({4})}}, 2), Error);
  EXPECT_THROW(pieces({{"x", counting({5, 2})}, {"y", counting({})}}, 2), Error);
}

}  // namespace
}  // namespace vernier
