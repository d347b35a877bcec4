// Weights that oneDNN packed can be unpacked by the form's text alone.
#include "vernier/backends/cpu/onednn/packed_form.h"

#include <gtest/gtest.h>

#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/ir/graph.h"

namespace vernier::cpu {
namespace {

using Tag = dnnl::memory::format_tag;

Tensor numbered(const Dims& dims) {
  std::vector<float> values(static_cast<size_t>(element_count(dims)));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i) + 0.5F;
  return Tensor::from(ElementType::kFloat, dims, values);
}

struct Packing {
  dnnl::memory::desc as_is, wanted;
  std::shared_ptr<const PackedForm> packed;
  std::string form;
};

Packing pack_as(const Tensor& tensor, const dnnl::memory::desc& as_is, const dnnl::memory::desc& wanted) {
  Node node;
  PackedConstants all;
  KernelRequest request{node, {}, {}, &all};
  pack(request, tensor, as_is, wanted);
  const auto forms = all.forms();
  return {as_is, wanted, forms.begin()->second, forms.begin()->first.second};
}

void expect_back(const Dims& dims, const Dims& as, Tag tag) {
  const Tensor tensor = numbered(dims);
  constexpr auto kType = dnnl::memory::data_type::f32;
  const auto packing = pack_as(tensor, plain(kType, as), {to_dnnl(as), kType, tag});
  const auto back = unpack_form(packing.form, packing.packed->content(), tensor.type(), dims);
  ASSERT_TRUE(back) << packing.form;
  EXPECT_TRUE(back->identical(tensor)) << packing.form;
}

TEST(PackedForm, GivesBackWhatWasPacked) {
  expect_back({32, 16, 3, 3}, {32, 16, 3, 3}, Tag::OIhw16i16o);
  expect_back({20, 5, 3, 3}, {20, 5, 3, 3}, Tag::OIhw16i16o);  // padded
  expect_back({8, 3, 7, 7}, {8, 3, 7, 7}, Tag::Ohwi16o);
  expect_back({24, 1, 3, 3}, {24, 1, 1, 3, 3}, Tag::Goihw16g);
  expect_back({64, 48}, {64, 48}, Tag::BA16a64b);
  expect_back({7, 9}, {7, 9}, Tag::ba);
}

TEST(PackedForm, ATransposedSource) {
  const Tensor tensor = numbered({6, 10});
  constexpr auto kType = dnnl::memory::data_type::f32;
  // Rows of 10 read as columns.
  const auto packing = pack_as(tensor, {{10, 6}, kType, Tag::ba}, {{10, 6}, kType, Tag::BA16a64b});
  const auto back = unpack_form(packing.form, packing.packed->content(), tensor.type(), tensor.dims());
  ASSERT_TRUE(back);
  EXPECT_TRUE(back->identical(tensor));
}

TEST(PackedForm, WhatWasRoundedCannotBeHadBack) {
  const Tensor tensor = numbered({16, 16});
  const auto packing = pack_as(tensor, plain(dnnl::memory::data_type::f32, {16, 16}),
                               {{16, 16}, dnnl::memory::data_type::bf16, Tag::ba});
  EXPECT_FALSE(unpack_form(packing.form, packing.packed->content(), tensor.type(), tensor.dims()));
}

TEST(PackedForm, ForeignTextIsRefused) {
  const std::vector<std::byte> bytes(1024);
  for (const char* form :
       {"onednn", "onednn f32 f32 4 1 4 1 - -", "onednn f32 f32 4,4 4,1 4,4 4,1 2 7 elements:64",
        "onednn f32 f32 4,4 4,1 4,4 400,1 - - elements:64",
        "onednn f32 f32 4,4 4,100 4,4 4,1 - - elements:64", "onednn f32 f32 4,x 4,1 4,4 4,1 - - elements:64",
        "onednn f32 f32 9,9 9,1 9,9 9,1 - - elements:64"})
    EXPECT_THROW(unpack_form(form, bytes, ElementType::kFloat, {4, 4}), Error) << form;
}

}  // namespace
}  // namespace vernier::cpu
