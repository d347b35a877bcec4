// The operators of ai.onnx.ml on maps, and maps as types and data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "one_node.h"
#include "vernier/ir/text.h"
#include "vernier/ops/infer_graph.h"
#include "vernier/ops/support/ml/map_datum.h"

namespace vernier::ops {
namespace {

using testing::ElementsAre;

std::vector<std::string> strings_of(const Tensor& tensor) {
  const auto values = tensor.values<std::string>();
  return {values.begin(), values.end()};
}

// The node on its own, from %x of this type to %y, of which nothing is said.
Model model_of(const std::string& type, const std::string& node) {
  Model model = parse_model("model ir=8 opset \"ai.onnx.ml\" 1 {\ngraph \"g\" (%x: " + type +
                            ") -> (%y) {\n%y: ?[*] = ai.onnx.ml::" + node +
                            " version 1 @\"node\" from [\"node\"]\n}\n}\n");
  infer_types(*model.graph);
  return model;
}

Datum run(const Model& model, Datum x) {
  return run_reference(model, {{"x", std::move(x)}}).outputs[0];
}

Datum map_of(const std::vector<int64_t>& keys, const std::vector<double>& values) {
  std::vector<Datum> entries;
  for (const double value : values) entries.emplace_back(floats({}, {value}));
  return make_map(ints({std::ssize(keys)}, keys), entries);
}

TEST(Map, HasItsKeysInOrderAndTheLastOfEqualOnes) {
  const Datum map = map_of({5, -1, 5}, {1, 2, 3});
  EXPECT_THAT(map.as_map().first.to_ints(), ElementsAre(-1, 5));
  EXPECT_THAT(map.as_map().second.to_doubles(), ElementsAre(2, 3));
  EXPECT_THROW(map_of({1, 2}, {1}), Error);
  EXPECT_THROW(Datum(floats({1}, {1})).as_map(), Error);
  EXPECT_THROW(Datum::of_sequence({ints({2}, {1, 2}), floats({1}, {1})}).as_map(), Error);
}

TEST(ZipMap, MakesAMapOfEachRow) {
  const Model model = model_of("f32[N, 2]", "ZipMap(%x) {classlabels_strings = strings[\"b\", \"a\"]}");
  EXPECT_EQ(model.graph->outputs[0]->type.text(), "seq(map(string, f32[]))");
  const Datum maps = run(model, floats({2, 2}, {1, 2, 3, 4}));
  ASSERT_EQ(maps.as_sequence().size(), 2U);
  const auto [keys, values] = maps.as_sequence()[1].as_map();
  EXPECT_THAT(strings_of(keys), ElementsAre("a", "b"));
  EXPECT_THAT(values.to_doubles(), ElementsAre(4, 3));
  EXPECT_TRUE(run(model, floats({0, 2}, {})).as_sequence().empty());
  EXPECT_THROW(run(model, floats({1, 3}, {1, 2, 3})), Error);
}

TEST(DictVectorizer, PutsValuesWhereTheVocabularyHasTheirKeys) {
  const Model model = model_of("map(i64, f32[])", "DictVectorizer(%x) {int64_vocabulary = ints[3, 4, 1]}");
  EXPECT_EQ(model.graph->outputs[0]->type.text(), "f32[3]");
  EXPECT_THAT(run(model, map_of({1, 3, 9}, {10, 30, 90})).as_tensor().to_doubles(), ElementsAre(30, 0, 10));
  EXPECT_THROW(run(model, floats({1}, {1})), Error);
  EXPECT_THROW(model_of("map(string, f32[])", "DictVectorizer(%x) {int64_vocabulary = ints[3]}"), Error);
}

TEST(CastMap, RefusesKeysThatHaveNoPlace) {
  const Model model = model_of("map(i64, f32[])", "CastMap(%x) {map_form = \"SPARSE\", max_map = 3}");
  EXPECT_EQ(model.graph->outputs[0]->type.text(), "f32[1, 3]");
  EXPECT_THAT(run(model, map_of({2, 0}, {20, 10})).as_tensor().to_doubles(), ElementsAre(10, 0, 20));
  EXPECT_THROW(run(model, map_of({3}, {1})), Error);
  EXPECT_THROW(run(model, map_of({-1}, {1})), Error);
}

TEST(Map, TypesRoundTripAsText) {
  const Model model = model_of("map(i64, f64[])", "DictVectorizer(%x) {int64_vocabulary = ints[3]}");
  const std::string text = print(model);
  EXPECT_NE(text.find("%x: map(i64, f64[])"), std::string::npos) << text;
  EXPECT_EQ(print(parse_model(text)), text);
}

}  // namespace
}  // namespace vernier::ops
