// Inference refuses parameters of another size: kernels take what it lets pass at its word.
#include <gtest/gtest.h>

#include "one_node.h"

namespace vernier::ops {
namespace {

using Ints = std::vector<int64_t>;

TEST(ParameterSizes, OthersAreRefused) {
  const auto infer = [](const OneNode& node, const Shape& x, const std::vector<Shape>& parameters) {
    std::vector<ValueInfo> inputs{typed(ElementType::kFloat, x)};
    for (const Shape& shape : parameters) inputs.push_back(typed(ElementType::kFloat, shape));
    return node.infer(inputs);
  };
  for (const char* op : {"QuantizeLinear", "DequantizeLinear"}) {
    const OneNode node(op, 13);
    const std::vector<Shape> scale_and_zero_point{{4}, {4}};
    EXPECT_NO_THROW(infer(node, {2, 4}, scale_and_zero_point)) << op;
    EXPECT_NO_THROW(infer(node, {2, Dim::symbol("N")}, scale_and_zero_point)) << op;
    EXPECT_THROW(infer(node, {2, 16}, scale_and_zero_point), Error) << op;
    EXPECT_THROW(infer(node, {2, 4}, {{4}, {1}}), Error) << op;
  }
  const OneNode transposed("ConvTranspose", 11), batch("BatchNormalization", 15),
      unpool("MaxUnpool", 11, {{"kernel_shape", Ints{2}}});
  EXPECT_NO_THROW(infer(transposed, {1, 2, 5}, {{2, 3, 2}, {3}}));
  EXPECT_THROW(infer(transposed, {1, 2, 5}, {{2, 3, 2}, {2}}), Error);
  EXPECT_NO_THROW(infer(batch, {2, 3, 5}, {{3}, {3}, {3}, {3}}));
  EXPECT_THROW(infer(batch, {2, 3, 5}, {{3}, {3}, {2}, {3}}), Error);
  EXPECT_NO_THROW(infer(unpool, {1, 2, 3}, {{1, 2, 3}}));
  EXPECT_THROW(infer(unpool, {1, 2, 3}, {{1, 2, 2}}), Error);
  const OneNode regions("RoiAlign", 16), images("InstanceNormalization", 6),
      channels("GroupNormalization", 21, {{"num_groups", int64_t{2}}}), lstm("LSTM", 14);
  EXPECT_NO_THROW(infer(regions, {1, 2, 5, 5}, {{3, 4}, {3}}));
  EXPECT_THROW(infer(regions, {1, 2, 5, 5}, {{3, 4}, {2}}), Error);
  EXPECT_NO_THROW(infer(images, {2, 4, 5}, {{4}, {4}}));
  EXPECT_THROW(infer(images, {2, 4, 5}, {{4}, {2}}), Error);
  EXPECT_NO_THROW(infer(channels, {2, 4, 5}, {{4}, {4}}));
  EXPECT_THROW(infer(channels, {2, 4, 5}, {{2}, {2}}), Error);
  EXPECT_NO_THROW(infer(lstm, {5, 2, 3}, {{1, 16, 3}, {1, 16, 4}}));
  EXPECT_THROW(infer(lstm, {5, 2, 3}, {{1, 16, 2}, {1, 16, 4}}), Error);
  EXPECT_THROW(infer(lstm, {5, 2, 3}, {{2, 16, 3}, {2, 16, 4}}), Error);
  EXPECT_THROW(infer(lstm, {5, 2, 3}, {{1, 12, 3}, {1, 16, 4}}), Error);
  EXPECT_THROW(infer(lstm, {5, 2, 3}, {{1, 12, 3}, {1, 12, 4}}), Error);
  EXPECT_NO_THROW(infer(lstm, {5, 2, 3}, {{1, 16, 3}, {1, 16, 4}, {1, 32}}));
  EXPECT_THROW(infer(lstm, {5, 2, 3}, {{1, 16, 3}, {1, 16, 4}, {1, 16}}), Error);
  const auto states = [&](const Shape& hidden, const Shape& cell) {
    return infer(lstm, {5, 2, 3}, {{1, 16, 3}, {1, 16, 4}, {1, 32}, {2}, hidden, cell});
  };
  EXPECT_NO_THROW(states({1, 2, 4}, {1, 2, 4}));
  EXPECT_THROW(states({1, 1, 4}, {1, 2, 4}), Error);
  EXPECT_THROW(states({1, 2, 4}, {1, 1, 4}), Error);
  const OneNode boxes("NonMaxSuppression", 11);
  EXPECT_NO_THROW(infer(boxes, {1, 6, 4}, {{1, 2, 6}}));
  EXPECT_THROW(infer(boxes, {1, 6, 4}, {{1, 2, 5}}), Error);
  const OneNode reversed("ReverseSequence", 10), rotary("RotaryEmbedding", 23, {{"num_heads", int64_t{2}}});
  EXPECT_NO_THROW(infer(reversed, {5, 2, 3}, {{2}}));
  EXPECT_THROW(infer(reversed, {5, 2, 3}, {{5}}), Error);
  EXPECT_THROW(infer(reversed, {5, 0, 3}, {{1}}), Error);
  EXPECT_NO_THROW(infer(rotary, {1, 3, 8}, {{1, 3, 2}, {1, 3, 2}}));
  EXPECT_THROW(infer(rotary, {1, 3, 6}, {{1, 3, 2}, {1, 3, 2}}), Error);
  EXPECT_NO_THROW(infer(rotary, {2, 3, 8}, {{9, 2}, {9, 2}, {2, 3}}));
  EXPECT_THROW(infer(rotary, {2, 3, 8}, {{9, 2}, {9, 2}, {1, 3}}), Error);
  const OneNode scatter("TensorScatter", 24), rows("LayerNormalization", 17), squares("RMSNormalization", 23);
  EXPECT_NO_THROW(infer(scatter, {2, 2, 8, 4}, {{2, 2, 3, 4}}));
  EXPECT_THROW(infer(scatter, {2, 2, 8, 4}, {{2, 2, 9, 4}}), Error);
  EXPECT_THROW(infer(scatter, {2, 2, 8, 4}, {{2, 2, 3, 5}}), Error);
  EXPECT_NO_THROW(infer(rows, {2, 3, 4}, {{4}, {3, 1}}));
  EXPECT_THROW(infer(rows, {2, 3, 4}, {{4}, {3}}), Error);
  EXPECT_THROW(infer(squares, {2, 3, 0}, {{2}}), Error);
  const OneNode product("QLinearMatMul", 10);
  const auto multiply = [&](const Shape& zero_points) {
    return infer(product, {2, 3}, {{}, {}, {3, 4}, {4}, zero_points, {}, {}});
  };
  EXPECT_NO_THROW(multiply({4}));
  EXPECT_NO_THROW(multiply({1}));
  EXPECT_THROW(multiply({2}), Error);
  const OneNode grid("GridSample", 20);
  EXPECT_NO_THROW(infer(grid, {1, 2, 4, 4}, {{1, 3, 3, 2}}));
  EXPECT_NO_THROW(infer(grid, {Dim::symbol("N"), 2, 4, 4}, {{2, 3, 3, 2}}));
  EXPECT_THROW(infer(grid, {1, 2, 4, 4}, {{2, 3, 3, 2}}), Error);
}

TEST(ParameterSizes, WhatFusedConvolutionsAdd) {
  const auto infer = [](const OneNode& node, const std::vector<Shape>& shapes) {
    std::vector<ValueInfo> inputs;
    for (const Shape& shape : shapes) inputs.push_back(typed(ElementType::kFloat, shape));
    return node.infer(inputs);
  };
  const OneNode plain("Conv", 11), fused("FusedConv", 1, {}, "com.microsoft"),
      last("NhwcConv", 1, {}, "com.microsoft");
  const Shape x{2, 3, 5, 6}, w{4, 3, 3, 3};
  for (const OneNode* node : {&plain, &fused}) {
    EXPECT_NO_THROW(infer(*node, {x, w, {4}}));
    EXPECT_NO_THROW(infer(*node, {x, w, {Dim::symbol("N")}}));
    EXPECT_THROW(infer(*node, {x, w, {1}}), Error);
    EXPECT_THROW(infer(*node, {x, w, {4, 1}}), Error);
  }
  EXPECT_NO_THROW(infer(last, {{2, 5, 6, 3}, w, {4}}));
  EXPECT_THROW(infer(last, {{2, 5, 6, 3}, w, {5}}), Error);
  EXPECT_NO_THROW(infer(fused, {x, w, {4}, {2, 4, 3, 4}}));
  EXPECT_NO_THROW(infer(fused, {x, w, {4}, {4, 1, 1}}));
  EXPECT_THROW(infer(fused, {x, w, {4}, {2, 4, 3, 3}}), Error);
  EXPECT_THROW(infer(fused, {x, w, {4}, {1, 2, 4, 3, 4}}), Error);
}

TEST(ParameterSizes, IdsOfTokens) {
  const OneNode embed("EmbedLayerNormalization", 1, {}, "com.microsoft");
  const auto infer = [&](int64_t length, const Shape& segments, bool has_positions = false) {
    const ValueInfo ids = typed(ElementType::kInt32, {2, length}), row = typed(ElementType::kFloat, {8});
    std::vector<ValueInfo> inputs{ids,
                                  typed(ElementType::kInt32, segments),
                                  typed(ElementType::kFloat, {9, 8}),
                                  typed(ElementType::kFloat, {7, 8}),
                                  typed(ElementType::kFloat, {2, 8}),
                                  row,
                                  row};
    if (has_positions) inputs.insert(inputs.end(), {ids, ids});
    return embed.infer(inputs);
  };
  EXPECT_NO_THROW(infer(7, {2, 7}));
  EXPECT_NO_THROW(infer(7, {1, Dim::symbol("N")}));
  EXPECT_THROW(infer(7, {3, 7}), Error);
  EXPECT_THROW(infer(7, {2, 1}), Error);
  EXPECT_THROW(infer(7, {7}), Error);
  EXPECT_THROW(infer(8, {2, 8}), Error);    // than the table of positions has rows
  EXPECT_NO_THROW(infer(8, {2, 8}, true));  // which ones are read is known only when it runs
}

TEST(ParameterSizes, BlocksOfImages) {
  const OneNode images("Col2Im", 18);
  const auto infer = [&](const Shape& blocks) {
    return images.infer({typed(ElementType::kFloat, blocks), followed(ElementType::kInt64, {3, 5}),
                         followed(ElementType::kInt64, {2, 2})});
  };
  EXPECT_NO_THROW(infer({1, 8, 8}));
  EXPECT_THROW(infer({1, 8, 9}), Error);  // there are 2 x 4 blocks
  EXPECT_THROW(infer({1, 6, 8}), Error);  // of 4 elements
}

TEST(ParameterSizes, WindowsOfFrames) {
  const auto infer = [](int64_t window) {
    return OneNode("STFT", 17)
        .infer({typed(ElementType::kFloat, {1, 16, 1}), followed(ElementType::kInt64, {3}),
                typed(ElementType::kFloat, {window}), followed(ElementType::kInt64, {4})});
  };
  EXPECT_NO_THROW(infer(4));
  EXPECT_THROW(infer(2), Error);
}

TEST(ParameterSizes, HeadsTheirPastAndMasks) {
  const auto infer = [](const std::vector<Shape>& shapes, int64_t version = 23) {
    std::vector<ValueInfo> inputs;
    for (const Shape& shape : shapes) inputs.push_back(typed(ElementType::kFloat, shape));
    return OneNode("Attention", version).infer(inputs);
  };
  const Shape q{2, 4, 3, 8}, k{2, 2, 5, 8}, past{2, 2, 6, 8}, mask{3, 11};
  EXPECT_NO_THROW(infer({q, k, k, mask, past, past}));
  EXPECT_NO_THROW(infer({q, k, k, {2, 1, 1, 11}, past, past}));
  EXPECT_NO_THROW(infer({q, k, k, {3, 9}, past, past}, 24));  // what it does not reach is forbidden
  EXPECT_THROW(infer({q, k, k, {3, 9}, past, past}), Error);
  EXPECT_THROW(infer({q, k, k, {2, 11}, past, past}), Error);
  EXPECT_THROW(infer({q, k, k, mask, past, {2, 1, 6, 8}}), Error);
  EXPECT_THROW(infer({q, k, k, mask, {1, 2, 6, 8}, past}), Error);
  EXPECT_THROW(infer({q, k, {2, 2, 4, 8}, mask}), Error);
  EXPECT_THROW(infer({q, {2, 2, 5, 7}, k, mask}), Error);
}

TEST(ParameterSizes, IndicesReachBeyondTheDataAlongTheAxisOnly) {
  const auto infer = [](const char* op, const Shape& data, const Shape& indices) {
    std::vector<ValueInfo> inputs{typed(ElementType::kFloat, data), typed(ElementType::kInt64, indices)};
    if (std::string_view(op) == "ScatterElements") inputs.push_back(typed(ElementType::kFloat, indices));
    return OneNode(op, 18, {{"axis", Attribute(int64_t{1})}}).infer(inputs);
  };
  for (const char* op : {"GatherElements", "ScatterElements"}) {
    EXPECT_NO_THROW(infer(op, {2, 3}, {1, 7})) << op;
    EXPECT_NO_THROW(infer(op, {Dim::symbol("N"), 3}, {3, 3})) << op;
    EXPECT_THROW(infer(op, {2, 3}, {3, 3}), Error) << op;
    EXPECT_THROW(infer(op, {0, 3}, {1, 1}), Error) << op;
    EXPECT_THROW(infer(op, {2, 3}, {2}), Error) << op;
  }
  const OneNode slices("ScatterND", 18), labels("SoftmaxCrossEntropyLoss", 13);
  const auto reals = [](const Shape& shape) { return typed(ElementType::kFloat, shape); };
  const auto integers = [](const Shape& shape) { return typed(ElementType::kInt64, shape); };
  EXPECT_NO_THROW(slices.infer({reals({4, 5}), integers({3, 1}), reals({3, 5})}));
  EXPECT_THROW(slices.infer({reals({4, 5}), integers({3, 1}), reals({3, 4})}), Error);
  EXPECT_NO_THROW(labels.infer({reals({2, 3, 4}), integers({2, 4}), reals({3})}));
  EXPECT_THROW(labels.infer({reals({2, 3, 4}), integers({2, 3}), reals({3})}), Error);
  EXPECT_THROW(labels.infer({reals({2, 3, 4}), integers({2, 4}), reals({2})}), Error);
  const OneNode scatter("ScatterElements", 18);
  const ValueInfo data = typed(ElementType::kFloat, {2, 3}), indices = typed(ElementType::kInt64, {2, 1});
  EXPECT_THROW(scatter.infer({data, indices, typed(ElementType::kFloat, {2, 2})}), Error);
}

}  // namespace
}  // namespace vernier::ops
