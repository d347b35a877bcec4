// Kernels that measure their outputs, because sizes follow from what the inputs hold: the same bits as the
// reference, where sizes are open and where they are known.
#include <gtest/gtest.h>

#include <random>

#include "ops/one_node.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/exec/one_thread.h"
#include "vernier/exec/scratch.h"

namespace vernier::cpu {
namespace {

using ops::floats;
using ops::ints;
using ops::OneNode;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr ElementType kTypes[] = {
    ElementType::kBool,     ElementType::kInt8,  ElementType::kUint8,  ElementType::kInt16,
    ElementType::kUint16,   ElementType::kInt32, ElementType::kUint32, ElementType::kInt64,
    ElementType::kUint64,   ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16,
    ElementType::kBFloat16,
};

// A node with the request for it; undefined inputs are left out.
struct Requested {
  Graph graph;
  Node* node;
  std::optional<KernelRequest> request;

  Requested(const OneNode& one, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
            bool open_sizes) {
    std::vector<Value*> values;
    for (size_t i = 0; i < inputs.size(); ++i)
      values.push_back(inputs[i].is_defined() ? graph.add_input("in" + std::to_string(i), {}) : nullptr);
    node = graph.add_node(one.make(values, graph));
    request.emplace(KernelRequest{*node, {}, {}});
    for (const Tensor& input : inputs)
      request->inputs.push_back(
          input.is_defined() ? std::optional(Operand{input.type(), input.dims(), Layout::kPlain, nullptr})
                             : std::nullopt);
    for (const Tensor& output : outputs)
      request->outputs.push_back(
          Operand{output.type(), open_sizes ? Dims{} : output.dims(), Layout::kPlain, nullptr});
    request->open_sizes = open_sizes;
  }
};

std::unique_ptr<Kernel> make(const KernelRequest& request, std::string_view tactic = {}) {
  KernelRequest own = request;
  own.tactic = tactic;
  std::string reason;
  return CpuBackend().make(own, reason);
}

std::vector<Tensor> run(const Kernel& kernel, const KernelRequest& request,
                        const std::vector<Tensor>& inputs) {
  std::vector<const void*> from;
  for (const Tensor& input : inputs) from.push_back(input.is_defined() ? input.raw() : nullptr);
  Scratch scratch;
  std::byte* memory = scratch.at_least(kernel.scratch_bytes);
  if (kernel.scratch_bytes > 0) std::memset(memory, 0x5A, kernel.scratch_bytes);
  std::vector<Dims> sizes(request.outputs.size());
  for (size_t i = 0; i < sizes.size(); ++i) sizes[i] = request.outputs[i]->dims;
  EXPECT_EQ(kernel.measures(), request.open_sizes);
  if (kernel.measures()) kernel.measure({from.data(), nullptr, memory}, sizes);
  std::vector<Tensor> outputs;
  std::vector<void*> to;
  for (size_t i = 0; i < sizes.size(); ++i) {
    outputs.emplace_back(request.outputs[i]->element, sizes[i]);
    std::memset(outputs.back().mutable_raw(), 0x5A, outputs.back().byte_size());
  }
  for (Tensor& output : outputs) to.push_back(output.mutable_raw());
  kernel.run({from.data(), to.data(), memory});
  return outputs;
}

// With several threads and with one; `name` is the kernel that must have been taken.
void expect_as_reference(const OneNode& node, const std::vector<Tensor>& inputs, const std::string& name) {
  const auto reference = node.run(inputs);
  const ThreadLimit threads(3);
  for (const bool open_sizes : {true, false}) {
    if (!open_sizes && reference[0].size() == 0) continue;  // nothing to be computed
    const Requested requested(node, inputs, reference, open_sizes);
    for (const std::string_view tactic : {"", kOneThreadTactic}) {
      const auto kernel = make(*requested.request, tactic);
      ASSERT_TRUE(kernel) << node.op;
      EXPECT_EQ(kernel->name, tactic.empty() ? name : name + ", one thread");
      const auto outputs = run(*kernel, *requested.request, inputs);
      for (size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(outputs[i].identical(reference[i]))
            << node.op << " output " << i << ": " << dims_text(outputs[i].dims()) << ", not "
            << dims_text(reference[i].dims()) << ", or other elements";
    }
  }
}

// Whole numbers of 0 to `kinds` - 1: few kinds, so that there are zeros and equals.
Tensor draw(ElementType type, const Dims& dims, int kinds, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<double> values(static_cast<size_t>(element_count(dims)));
  for (double& value : values) value = static_cast<double>(random() % static_cast<unsigned>(kinds));
  if (type == ElementType::kBool)
    for (double& value : values) value = value != 0;
  return Tensor::from_doubles(type, dims, values);
}

Tensor bools(const std::vector<double>& values) {
  return Tensor::from_doubles(ElementType::kBool, {static_cast<int64_t>(values.size())}, values);
}

OneNode along(const char* op, int64_t version, int64_t axis, size_t outputs = 1) {
  return {op, version, {{"axis", Attribute(axis)}}, "", outputs};
}

TEST(MeasuredSizes, NonZero) {
  for (const ElementType type : kTypes) {
    for (const Dims& dims : std::vector<Dims>{{}, {0}, {1}, {17}, {3, 0, 2}, {5, 7}, {2, 3, 5, 11}}) {
      for (const int kinds : {1, 2, 5})
        expect_as_reference({"NonZero", 13}, {draw(type, dims, kinds)}, "cpu:non_zero");
    }
  }
}

// Several blocks, and threads, the last block not full; all elements, few, and none.
TEST(MeasuredSizes, NonZeroOfManyElements) {
  const Dims dims{3, 301, 317};
  for (const int kinds : {1, 2, 100})
    expect_as_reference({"NonZero", 13}, {draw(ElementType::kFloat, dims, kinds)}, "cpu:non_zero");
  Tensor all = Tensor::from_doubles(ElementType::kUint8, dims, std::vector<double>(3 * 301 * 317, 1));
  expect_as_reference({"NonZero", 13}, {all}, "cpu:non_zero");
}

TEST(MeasuredSizes, NonZeroOfNaNAndNegativeZero) {
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16})
    expect_as_reference({"NonZero", 13}, {ops::reals_of(type, {6}, {-0.0, kNaN, 0, -1, 1e-7, -HUGE_VAL})},
                        "cpu:non_zero");
}

TEST(MeasuredSizes, Compress) {
  for (const ElementType type : kTypes) {
    const Tensor x = draw(type, {4, 5, 3}, 50);
    for (const auto& condition :
         {bools({1, 0, 1}), bools({0, 0, 0}), bools({1, 1, 1}), bools({0, 1}), bools({})}) {
      for (const int64_t axis : {0, 1, 2, -1})
        expect_as_reference(along("Compress", 11, axis), {x, condition}, "cpu:compress");
      expect_as_reference({"Compress", 11}, {x, condition}, "cpu:compress");
    }
  }
  expect_as_reference(along("Compress", 11, 1), {draw(ElementType::kFloat, {0, 3, 2}, 9), bools({1, 0, 1})},
                      "cpu:compress");
  expect_as_reference(along("Compress", 11, 0), {draw(ElementType::kFloat, {3, 0}, 9), bools({1, 0, 1})},
                      "cpu:compress");
}

TEST(MeasuredSizes, CompressOnThreads) {
  const Tensor x = draw(ElementType::kFloat, {7, 300, 200}, 99);
  const Tensor condition = draw(ElementType::kBool, {300}, 3);
  expect_as_reference(along("Compress", 11, 1), {x, condition}, "cpu:compress");
}

TEST(MeasuredSizes, Unique) {
  for (const ElementType type : kTypes) {
    for (const int64_t sorted : {0, 1}) {
      for (const Dims& dims : std::vector<Dims>{{0}, {1}, {40}, {6, 3}, {5, 3, 2}}) {
        const Tensor x = draw(type, dims, 4);
        const AttributeMap attributes{{"sorted", Attribute(sorted)}};
        expect_as_reference({"Unique", 11, attributes, "", 4}, {x}, "cpu:unique");
        for (int64_t axis = 0; axis < x.rank(); ++axis) {
          AttributeMap with_axis = attributes;
          with_axis.emplace("axis", Attribute(axis));
          expect_as_reference({"Unique", 11, with_axis, "", 4}, {x}, "cpu:unique");
        }
      }
    }
  }
}

TEST(MeasuredSizes, UniqueOfNaNZerosAndAList) {
  const std::vector<double> values{kNaN, 0, -0.0, 3, kNaN, -HUGE_VAL, 3, HUGE_VAL, -0.0};
  for (const ElementType type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    for (const int64_t sorted : {0, 1})
      expect_as_reference({"Unique", 11, {{"sorted", Attribute(sorted)}}, "", 4},
                          {ops::reals_of(type, {9}, values)}, "cpu:unique");
  }
  expect_as_reference({"Unique", 1, {}, "com.microsoft", 3}, {floats({9}, values)}, "cpu:unique");
}

// Boxes as corners, or as centre and sizes, that overlap a lot.
Tensor boxes(int64_t images, int64_t count, bool centre) {
  std::mt19937 random(5);
  std::uniform_real_distribution<float> place(0, 40), size(1, 30);
  std::vector<double> values;
  for (int64_t i = 0; i < images * count; ++i) {
    const double x = place(random), y = place(random), width = size(random), height = size(random);
    // Any two opposite corners will do.
    const std::array<double, 4> box = centre       ? std::array{x, y, width, height}
                                      : i % 2 == 0 ? std::array{y, x, y + height, x + width}
                                                   : std::array{y + height, x + width, y, x};
    values.insert(values.end(), box.begin(), box.end());
  }
  return floats({images, count, 4}, values);
}

TEST(MeasuredSizes, NonMaxSuppression) {
  const auto number = [](double value) { return floats({1}, {value}); };
  for (const int64_t centre : {0, 1}) {
    const OneNode node{"NonMaxSuppression", 11, {{"center_point_box", Attribute(centre)}}};
    const Tensor corners = boxes(2, 150, centre != 0);
    // Scores of few kinds tie.
    for (const int kinds : {4, 1000}) {
      const Tensor scores = draw(ElementType::kFloat, {2, 3, 150}, kinds);
      for (const int64_t most : {0, 1, 7, 1000}) {
        for (const double iou : {0.0, 0.3, 1.0}) {
          for (const double least : {-1.0, kinds / 2.0, kinds + 1.0})
            expect_as_reference(node, {corners, scores, ints({1}, {most}), number(iou), number(least)},
                                "cpu:non_max_suppression");
        }
      }
      expect_as_reference(node, {corners, scores, ints({}, {5}), number(0.4)}, "cpu:non_max_suppression");
      expect_as_reference(node, {corners, scores, ints({1}, {5}), {}, number(1)}, "cpu:non_max_suppression");
      expect_as_reference(node, {corners, scores}, "cpu:non_max_suppression");
    }
  }
}

TEST(MeasuredSizes, NonMaxSuppressionOfNaNNothingAndManyBoxes) {
  const OneNode node("NonMaxSuppression", 11);
  const Tensor most = ints({1}, {20}), iou = floats({1}, {0.5});
  const Tensor scores = floats({1, 1, 5}, {kNaN, HUGE_VAL, -HUGE_VAL, -0.0, 0.0});
  expect_as_reference(node, {boxes(1, 5, false), scores, most, iou}, "cpu:non_max_suppression");
  expect_as_reference(node, {boxes(1, 5, false), scores, most, iou, floats({1}, {-1})},
                      "cpu:non_max_suppression");
  const Tensor broken = floats({1, 3, 4}, {kNaN, 0, 1, 1, 0, 0, 0, 0, 0, 0, HUGE_VAL, 1});
  expect_as_reference(node, {broken, floats({1, 1, 3}, {1, 2, 3}), most, iou}, "cpu:non_max_suppression");
  expect_as_reference(node, {boxes(1, 0, false), draw(ElementType::kFloat, {1, 2, 0}, 3), most, iou},
                      "cpu:non_max_suppression");
  expect_as_reference(node, {boxes(1, 9000, false), draw(ElementType::kFloat, {1, 4, 9000}, 5000), most, iou},
                      "cpu:non_max_suppression");
}

// A node that the reference refuses, or whose types no kernel has, is left to it.
TEST(MeasuredSizes, IsLeftToTheReference) {
  const auto has_kernel = [](const OneNode& node, const std::vector<Tensor>& inputs, ElementType output) {
    return make(*Requested(node, inputs, {Tensor(output, {1})}, true).request) != nullptr;
  };
  const Tensor x = draw(ElementType::kFloat, {3, 2}, 9), scores = draw(ElementType::kFloat, {1, 1, 5}, 9);
  EXPECT_TRUE(has_kernel(along("Compress", 11, 1), {x, bools({1, 0})}, ElementType::kFloat));
  EXPECT_FALSE(has_kernel(along("Compress", 11, 1), {x, bools({1, 0, 1})}, ElementType::kFloat));
  EXPECT_TRUE(has_kernel({"NonMaxSuppression", 11}, {boxes(1, 5, false), scores}, ElementType::kInt64));
  EXPECT_FALSE(has_kernel({"NonMaxSuppression", 11}, {boxes(1, 4, false), scores}, ElementType::kInt64));
  const Tensor narrow = draw(ElementType::kInt4, {3}, 2);
  EXPECT_FALSE(has_kernel({"NonZero", 13}, {narrow}, ElementType::kInt64));
  // Kernels that measure nothing are not asked.
  EXPECT_FALSE(has_kernel({"Relu", 14}, {x}, ElementType::kFloat));
}

}  // namespace
}  // namespace vernier::cpu
