// Convolutions with padding by weights of which some are NaN or infinite: padding is multiplied with them, as
// in the reference, in every layout and by every tactic.
#include "cpu/nonfinite/nonfinite.h"

namespace vernier::nonfinite {
namespace {

struct Padded {
  Dims x, w;
  std::string attributes;
};

const std::vector<Padded>& convolutions() {
  static const std::vector<Padded> all = {
      {{1, 32, 9, 10}, {48, 32, 3, 3}, "pads = ints[1, 1, 1, 1]"},
      {{1, 3, 9, 10}, {10, 3, 3, 3}, "pads = ints[2, 0, 1, 0], strides = ints[2, 1]"},
      {{1, 32, 9, 10}, {32, 1, 3, 3}, "group = 32, pads = ints[1, 1, 1, 1]"},
      {{1, 20, 9, 10}, {16, 5, 3, 3}, "auto_pad = \"SAME_LOWER\", group = 4"},
      {{2, 16, 24}, {16, 16, 3}, "auto_pad = \"SAME_UPPER\", strides = ints[2]"},
      {{1, 4, 5, 6, 7}, {8, 4, 3, 3, 3}, "pads = ints[1, 1, 1, 1, 1, 1]"},
      {{1, 1, 1, 3}, {1, 1, 1, 3}, "pads = ints[0, 1, 0, 1]"},
      {{1, 32, 9, 10}, {48, 32, 1, 1}, "pads = ints[1, 1, 1, 1]"},
  };
  return all;
}

Model model_of(const Padded& padded, ElementType element, double odd, const std::string& then) {
  const std::string type(element_type_short_name(element));
  const auto list = [](const Dims& dims) { return fmt::format("{}", fmt::join(dims, ", ")); };
  Model model = parse_graph("graph \"g\" (%x: " + type + "[" + list(padded.x) + "], %w: " + type + "[" +
                            list(padded.w) + "]) -> (%y) {\n" +
                            named("%c: " + type + "[*] = Conv(%x, %w) {" + padded.attributes +
                                  "} version 11\n%y: " + type + "[*] = " + then + "(%c) version 14") +
                            "}");
  Value* weights = model.graph->inputs.back();
  model.graph->inputs.pop_back();
  auto values = numbers(element_count(padded.w), 2, 0.2);
  values.front() = odd;
  values[values.size() / 2] = odd;
  weights->constant = Tensor::from_doubles(element, padded.w, values);
  return model;
}

class PaddedWeights : public testing::TestWithParam<ElementType> {};

TEST_P(PaddedWeights, AsTheReference) {
  for (const Padded& padded : convolutions()) {
    for (const double odd : {kNan, kInfinity, -kInfinity}) {
      for (const char* then : {"Identity", "Relu"}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", dims_text(padded.w), padded.attributes, odd, then));
        expect_as_reference(
            model_of(padded, GetParam(), odd, then),
            {{"x", Tensor::from_doubles(GetParam(), padded.x, numbers(element_count(padded.x), 1, 1))}},
            tolerance_of(GetParam()));
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, PaddedWeights,
                         testing::Values(ElementType::kFloat, ElementType::kBFloat16, ElementType::kFloat16),
                         [](const auto& of) { return std::string(element_type_short_name(of.param)); });

}  // namespace
}  // namespace vernier::nonfinite
