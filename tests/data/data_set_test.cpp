#include "vernier/data/data_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "data/small_models.h"
#include "vernier/base/file.h"
#include "vernier/data/formats/npy.h"
#include "vernier/data/formats/polygraphy_json.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/onnx/data_file.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

Tensor floats(Dims dims, double value = 1) {
  const std::vector<double> values(static_cast<size_t>(element_count(dims)), value);
  return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
}

class DataSetTest : public testing::Test {
 protected:
  fs::path path(const std::string& name) const { return folder_.path() / name; }
  std::vector<Sample> read(const std::vector<std::string>& arguments, const InputShapes& shapes = {}) const {
    const auto source = open_data(model_, arguments, shapes);
    std::vector<Sample> samples;
    while (auto sample = source->next()) samples.push_back(std::move(*sample));
    return samples;
  }
  // The message of the Error that reading gives.
  std::string refusal(const std::vector<std::string>& arguments, const InputShapes& shapes = {}) const {
    try {
      read(arguments, shapes);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
  void write_npz_file(const std::string& name, const NamedData& data) const {
    write_file(path(name), write_npz(data));
  }

  TemporaryFolder folder_;
  Model model_ = small_model("%a: f32[N, 2], %\"in/b\": f32[N]", {"%y: f32[N, 2] = Identity(%a)"}, "%y");
};

using testing::AllOf;
using testing::HasSubstr;

TEST_F(DataSetTest, ReadsTestDataSetsInNaturalOrder) {
  for (const int number : {0, 2, 10}) {
    const fs::path folder = path(fmt::format("test_data_set_{}", number));
    fs::create_directory(folder);
    write_pb_file(folder / "input_0.pb", floats({3, 2}, number), "a");
    write_pb_file(folder / "input_1.pb", floats({3}), "in/b");
    if (number == 2) write_pb_file(folder / "output_0.pb", floats({3, 2}), "y");
  }
  const auto samples = read({folder_.path()});
  ASSERT_EQ(samples.size(), 3u);
  EXPECT_EQ(samples[2].inputs.at("a").tensor.to_doubles()[0], 10);
  EXPECT_FALSE(samples[0].expected);
  EXPECT_TRUE(samples[1].expected->contains("y"));
  EXPECT_EQ(read({path("test_data_set_2")}).size(), 1u);
  fs::rename(path("test_data_set_0/input_1.pb"), path("test_data_set_0/input_2.pb"));
  EXPECT_THAT(refusal({folder_.path()}), HasSubstr("input_1.pb is not"));
}

TEST_F(DataSetTest, ReadsEveryFormat) {
  const NamedData data{{"a", floats({2, 2}, 5)}, {"in/b", floats({2})}};
  write_npz_file("x.npz", data);
  write_safetensors(path("x.safetensors"), data);
  write_polygraphy_inputs(path("x.json"), {data, data});
  fs::create_directory(path("tensors"));
  for (const auto& [name, datum] : data) {
    const std::string stem = name == "a" ? "a" : "in_b";
    write_file(path("tensors/" + stem + ".npy"), write_npy(datum.tensor));
    write_file(path(stem + ".npy"), write_npy(datum.tensor));
    const auto bytes = datum.tensor.bytes();
    write_file(path(stem + ".bin"), {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const InputShapes shapes{{"a", {2, 2}}};
  const std::vector<std::vector<std::string>> forms{
      {path("x.npz")},
      {path("x.safetensors")},
      {path("x.json")},
      {path("tensors")},
      {"a=" + path("a.npy").string(), "in/b=" + path("in_b.bin").string()}};
  for (const auto& arguments : forms) {
    const auto samples = read(arguments, shapes);
    EXPECT_EQ(samples.size(), arguments[0].ends_with(".json") ? 2u : 1u);
    EXPECT_TRUE(samples.back().inputs.at("a").tensor.identical(data.at("a").tensor)) << arguments[0];
    EXPECT_EQ(samples.back().inputs.size(), 2u);
  }
  EXPECT_EQ(read({path("x.npz"), path("x.json"), path("x.safetensors")}).size(), 4u);
}

TEST_F(DataSetTest, NamesOfOutputsAreExpectedOutputs) {
  write_npz_file("x.npz", {{"a", floats({2, 2})}, {"in/b", floats({2})}, {"y", floats({2, 2})}});
  const auto samples = read({path("x.npz")});
  EXPECT_EQ(samples[0].inputs.size(), 2u);
  EXPECT_TRUE(samples[0].expected->contains("y"));
}

TEST_F(DataSetTest, WhatDoesNotFitIsAnError) {
  const auto refused = [&](const NamedData& data) {
    write_npz_file("x.npz", data);
    return refusal({path("x.npz")});
  };
  EXPECT_THAT(refused({{"a", floats({2, 2})}}),
              AllOf(HasSubstr("x.npz"), HasSubstr("'in/b'"), HasSubstr("not given")));
  EXPECT_THAT(refused({{"a", floats({2, 2})}, {"in/b", floats({2})}, {"c", floats({2})}}),
              HasSubstr("no input 'c'"));
  EXPECT_THAT(refused({{"a", Tensor(ElementType::kDouble, {2, 2})}, {"in/b", floats({2})}}),
              AllOf(HasSubstr("'a' must be f32[N, 2]"), HasSubstr("f64[2, 2]")));
  EXPECT_THAT(refused({{"a", floats({2, 2, 1})}, {"in/b", floats({2})}}), HasSubstr("rank 3 instead of 2"));
  EXPECT_THAT(refused({{"a", floats({2, 3})}, {"in/b", floats({2})}}),
              HasSubstr("size 3 instead of 2 at axis 1"));
}

TEST_F(DataSetTest, NameOfTwoSizesIsNoted) {
  write_npz_file("x.npz", {{"a", floats({2, 2})}, {"in/b", floats({3})}});
  EXPECT_THAT(
      read({path("x.npz")})[0].notes,
      testing::ElementsAre("dimension N is 2 at axis 0 of input 'a', but 3 at axis 0 of input 'in/b'"));
}

TEST_F(DataSetTest, NothingToReadIsAnError) {
  EXPECT_THAT(refusal({}), HasSubstr("no data"));
  EXPECT_THAT(refusal({folder_.path()}), HasSubstr("holds no data"));
  EXPECT_THAT(refusal({path("absent.npz")}), HasSubstr("does not exist"));
  EXPECT_THAT(refusal({"c=" + path("absent.npy").string()}), HasSubstr("no input 'c'"));
  write_polygraphy_inputs(path("x.json"), {});
  EXPECT_THAT(refusal({path("x.json")}), HasSubstr("holds no samples"));
}

// F3: raw bytes of another type, or of twice the batch, must not load.
TEST_F(DataSetTest, F3RawFilesMustHaveTheExactSize) {
  write_npz_file("b.npz", {});
  write_file(path("b.npy"), write_npy(floats({2})));
  const InputShapes shapes{{"a", {2, 2}}};
  const std::vector<std::string> arguments{"a=" + path("a.bin").string(), "in/b=" + path("b.npy").string()};
  for (const size_t size : {0, 8, 15, 17, 32}) {
    write_file(path("a.bin"), std::string(size, '\0'));
    EXPECT_THAT(refusal(arguments, shapes), AllOf(HasSubstr("a.bin"), HasSubstr("takes 16 bytes"),
                                                  HasSubstr(fmt::format("has {} bytes", size))));
  }
  write_file(path("a.bin"), std::string(16, '\0'));
  EXPECT_EQ(read(arguments, shapes).size(), 1u);
  EXPECT_THAT(refusal(arguments), AllOf(HasSubstr("N is not known"), HasSubstr("--shapes")));
}

// F10: every iteration of every runner is there to be seen, whatever the others have.
TEST_F(DataSetTest, F10NoIterationIsDropped) {
  const PolygraphyIteration iteration{{{"y", floats({1})}}, 0.5, "r"};
  write_polygraphy_results(path("r.json"), {{"one", {iteration, iteration}}, {"two", {iteration}}});
  const auto results = read_polygraphy_results(path("r.json"));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].second.size(), 2u);
  EXPECT_EQ(results[1].second.size(), 1u);
  EXPECT_EQ(results[0].second[1].runtime, 0.5);
  EXPECT_THAT(refusal({path("r.json")}), HasSubstr("holds results"));
}

TEST_F(DataSetTest, DamagedPolygraphyFilesAreErrors) {
  for (const char* text :
       {"", "[", "1", "[1]", "[{\"a\": 1}]", "[{\"a\": {\"array\": 1, \"polygraphy_class\": \"ndarray\"}}]",
        "[{\"a\": {\"array\": \"AAAA\", \"polygraphy_class\": \"ndarray\"}}]",
        "[{\"a\": {\"tensor\": \"\", \"polygraphy_class\": \"Tensor\"}}]"}) {
    write_file(path("x.json"), text);
    EXPECT_THAT(refusal({path("x.json")}), HasSubstr("x.json")) << text;
  }
  for (const char* text : {"{}", "[]", "{\"polygraphy_class\": \"RunResults\"}",
                           "{\"lst\": [[\"r\"]], \"polygraphy_class\": \"RunResults\"}",
                           "{\"lst\": [[\"r\", [{}]]], \"polygraphy_class\": \"RunResults\"}"}) {
    write_file(path("r.json"), text);
    EXPECT_THROW(read_polygraphy_results(path("r.json")), Error) << text;
  }
}

}  // namespace
}  // namespace vernier
