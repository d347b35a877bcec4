// Weights in the orders of kernels, and back.
#include "vernier/backends/cuda/contractions/weight_order.h"

#include <gtest/gtest.h>

#include <cstring>

#include "cuda/graph_requests.h"

namespace vernier::cuda {
namespace {

// An engine file has such forms instead of the constant.
TEST(WeightOrderTest, FormsGiveTheConstantBack) {
  struct Case {
    WeightOrder order;
    Dims dims;
  };
  for (const ElementType element : {ElementType::kFloat16, ElementType::kFloat}) {
    for (const auto& [order, dims] : {Case{WeightOrder::kChannelsLast, {3, 4, 2, 5}},
                                      {WeightOrder::kChannelsLast, {3, 4, 5}},
                                      {WeightOrder::kChannelsLastOfEight, {2, 3, 2, 5}},
                                      {WeightOrder::kTapsFirst, {6, 1, 3, 3}},
                                      {WeightOrder::kTransposed, {5, 7}}}) {
      std::vector<double> values;
      for (int64_t i = 0; i < element_count(dims); ++i) values.push_back(static_cast<double>(i));
      const Tensor constant = Tensor::from_doubles(element, dims, values);
      const Model model = one_node("%x: f32[2]", "%y: f32[2] = Neg(%x)");
      PackedConstants packed;
      KernelRequest request{
          *model.graph->nodes()[0], {Operand{element, dims, Layout::kPlain, &constant}}, {}};
      request.packed = &packed;
      CudaKernel kernel(request, "test");
      EXPECT_EQ(order_weights(kernel, request, 0, order).scratch_bytes, 0U);
      const auto forms = packed.forms();
      ASSERT_EQ(forms.size(), 1U);
      const auto& [key, form] = *forms.begin();
      EXPECT_TRUE(holds_weights(key.second));
      const auto content = form->content();
      EXPECT_NE(std::memcmp(content.data(), constant.raw(), constant.byte_size()), 0);
      const auto back = unpack_weights(key.second, content, element, dims);
      ASSERT_TRUE(back);
      EXPECT_TRUE(back->identical(constant));
      EXPECT_FALSE(unpack_weights(key.second, content.subspan(1), element, dims));  // of a file that is none
    }
  }
  EXPECT_FALSE(holds_weights("cuda:nothing"));
}

}  // namespace
}  // namespace vernier::cuda
