#include "vernier/backends/process/saved_run.h"

#include <gmock/gmock.h>

#include "test_model.h"
#include "vernier/backends/reference/reference_runner.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::HasSubstr;

NamedData sample(float first) {
  return {{"x", Tensor::from<float>(ElementType::kFloat, {1, 3}, {first, 2, 3})}};
}

class SavedRun : public testing::Test {
 protected:
  SavedRun() {
    ReferenceRunner reference({"", &model});
    RunRecorder recorder(path, reference.name(), reference.description());
    for (const float first : {0.F, 1.F})
      recorder.add(sample(first), reference.run(sample(first), {"scaled"}));
    recorder.finish();
  }
  const Model model = softmax_model();
  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "a.run";
};

TEST_F(SavedRun, YieldsWhatWasRecorded) {
  ReferenceRunner reference({"", &model});
  LoadedRun loaded(path);
  EXPECT_EQ(loaded.name(), "reference from a.run");
  EXPECT_EQ(loaded.description().at("arithmetic"), "double");
  ASSERT_EQ(loaded.sample_count(), 2U);
  for (const float first : {0.F, 1.F}) {
    const Trace expected = reference.run(sample(first), {"scaled"});
    const Trace trace = loaded.run(sample(first), {"scaled"});
    ASSERT_EQ(trace.entries.size(), expected.entries.size());
    for (size_t i = 0; i < trace.entries.size(); ++i) {
      const TraceEntry &a = trace.entries[i], &b = expected.entries[i];
      EXPECT_EQ(std::tie(a.value, a.is_output, a.declared, a.nodes),
                std::tie(b.value, b.is_output, b.declared, b.nodes));
      EXPECT_TRUE(a.datum.tensor.identical(b.datum.tensor));
    }
  }
  EXPECT_THROW(loaded.run(sample(0), {}), Error) << "there is no third sample";
}

TEST_F(SavedRun, RefusesOtherInputs) {
  LoadedRun loaded(path);
  EXPECT_THROW(loaded.run(sample(5), {}), Error);
  EXPECT_EQ(loaded.run(sample(1), {}).entries.size(), 2U) << "the next sample is still in step";
}

TEST_F(SavedRun, SaysWhichTapsItLacks) {
  LoadedRun loaded(path);
  EXPECT_THAT(loaded.run(sample(0), {"w"}).notes, Contains("'w' was not recorded"));
}

TEST_F(SavedRun, IsTestedForDamage) {
  write_safetensors(path, {{"x", Tensor::scalar(1)}});
  EXPECT_THROW(LoadedRun{path}, Error);
  write_safetensors(path, {}, {{"vernier.run", R"({"format":"vernier-run/1","runner":"r","samples":1})"}});
  EXPECT_THROW(LoadedRun{path}, Error);
  write_safetensors(path, {}, {{"vernier.run", R"({"format":"vernier-run/9","runner":"r","samples":0})"}});
  EXPECT_THROW(LoadedRun{path}, Error);
}

TEST(HashOfData, SeesNamesTypesSizesAndBits) {
  const Tensor x = Tensor::from<float>(ElementType::kFloat, {2}, {1, 2});
  const std::vector<NamedData> different = {
      {},
      {{"x", x}},
      {{"y", x}},
      {{"x", x.reshaped({1, 2})}},
      {{"x", x.reinterpreted(ElementType::kInt32)}},
      {{"x", Tensor::from<float>(ElementType::kFloat, {2}, {1, 3})}},
      {{"x", Datum::of_sequence({x})}},
      {{"x", Datum::none()}},
      {{"x", Tensor::from<std::string>(ElementType::kString, {1}, {"a"})}},
      {{"x", Tensor::from<std::string>(ElementType::kString, {1}, {"b"})}}};
  std::set<uint64_t> hashes;
  for (const NamedData& data : different) hashes.insert(hash_of(data));
  EXPECT_EQ(hashes.size(), different.size());
}

}  // namespace
}  // namespace vernier
