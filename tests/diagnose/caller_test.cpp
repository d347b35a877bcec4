// Faults outside of the graph: callers, batches, and weights of another model.
#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

std::string image_model() {
  return of_floats("%x: f32[1, 3, 10, 12], %w: f32[8, 3, 3, 3]", "Conv(%x, %w) version 11");
}

Reproduction reproduction_of(const std::string& text, const FaultyEngine& engine,
                             const NamedData& data = {}) {
  const Model model = parse_planted(text, 18);
  return Planted(model, engine, data).reproduction();
}

void expect_caller(const Reproduction& found, const std::vector<std::string>& values) {
  ASSERT_TRUE(found.cause) << found.tried;
  EXPECT_EQ(found.cause->failure.code(), "B48") << found.cause->what;
  EXPECT_EQ(found.cause->values, values);
  EXPECT_TRUE(found.cause->nodes.empty());
}

// Element (c, y, x) of the image, which has 3 channels, from its place in memory.
FaultyEngine gives(const std::function<size_t(size_t c, size_t y, size_t x)>& place,
                   const std::function<double(double, size_t c)>& change = nullptr) {
  return reads("x", [=](const Tensor& given) {
    const auto from = given.to_doubles();
    std::vector<double> to;
    for (size_t c = 0; c < 3; ++c) {
      for (size_t i = 0; i < 120; ++i) {
        const double value = from[place(c, i / 12, i % 12)];
        to.push_back(change ? change(value, c) : value);
      }
    }
    return floats(given.dims(), to);
  });
}

size_t in_place(size_t c, size_t y, size_t x) {
  return (c * 10 + y) * 12 + x;
}

TEST(Caller, GivesImagesInAnotherOrder) {
  // Height, width and channel in memory, which are read as channel, height and width.
  expect_caller(reproduction_of(image_model(), gives([](size_t c, size_t y, size_t x) {
                                  const size_t at = (c * 10 + y) * 12 + x, pixel = at / 3, channel = at % 3;
                                  return channel * 120 + pixel;
                                })),
                {"x"});
  expect_caller(reproduction_of(image_model(),
                                gives([](size_t c, size_t y, size_t x) { return in_place(2 - c, y, x); })),
                {"x"});
}

TEST(Caller, ForgetsMeanAndDeviation) {
  const double factors[] = {0.3, 0.5, 0.2}, offsets[] = {0.4, -0.1, 0.7};
  const Reproduction found = reproduction_of(image_model(), gives(in_place, [&](double value, size_t c) {
                                               return factors[c] * value + offsets[c];
                                             }));
  expect_caller(found, {"x"});
  EXPECT_NE(found.cause->what.find("0.5 x"), std::string::npos) << found.cause->what;
}

// A Sigmoid of the image would make nearly the same of it.
TEST(Caller, ForgetsOneMeanForAllChannels) {
  expect_caller(reproduction_of(image_model(),
                                gives(in_place, [](double value, size_t) { return 0.21 * value + 0.5; })),
                {"x"});
  // A factor alone may be one that the node forgets.
  const Reproduction found =
      reproduction_of(image_model(), gives(in_place, [](double value, size_t) { return 0.21 * value; }));
  ASSERT_TRUE(found.cause);
  EXPECT_EQ(found.cause->failure.code(), "B31") << found.cause->what;
}

TEST(Caller, ExchangesInputs) {
  const auto graph = of_floats("%x: f32[4, 6], %z: f32[4, 6]", "Sub(%x, %z) version 14");
  const Reproduction found = reproduction_of(graph, [](const Model& model, const NamedData& data) {
    NamedData other = data;
    std::swap(other.at("x"), other.at("z"));
    return outputs_of(model, other);
  });
  ASSERT_TRUE(found.cause);
  EXPECT_LT(found.cause->residual, 0.01);
}

TEST(Caller, IsNotBlamedForNoise) {
  expect_nothing_in_noise({"Noise", "B48", image_model(), gives(in_place)});
}

std::string rows() {
  return of_floats("%x: f32[4, 5, 9, 9], %w: f32[7, 5, 3, 3]", "Conv(%x, %w) version 11");
}

NamedData four_rows() {
  std::vector<double> weights;
  for (int i = 0; i < 315; ++i) weights.push_back(0.01 * (i * 37 % 101 - 50));
  return {{"w", floats({7, 5, 3, 3}, weights)}};
}

// Row i of the result is row `from(i)`, or zero.
FaultyEngine takes(const std::function<int(int)>& from) {
  return writes([=](const Tensor& right) {
    const auto values = right.to_doubles();
    const size_t size = values.size() / 4;
    std::vector<double> taken(values.size(), 0);
    for (int row = 0; row < 4; ++row) {
      for (size_t i = 0; i < size && from(row) >= 0; ++i)
        taken[static_cast<size_t>(row) * size + i] = values[static_cast<size_t>(from(row)) * size + i];
    }
    return floats(right.dims(), taken);
  });
}

class Batch : public testing::Test {
 protected:
  // The weights are no row of the batch: they are constants.
  Batch() {
    Model model = parse_planted(rows(), 18);
    Value* weights = model.graph->inputs.at(1);
    weights->constant = four_rows().at("w").tensor;
    model_ = std::move(model);
  }
  Reproduction reproduction(const FaultyEngine& engine) {
    return Planted(model_, engine, four_rows()).reproduction();
  }
  Model model_;
};

TEST_F(Batch, RowsAreExchangedOrLost) {
  for (const auto& from :
       std::vector<std::function<int(int)>>{[](int row) { return (row + 1) % 4; }, [](int) { return 0; },
                                            [](int row) { return row % 2 == 1 ? -1 : row; }}) {
    const Reproduction found = reproduction(takes(from));
    ASSERT_TRUE(found.cause);
    EXPECT_EQ(found.cause->failure.code(), "B43") << found.cause->what;
    EXPECT_LT(found.cause->residual, 0.05);
  }
}

// These rows are no batch, but heads or the nodes of a graph.
TEST(Rows, AreExchangedWhereNobodyKnowsTheBatch) {
  for (const int columns : {8, 1}) {
    const std::string model =
        of_floats(fmt::format("%w: f32[6, 3], %x: f32[3, {}]", columns), "MatMul(%w, %x) version 13");
    const auto turned = [](const Tensor& right) { return rolled(right, 0, 1); };
    expect_found({"Turned", "B43", model, writes(turned)});
  }
  const auto exchanged = [](const Tensor& right) { return taken(right, 0, {2, 0, 1, 5, 3, 4}); };
  expect_found({"Exchanged", "B43", of_floats("%w: f32[6, 3], %x: f32[3, 8]", "MatMul(%w, %x) version 13"),
                writes(exchanged)});
}

TEST_F(Batch, OtherWeightsAreFittedWhereRowsSuffice) {
  const Reproduction found = reproduction([](const Model& model, const NamedData& data) {
    NamedData other = data;
    auto weights = data.at("w").tensor.to_doubles();
    std::reverse(weights.begin(), weights.end());
    for (size_t i = 0; i < weights.size(); i += 3) weights[i] *= -0.7;
    other["w"] = floats({7, 5, 3, 3}, weights);
    return outputs_of(model, other);
  });
  ASSERT_TRUE(found.cause) << found.tried << " " << (found.others.empty() ? "" : found.others[0].what) << " "
                           << (found.others.empty() ? 1 : found.others[0].residual);
  EXPECT_EQ(found.cause->failure.code(), "B47") << found.cause->what;
}

TEST_F(Batch, AMultipleOfTheResultIsNoOtherTraining) {
  const Reproduction found = reproduction(writes([](const Tensor& right) {
    auto values = right.to_doubles();
    for (double& value : values) value *= 0.5;
    return floats(right.dims(), values);
  }));
  const bool seen = found.cause && found.cause->failure.code() == "B47";
  EXPECT_FALSE(seen);
}

}  // namespace
}  // namespace vernier
