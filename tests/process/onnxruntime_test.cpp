// ONNX Runtime against the reference on a small model, with inner values and with every level of
// optimisation.
#include <gmock/gmock.h>

#include "test_model.h"
#include "vernier/backends/reference/reference_runner.h"
#include "vernier/onnx/export.h"
#include "vernier/onnx/import.h"

namespace vernier {
namespace {

using testing::Contains;
using testing::HasSubstr;

class OnnxRuntime : public testing::Test {
 protected:
  void SetUp() override {
    const std::string probe =
        quoted_for_shell(find_python("")) + " -c 'import onnxruntime, onnx' 2>/dev/null";
    if (std::system(probe.c_str()) != 0)
      GTEST_SKIP() << "no Python with onnxruntime and onnx: see VERNIER_PYTHON";
    export_model(softmax_model(), path);
    imported = import_model(path);
  }
  RunnerModel model() const { return {path, &imported.model}; }

  const TemporaryFolder folder;
  const std::filesystem::path path = folder.path() / "model.onnx";
  const NamedData inputs = {{"x", Tensor::from<float>(ElementType::kFloat, {2, 3}, {1, 2, 3, -4, 0, 0.25F})}};
  ImportedModel imported;
};

void expect_near(const Trace& actual, const Trace& expected) {
  ASSERT_EQ(actual.entries.size(), expected.entries.size());
  for (size_t i = 0; i < expected.entries.size(); ++i) {
    const TraceEntry &a = actual.entries[i], &b = expected.entries[i];
    EXPECT_EQ(a.value, b.value);
    EXPECT_EQ(a.nodes, b.nodes);
    EXPECT_EQ(a.is_output, b.is_output);
    EXPECT_EQ(a.declared, b.declared);
    const auto x = a.datum.tensor.to_doubles(), y = b.datum.tensor.to_doubles();
    ASSERT_EQ(x.size(), y.size());
    for (size_t k = 0; k < x.size(); ++k)
      EXPECT_NEAR(x[k], y[k], 1e-6 * std::max(1.0, std::abs(y[k]))) << a.value;
  }
}

TEST_F(OnnxRuntime, AgreesWithTheReference) {
  ReferenceRunner reference(model());
  for (const char* level : {"disable", "basic", "extended", "all"}) {
    const auto runner = make_onnxruntime_runner(model(), {.optimisation = level, .threads = 1, .python = {}});
    EXPECT_EQ(runner->description().at("optimisation"), level);
    EXPECT_THAT(runner->description().at("engine"), HasSubstr("onnxruntime "));
    const Trace trace = runner->run(inputs, {});
    expect_near(trace, reference.run(inputs, {}));
    EXPECT_TRUE(trace.notes.empty());
  }
}

TEST_F(OnnxRuntime, ConfiguresItsSession) {
  const std::string entry = "session.intra_op.allow_spinning";
  const auto runner = make_onnxruntime_runner(model(), {.session = {{entry, "0"}}, .python = {}});
  EXPECT_EQ(runner->description().at(entry), "0");
}

TEST_F(OnnxRuntime, HandsMapsOver) {
  export_model(zip_map_model(), path);
  imported = import_model(path);
  const Trace trace = make_onnxruntime_runner(model())->run(inputs, {}),
              expected = ReferenceRunner(model()).run(inputs, {});
  const auto &maps = trace.entries[0].datum.as_sequence(), &same = expected.entries[0].datum.as_sequence();
  ASSERT_EQ(maps.size(), 2U);
  for (size_t i = 0; i < maps.size(); ++i) {
    EXPECT_TRUE(maps[i].as_map().first.identical(same[i].as_map().first));
    EXPECT_TRUE(maps[i].as_map().second.identical(same[i].as_map().second));
  }
}

TEST_F(OnnxRuntime, ShowsInnerValuesAndSaysSo) {
  ReferenceRunner reference(model());
  const auto runner = make_onnxruntime_runner(model());
  const Trace trace = runner->run(inputs, {"scaled", "factor"});
  expect_near(trace, reference.run(inputs, {"scaled"}));
  EXPECT_THAT(trace.notes, Contains(HasSubstr("the graph that ran is not the model's")));
  EXPECT_THAT(trace.notes, Contains(HasSubstr("'factor' is not shown")));
  EXPECT_EQ(runner->run(inputs, {}).entries.size(), 2U) << "taps must not stay";
}

TEST_F(OnnxRuntime, TapsModelsWithExternalData) {
  const std::string program = fmt::format(
      "import onnx; onnx.save(onnx.load('{0}'), '{0}', save_as_external_data=True, size_threshold=0, "
      "location='weights')",
      path.string());
  ASSERT_EQ(std::system((quoted_for_shell(find_python("")) + " -c " + quoted_for_shell(program)).c_str()), 0);
  ASSERT_TRUE(std::filesystem::exists(folder.path() / "weights"));
  imported = import_model(path);
  ReferenceRunner reference(model());
  expect_near(make_onnxruntime_runner(model())->run(inputs, {"scaled"}), reference.run(inputs, {"scaled"}));
}

TEST_F(OnnxRuntime, RefusesWhatItCannotDo) {
  const auto message = [&](const OnnxRuntimeOptions& options) -> std::string {
    try {
      make_onnxruntime_runner(model(), options)->run({}, {});
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message({.optimisation = "most", .python = {}}), HasSubstr("optimisation must be one of"));
  EXPECT_THAT(message({.session = {{"precise", "1"}}, .python = {}}), HasSubstr("unknown option 'precise'"));
  EXPECT_THAT(message({.session = {{"session.load_model_format", "ORT"}}, .python = {}}), HasSubstr("ORT"));
  EXPECT_THAT(message({.python = "/no/such/python"}), HasSubstr("exit status 127"));
  EXPECT_THAT(message({.python = {}}), HasSubstr("x"));  // the input that is missing
}

TEST_F(OnnxRuntime, TheExampleOfTheDocumentationWorks) {
  const auto example = test::source_dir() / "docs/example_runner.py";
  const std::string command = quoted_for_shell(find_python("")) + " " + quoted_for_shell(example.string());
  ReferenceRunner reference(model());
  ProcessRunner runner(model(), parse_runner_option("mine=" + command));
  expect_near(runner.run(inputs, {}), reference.run(inputs, {}));
  EXPECT_THAT(runner.run(inputs, {"scaled"}).notes, Contains("this runner cannot show inner values"));
}

TEST_F(OnnxRuntime, TellsOfADamagedModel) {
  write_file(path, "no model");
  try {
    make_onnxruntime_runner(model());
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), HasSubstr("runner 'onnxruntime', stage load"));
  }
}

}  // namespace
}  // namespace vernier
