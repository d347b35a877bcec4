// Kernels whose indices come with the data.
#include "cpu/one_kernel.h"

namespace vernier::cpu {
namespace {

using ops::ints;
using ops::OneNode;

constexpr ElementType kTypes[] = {ElementType::kUint8, ElementType::kFloat16, ElementType::kFloat,
                                  ElementType::kInt64, ElementType::kComplex128};

Tensor indices_below(ElementType type, Dims dims, int64_t size, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<int64_t> values(static_cast<size_t>(element_count(dims)));
  for (int64_t& value : values) value = std::uniform_int_distribution<int64_t>(-size, size - 1)(random);
  return Tensor::from_ints(type, std::move(dims), values);
}

AttributeMap axis(int64_t value) {
  return {{"axis", Attribute(value)}};
}

TEST(Gather, EveryAxisWidthAndIndexType) {
  const Dims dims{3, 4, 5};
  for (const ElementType type : kTypes) {
    for (const ElementType index : {ElementType::kInt32, ElementType::kInt64}) {
      for (size_t at = 0; at < 3; ++at) {
        for (const Dims& wanted : std::vector<Dims>{{}, {7}, {2, 3}, {0}})
          OneKernel{{"Gather", 13, axis(static_cast<int64_t>(at))},
                    {random_tensor(type, dims, 1), indices_below(index, wanted, dims[at], 2)}}
              .expect("cpu:gather");
        OneKernel{{"GatherElements", 13, axis(static_cast<int64_t>(at) - 3)},
                  {random_tensor(type, dims, 1), indices_below(index, {2, 4, 3}, dims[at], 2)}}
            .expect("cpu:gather-elements");
      }
    }
    OneKernel{{"GatherND", 13},
              {random_tensor(type, {4, 4, 5}, 1), indices_below(ElementType::kInt64, {3, 6, 2}, 4, 2)}}
        .expect("cpu:gather-nd");
    OneKernel{{"GatherND", 13, {{"batch_dims", Attribute(int64_t{1})}}},
              {random_tensor(type, {3, 4, 5}, 1), indices_below(ElementType::kInt64, {3, 6, 1}, 4, 2)}}
        .expect("cpu:gather-nd");
  }
}

TEST(Gather, LargeTableOnThreads) {
  OneKernel{{"Gather", 13},
            {random_tensor(ElementType::kFloat, {1000, 96}, 1),
             indices_below(ElementType::kInt64, {5000}, 1000, 2)}}
      .expect("cpu:gather");
}

TEST(Gather, IndicesOutsideAreNamed) {
  for (const char* op : {"Gather", "GatherElements", "ScatterElements"}) {
    OneKernel kernel{{op, 16}, {random_tensor(ElementType::kFloat, {3}, 1), ints({2}, {0, 3})}};
    if (std::string(op) == "ScatterElements")
      kernel.inputs.push_back(random_tensor(ElementType::kFloat, {2}, 1));
    try {
      kernel.run();
      FAIL() << op << " takes index 3 of 3";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("index 3 is outside of an axis of 3"));
    }
  }
}

TEST(Scatter, EveryReductionAndType) {
  for (const char* reduction : {"none", "add", "mul", "min", "max"}) {
    for (const ElementType type :
         {ElementType::kFloat, ElementType::kDouble, ElementType::kInt8, ElementType::kUint8,
          ElementType::kInt32, ElementType::kInt64, ElementType::kUint64}) {
      const bool real = is_float(type);
      AttributeMap attributes = axis(1);
      attributes.emplace("reduction", Attribute(std::string(reduction)));
      // Few updates of each element: sums in float stay within a rounding or two of the reference's.
      OneKernel{
          {"ScatterElements", 18, attributes},
          {random_tensor(type, {5, 6, 7}, 1, !real), indices_below(ElementType::kInt64, {4, 5, 7}, 6, 2),
           random_tensor(type, {4, 5, 7}, 3, !real)},
          {},
          Layout::kPlain,
          real ? 1e-6 : 0}
          .expect("cpu:scatter-elements");
      OneKernel{{"ScatterND", 18, {{"reduction", Attribute(std::string(reduction))}}},
                {random_tensor(type, {5, 5, 7}, 1, !real), indices_below(ElementType::kInt64, {9, 2}, 5, 2),
                 random_tensor(type, {9, 7}, 3, !real)},
                {},
                Layout::kPlain,
                real ? 1e-6 : 0}
          .expect("cpu:scatter-nd");
    }
  }
}

TEST(Scatter, NotANumberWins) {
  const double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const char* reduction : {"min", "max"})
    OneKernel{{"ScatterElements", 18, {{"reduction", Attribute(std::string(reduction))}}},
              {ops::floats({3}, {1, kNan, 2}), ints({3}, {0, 1, 2}), ops::floats({3}, {kNan, 1, 5})}}
        .expect("cpu:scatter-elements");
}

TEST(OneHot, EveryAxisAndIndexOutside) {
  for (const int64_t at : {0, 1, -1}) {
    for (const ElementType index : {ElementType::kInt32, ElementType::kInt64}) {
      for (const ElementType type : kTypes)
        OneKernel{{"OneHot", 11, axis(at)},
                  {Tensor::from_ints(index, {2, 4}, std::vector<int64_t>{0, -1, 4, 5, -6, 3, -5, 1}),
                   ints({1}, {5}), random_tensor(type, {2}, 4)},
                  {1}}
            .expect("cpu:one-hot");
    }
  }
}

TEST(Range, RealAndWhole) {
  const auto range = [](ElementType type, double start, double limit, double delta) {
    const auto one = [&](double value) { return ops::reals_of(type, {}, {value}); };
    OneKernel{{"Range", 11}, {one(start), one(limit), one(delta)}}.expect("cpu:range");
  };
  range(ElementType::kFloat, 0.1, 50, 0.3);
  range(ElementType::kDouble, 5, -5, -0.7);
  range(ElementType::kInt32, 10, -7, -3);
  range(ElementType::kInt64, 3, 3, 1);
  range(ElementType::kInt16, -5, 100, 7);
}

TEST(Cumulative, EveryDirectionAndType) {
  for (const char* op : {"CumSum", "CumProd"}) {
    for (const int64_t exclusive : {0, 1}) {
      for (const int64_t reverse : {0, 1}) {
        for (const ElementType type :
             {ElementType::kFloat, ElementType::kDouble, ElementType::kInt32, ElementType::kInt64}) {
          for (const int64_t at : {0, 1, -1})
            OneKernel{{op, 26, {{"exclusive", Attribute(exclusive)}, {"reverse", Attribute(reverse)}}},
                      {random_tensor(type, {3, 5, 37}, 2, !is_float(type)), ints({}, {at})},
                      {1}}
                .expect(std::string(op) == "CumSum" ? "cpu:cumulative-sum" : "cpu:cumulative-product");
        }
      }
    }
  }
}

TEST(ReverseSequence, BothTimeAxes) {
  for (const int64_t time : {0, 1})
    OneKernel{{"ReverseSequence",
               10,
               {{"time_axis", Attribute(time)}, {"batch_axis", Attribute(int64_t{1 - time})}}},
              {random_tensor(ElementType::kFloat16, {4, 4, 3}, 2), ints({4}, {0, 1, 3, 4})}}
        .expect("cpu:reverse-sequence");
}

}  // namespace
}  // namespace vernier::cpu
