// Operators of com.microsoft: what foreign input must not do, what symbolic inference follows, and the ideal
// mode, which never quantizes. Their numbers are compared with ONNX Runtime (tests/contrib).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;

constexpr const char* kMicrosoft = "com.microsoft";

Tensor bytes(Dims dims, const std::vector<int64_t>& values) {
  return Tensor::from_ints(ElementType::kUint8, std::move(dims), values);
}

Tensor ones(const Dims& dims) {
  return floats(dims, std::vector<double>(static_cast<size_t>(element_count(dims)), 1));
}

TEST(MurmurHash3, AgreesWithPublishedHashes) {
  const OneNode hash("MurmurHash3", 1, {}, kMicrosoft);
  const Tensor texts = Tensor::from<std::string>(ElementType::kString, {2}, {"", "hello"});
  EXPECT_THAT(hash.run({texts})[0].to_ints(), ElementsAre(0, 0x248bfa47));
}

TEST(MurmurHash3, TheIdealModeHashesTheDeclaredBits) {
  const OneNode hash("MurmurHash3", 1, {}, kMicrosoft);
  const Tensor x = floats({2}, {0.5, -3});
  EXPECT_EQ(hash.reals({x}), hash.reals({x}, ReferenceMode::kIdeal));
}

TEST(MatMulBnb4, PackedSizesAreChecked) {
  const auto multiply = [](int64_t packed, int64_t blocks) {
    return OneNode(
               "MatMulBnb4", 1,
               {{"K", int64_t{4}}, {"N", int64_t{3}}, {"block_size", int64_t{8}}, {"quant_type", int64_t{0}}},
               kMicrosoft)
        .reals({ones({1, 4}), bytes({packed}, std::vector<int64_t>(static_cast<size_t>(packed), 0x33)),
                ones({blocks})});
  };
  EXPECT_THAT(multiply(6, 2), ElementsAre(4, 4, 4));  // code 3 is 1
  EXPECT_THROW(multiply(5, 2), Error);
  EXPECT_THROW(multiply(6, 1), Error);
}

TEST(GatherBlockQuantized, PackedColumnsAreCountedInElements) {
  const Dim n = Dim::symbol("n");
  const OneNode gather("GatherBlockQuantized", 1, {{"bits", int64_t{4}}, {"block_size", int64_t{16}}},
                       kMicrosoft);
  const auto y = gather.infer({typed(ElementType::kUint8, {100, 24}), typed(ElementType::kInt64, {n, 2}),
                               typed(ElementType::kFloat, {100, 3})});
  EXPECT_EQ(y.type.tensor.shape, (Shape{n, 2, 48}));
  EXPECT_THROW(gather.run({bytes({1, 8}, std::vector<int64_t>(8)), ints({1}, {0}), ones({1, 2})}), Error);
}

TEST(MoE, ShapesThatDoNotFitAreRefused) {
  const auto run = [](const Dims& x, const Dims& scores, const Dims& inner) {
    return OneNode("MoE", 1, {}, kMicrosoft)
        .reals({ones(x), ones(scores), ones(inner), Tensor(), ones({2, 3, inner[1]})});
  };
  EXPECT_THAT(run({1, 3}, {1, 2}, {2, 4, 3}), ElementsAre(6, 6, 6));  // 4 * 3, by half
  EXPECT_THROW(run({}, {1, 2}, {2, 4, 3}), Error);
  EXPECT_THROW(run({1, 3}, {2}, {2, 4, 3}), Error);
  EXPECT_THROW(run({1, 3}, {1, 2}, {2, 4, 5}), Error);
  EXPECT_THROW(run({2, 3}, {1, 2}, {2, 4, 3}), Error);
}

std::vector<Tensor> quantized_lstm(const Dims& scales) {
  const Tensor weights = Tensor::from_ints(ElementType::kInt8, {1, 1, 4}, std::vector<int64_t>{3, 5, -7, 9});
  const Tensor zero = Tensor::from_ints(ElementType::kInt8, {1}, std::vector<int64_t>{0});
  return {floats({2, 1, 1}, {0.3337, -0.7}),
          weights,
          weights,
          {},
          {},
          {},
          {},
          {},
          floats(scales, std::vector<double>(static_cast<size_t>(element_count(scales)), 0.125)),
          zero,
          floats({1}, {0.125}),
          zero};
}

TEST(DynamicQuantizeLstm, TheIdealModeIsTheLstmOfTheDequantizedWeights) {
  const AttributeMap attributes{{"hidden_size", int64_t{1}}};
  const OneNode quantized("DynamicQuantizeLSTM", 1, attributes, kMicrosoft), real("LSTM", 14, attributes);
  const Tensor weights = floats({1, 4, 1}, {0.375, 0.625, -0.875, 1.125});
  const auto inputs = quantized_lstm({1});
  const auto expected = real.reals({inputs[0], weights, weights}, ReferenceMode::kIdeal);
  const auto ideal = quantized.reals(inputs, ReferenceMode::kIdeal), declared = quantized.reals(inputs);
  ASSERT_EQ(ideal.size(), 2U);
  EXPECT_EQ(ideal, expected);
  EXPECT_NE(declared, real.reals({inputs[0], weights, weights}));
  EXPECT_NEAR(declared[1], expected[1], 1e-2);
  EXPECT_THROW(quantized.reals(quantized_lstm({3})), Error);
}

TEST(ConvTransposeWithDynamicPads, PadsMustFit) {
  const auto run = [](const std::vector<int64_t>& pads) {
    return OneNode("ConvTransposeWithDynamicPads", 1, {}, kMicrosoft)
        .reals({ones({1, 1, 3}), ones({1, 1, 2}), ints({static_cast<int64_t>(pads.size())}, pads)});
  };
  EXPECT_THAT(run({1, 0}), ElementsAre(2, 2, 1));
  EXPECT_THROW(run({1}), Error);
  EXPECT_THROW(run({-1, 0}), Error);
  EXPECT_THROW(run({4, 4}), Error);
  EXPECT_THROW(run({std::numeric_limits<int64_t>::max(), 0}), Error);
}

TEST(DecoderMaskedMultiHeadAttention, APastBeyondTheBufferIsRefused) {
  const auto attend = [](int64_t past) {
    return OneNode("DecoderMaskedMultiHeadAttention", 1,
                   {{"num_heads", int64_t{1}}, {"past_present_share_buffer", int64_t{1}}}, kMicrosoft, 3)
        .run({ones({1, 1, 2}),
              ones({1, 1, 2}),
              ones({1, 1, 2}),
              {},
              {},
              floats({1, 1, 2, 2}, {1, 2, 3, 4}),
              floats({1, 1, 2, 2}, {1, 2, 3, 4}),
              Tensor::from_ints(ElementType::kInt32, {1}, std::vector<int64_t>{past})});
  };
  EXPECT_THAT(attend(0)[1].to_doubles(), ElementsAre(1, 1, 3, 4));
  EXPECT_THAT(attend(1)[1].to_doubles(), ElementsAre(1, 2, 1, 1));
  for (const int64_t past : {int64_t{-1}, int64_t{2}, std::numeric_limits<int64_t>::max()})
    EXPECT_THROW(attend(past), Error);
}

TEST(DynamicTimeWarping, OneMatrixAtATime) {
  const OneNode warp("DynamicTimeWarping", 1, {}, kMicrosoft);
  EXPECT_THAT(warp.reals({ones({2, 2})}), ElementsAre(0, 1, 0, 1));
  EXPECT_THROW(warp.reals({ones({2, 2, 2})}), Error);
  EXPECT_THROW(warp.reals({ones({0, 2})}), Error);
}

TEST(UnfoldTensor, ShapesAreFollowed) {
  const Dim n = Dim::symbol("n");
  const OneNode unfold("UnfoldTensor", 1, {{"dim", int64_t{0}}, {"size", int64_t{3}}, {"step", int64_t{2}}},
                       kMicrosoft);
  EXPECT_EQ(unfold.infer({typed(ElementType::kFloat, {n, 4})}).type.tensor.shape,
            (Shape{floordiv(n - 3, 2) + 1, 4, 3}));
  EXPECT_THROW(unfold.run({ones({2, 4})}), Error);
}

}  // namespace
}  // namespace vernier::ops
