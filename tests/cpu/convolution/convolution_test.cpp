// Convolutions of floats by oneDNN: the axes that it is given, and what may follow.
#include "cpu/one_kernel.h"
#include "passes/rewriting.h"
#include "vernier/backends/shared/epilogue.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/session.h"

namespace vernier::cpu {
namespace {

constexpr ElementType kF32 = ElementType::kFloat;

// An image of these spatial sizes by windows of these.
OneKernel convolution(const Dims& image, const Dims& window, const std::vector<int64_t>& pads,
                      Layout layout) {
  Dims x{2, 32}, w{48, 32};
  x.insert(x.end(), image.begin(), image.end());
  w.insert(w.end(), window.begin(), window.end());
  return {{"Conv", 11, {{"pads", Attribute(pads)}}},
          {random_tensor(kF32, x, 1, false), random_tensor(kF32, w, 2, false),
           random_tensor(kF32, {48}, 3, false)},
          {1, 2},
          layout,
          1e-4};
}

// How its weights are packed: which sizes oneDNN is given.
std::string form_of(const OneKernel& kernel) {
  PackedConstants packed;
  kernel.with_request([&](const CpuBackend& kernels, KernelRequest& request) {
    request.packed = &packed;
    std::string reason;
    EXPECT_TRUE(kernels.make(request, reason)) << reason;
  });
  const auto forms = packed.forms();
  return forms.empty() ? "" : forms.begin()->first.second;
}

void expect_right(OneKernel kernel) {
  std::string name;
  EXPECT_TRUE(kernel.run(&name)) << kernel.reason;
  kernel.expect(name);
}

TEST(Convolution, AxesOfOnePixelComeFirst) {
  for (const Layout layout : {Layout::kPlain, Layout::kChannelsLast, Layout::kBlocked16}) {
    const auto column = convolution({40, 1}, {5, 1}, {2, 0, 1, 0}, layout);
    EXPECT_EQ(form_of(column), form_of(convolution({1, 40}, {1, 5}, {0, 2, 0, 1}, layout)));
    EXPECT_THAT(form_of(column), testing::HasSubstr("48,32,1,5"));
    expect_right(column);
    for (const auto& volume : {convolution({6, 7, 1}, {3, 2, 1}, {1, 0, 0, 0, 2, 0}, layout),
                               convolution({6, 1, 7}, {3, 1, 2}, {1, 0, 0, 0, 0, 2}, layout)}) {
      EXPECT_THAT(form_of(volume), testing::HasSubstr("48,32,1,3,2"));
      expect_right(volume);
    }
    // Windows reach beyond the one pixel.
    const auto padded = convolution({9, 1}, {3, 3}, {1, 1, 1, 1}, layout);
    EXPECT_THAT(form_of(padded), testing::HasSubstr("48,32,3,3"));
    expect_right(padded);
  }
}

// The operators that a convolution's group takes in, and whether the engine agrees with the reference.
std::string fused(const std::string& graph) {
  Model model = parse_graph(graph);
  const auto data = random_data(*model.graph, 1);
  const auto expected = run_reference(model, data).outputs;
  Session session(compile(model));
  const auto actual = session.run(data);
  const auto wanted = expected[0].tensor.to_doubles();
  const auto is = actual.at(model.graph->outputs[0]->name).tensor.to_doubles();
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(wanted[i], is[i], 1e-4) << graph;
  rewrite(model, {fuse_epilogues(can_follow)});
  return operators(*model.graph);
}

TEST(Convolution, WhatFollowsAnImageOfOneColumn) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3, 9, 1], %w: f32[4, 3, 2, 1], %scale: f32[4, 1, 1],
                                %more: f32[2, 4, 8, 1]) -> (%y) {
    %c: f32[*] = Conv(%x, %w) version 11 @"c" from ["c"]
    %m: f32[*] = Mul(%c, %scale) version 14 @"m" from ["m"]
    %a: f32[*] = Add(%m, %more) version 14 @"a" from ["a"]
    %y: f32[*] = Relu(%a) version 14 @"y" from ["y"]
  })"),
            "conv(Conv Mul Add Relu)");
}

TEST(Convolution, NumbersForEachPixelOfAllChannelsAreNoEpilogue) {
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3, 5], %w: f32[5, 3, 1], %mask: f32[1, 1, 5]) -> (%y) {
    %c: f32[*] = Conv(%x, %w) version 11 @"c" from ["c"]
    %r: f32[*] = Relu(%c) version 14 @"r" from ["r"]
    %y: f32[*] = Mul(%r, %mask) version 14 @"y" from ["y"]
  })"),
            "conv(Conv Relu) Mul");
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3, 5], %w: f32[5, 3, 1], %scale: f32[1, 5, 1]) -> (%y) {
    %c: f32[*] = Conv(%x, %w) version 11 @"c" from ["c"]
    %y: f32[*] = Mul(%scale, %c) version 14 @"y" from ["y"]
  })"),
            "conv(Conv Mul)");
  EXPECT_EQ(fused(R"(graph "g" (%x: f32[2, 3, 4], %w: f32[4, 5], %scale: f32[1, 1, 5]) -> (%y) {
    %c: f32[*] = MatMul(%x, %w) version 13 @"c" from ["c"]
    %y: f32[*] = Mul(%scale, %c) version 14 @"y" from ["y"]
  })"),
            "matmul(MatMul Mul)");
}

}  // namespace
}  // namespace vernier::cpu
