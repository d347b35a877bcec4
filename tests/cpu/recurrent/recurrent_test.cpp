// LSTM, GRU and RNN against the reference.
#include "cpu/one_kernel.h"
#include "isa/needs.h"
#include "vernier/backends/cpu/gemm/tile_block.h"

namespace vernier::cpu {
namespace {

using ops::OneNode;
using Strings = std::vector<std::string>;
constexpr ElementType kF32 = ElementType::kFloat;

Tensor values(ElementType type, Dims dims, unsigned seed) {
  return random_tensor(type, std::move(dims), seed, false);
}

// As large as the weights of models are.
Tensor weights(ElementType type, Dims dims, unsigned seed) {
  auto reals = values(type, dims, seed).to_doubles();
  for (double& each : reals) each /= 8;
  return Tensor::from_doubles(type, std::move(dims), reals);
}

struct Sizes {
  int64_t steps = 5, batch = 2, inputs = 7, hidden = 9;
};

// A node of one of the three operators with all that it can be given.
struct Recurrent {
  std::string op;
  AttributeMap attributes = {};
  Sizes sizes = {};
  ElementType type = kF32;
  bool bias = true, lengths = false, states = false, peepholes = false, constant = true;
  std::string tactic = {};

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

  void expect() const {
    const auto direction = attributes.find("direction");
    const int64_t d =
        direction != attributes.end() && direction->second == Attribute("bidirectional") ? 2 : 1;
    const bool batch_first = attributes.contains("layout");
    const auto [t, n, i, h] = sizes;
    std::vector<Tensor> inputs = {values(type, batch_first ? Dims{n, t, i} : Dims{t, n, i}, 1),
                                  weights(type, {d, gates() * h, i}, 2),
                                  weights(type, {d, gates() * h, h}, 3)};
    inputs.resize(op == "LSTM" ? 8 : 6);
    const Dims state = batch_first ? Dims{n, d, h} : Dims{d, n, h};
    if (bias) inputs[3] = values(type, {d, 2 * gates() * h}, 4);
    if (lengths) {
      std::vector<int64_t> counts;
      for (int64_t s = 0; s < n; ++s) counts.push_back(s % (t + 1));
      inputs[4] = Tensor::from_ints(ElementType::kInt32, {n}, counts);
    }
    if (states) inputs[5] = values(type, state, 5);
    if (states && op == "LSTM") inputs[6] = values(type, state, 6);
    if (peepholes) inputs[7] = values(type, {d, 3 * h}, 7);
    const OneNode node{op, 14, attributes, "", op == "LSTM" ? size_t{3} : size_t{2}};
    const double tolerance = tactic == "bf16x3"              ? 2e-4
                             : type == kF32                  ? 2e-5
                             : type == ElementType::kFloat16 ? 2e-3
                                                             : 1.6e-2;
    std::string lower = op;
    for (char& c : lower) c = static_cast<char>(std::tolower(c));
    OneKernel one{node, inputs, constant ? std::set<size_t>{1, 2, 3} : std::set<size_t>{}, Layout::kPlain,
                  tolerance};
    if (!bias) one.constants.erase(3);
    one.tactic = tactic;
    one.expect("cpu:" + lower + (tactic.empty() ? "" : ":" + tactic));
  }
};

TEST(RecurrentKernel, SizesAndTypes) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    for (const ElementType type : {kF32, ElementType::kFloat16, ElementType::kBFloat16}) {
      Recurrent{.op = op, .type = type}.expect();
      Recurrent{.op = op, .type = type, .states = true, .constant = false}.expect();
    }
    for (const Sizes& sizes : {Sizes{1, 1, 1, 1}, Sizes{3, 13, 5, 40}, Sizes{0, 2, 3, 4}, Sizes{3, 0, 3, 4},
                               Sizes{2, 6, 600, 33}, Sizes{4, 5, 0, 16}, Sizes{3, 37, 5, 40}})
      Recurrent{.op = op, .sizes = sizes, .states = true}.expect();
  }
}

TEST(RecurrentKernel, DirectionsLayoutsAndLengths) {
  for (const char* op : {"LSTM", "GRU", "RNN"}) {
    for (const char* direction : {"forward", "reverse", "bidirectional"}) {
      for (const bool lengths : {false, true}) {
        AttributeMap attributes = {{"direction", Attribute(direction)}};
        Recurrent{.op = op, .attributes = attributes, .sizes = {4, 9, 3, 5}, .lengths = lengths}.expect();
        attributes.insert({"layout", Attribute(int64_t{1})});
        Recurrent{.op = op,
                  .attributes = attributes,
                  .sizes = {4, 9, 3, 5},
                  .bias = false,
                  .lengths = lengths,
                  .states = true}
            .expect();
      }
    }
  }
}

// Threads share the sequences, but no sum depends on how.
TEST(RecurrentKernel, EveryNumberOfThreadsGivesTheSameBits) {
  for (const int64_t batch : {7, 13, 32}) {
    OneKernel one{
        {"LSTM", 14, {}, "", 3},
        {values(kF32, {5, batch, 7}, 1), weights(kF32, {1, 36, 7}, 2), weights(kF32, {1, 36, 9}, 3)},
        {1, 2}};
    set_thread_count(1);
    const auto alone = one.run();
    ASSERT_TRUE(alone) << one.reason;
    for (const int threads : {2, 3, 4}) {
      set_thread_count(threads);
      const auto outputs = one.run();
      ASSERT_TRUE(outputs);
      for (size_t i = 0; i < outputs->size(); ++i)
        EXPECT_TRUE((*outputs)[i].identical((*alone)[i])) << threads << " threads, " << batch << " sequences";
    }
  }
}

TEST(RecurrentKernel, WhatOneOfThemHas) {
  Recurrent{.op = "LSTM", .states = true, .peepholes = true}.expect();
  Recurrent{.op = "LSTM", .attributes = {{"input_forget", Attribute(int64_t{1})}}, .peepholes = true}
      .expect();
  Recurrent{.op = "LSTM", .type = ElementType::kFloat16, .peepholes = true, .constant = false}.expect();
  for (const bool bias : {false, true}) {
    for (const char* direction : {"reverse", "bidirectional"})
      Recurrent{
          .op = "GRU",
          .attributes = {{"linear_before_reset", Attribute(int64_t{1})}, {"direction", Attribute(direction)}},
          .bias = bias,
          .states = true}
          .expect();
  }
}

TEST(RecurrentKernel, EveryActivation) {
  for (const char* function : {"Affine", "Elu", "HardSigmoid", "LeakyRelu", "Relu", "ScaledTanh", "sigmoid",
                               "Softplus", "Softsign", "Tanh", "ThresholdedRelu"}) {
    Recurrent{
        .op = "RNN", .attributes = {{"activations", Attribute(Strings{function})}}, .sizes = {2, 2, 7, 9}}
        .expect();
    Recurrent{.op = "LSTM",
              .attributes = {{"activations", Attribute(Strings{"Sigmoid", "Tanh", function})},
                             {"clip", Attribute(0.5F)}}}
        .expect();
  }
}

TEST(RecurrentKernel, ProductsOnTiles) {
  VERNIER_NEEDS(kAmx);
  for (const char* tactic : {"bf16x3", "bf16x6"}) {
    for (const char* op : {"LSTM", "GRU", "RNN"}) {
      // One sequence, a few, a tile of them, more than that in blocks of rows.
      for (const Sizes& sizes :
           {Sizes{40, 1, 5, 9}, Sizes{3, 7, 33, 16}, Sizes{4, 16, 40, 33}, Sizes{30, 37, 70, 20}})
        Recurrent{.op = op, .sizes = sizes, .states = true, .tactic = tactic}.expect();
      Recurrent{.op = op,
                .attributes = {{"direction", Attribute("bidirectional")}, {"layout", Attribute(int64_t{1})}},
                .sizes = {4, 21, 40, 33},
                .lengths = true,
                .tactic = tactic}
          .expect();
    }
    Recurrent{.op = "GRU",
              .attributes = {{"linear_before_reset", Attribute(int64_t{1})}},
              .sizes = {4, 16, 40, 33},
              .tactic = tactic}
        .expect();
  }
}

TEST(RecurrentKernel, TilesNeedWeightsThatAreKnown) {
  const auto x = values(kF32, {4, 16, 8}, 1);
  OneKernel one{{"RNN", 14, {}, "", 2}, {x, weights(kF32, {1, 8, 8}, 2), weights(kF32, {1, 8, 8}, 3)}, {1}};
  one.tactic = "bf16x6";
  EXPECT_FALSE(one.run());
  EXPECT_THAT(one.reason, testing::HasSubstr("bf16x6"));
}

TEST(RecurrentKernel, WhatIsNoNumberStaysSo) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  const auto x = ops::floats({1, 3, 2}, {nan, 1, inf, 1, -1e30, 1});
  OneKernel one{{"RNN", 14, {}, "", 2},
                {x, ops::floats({1, 2, 2}, {1, 0, 0, 1}), ops::floats({1, 2, 2}, {1, 2, 3, 4})},
                {1, 2},
                Layout::kPlain,
                1e-6};
  one.expect("cpu:rnn");
}

TEST(RecurrentKernel, ALengthOutOfRangeIsRefused) {
  const auto lengths = Tensor::from_ints(ElementType::kInt32, {1}, std::vector<int64_t>{3});
  OneKernel one{{"RNN", 14, {}, "", 2},
                {ops::floats({2, 1, 1}, {1, 2}), ops::floats({1, 1, 1}, {1}), ops::floats({1, 1, 1}, {1}),
                 Tensor(), lengths}};
  EXPECT_THROW(one.run(), Error);
}

}  // namespace
}  // namespace vernier::cpu
