// Convolutions of floats by oneDNN: the axes that it is given.
#include "cpu/one_kernel.h"

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
  kernel.with_request([&](const CpuKernels& kernels, KernelRequest& request) {
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

}  // namespace
}  // namespace vernier::cpu
