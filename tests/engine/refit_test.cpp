// --refit: other weights, and all else as the engine file says.
#include "vernier/compile/refit.h"

#include <unistd.h>

#include <filesystem>

#include "engine/weighted_model.h"
#include "vernier/base/file.h"
#include "vernier/engine/file/engine_io.h"

namespace vernier {
namespace {

namespace fs = std::filesystem;

Model network() {
  return with_weights(R"(graph "g" (%x: f32[N, 16, 6, 6], %w1: f32[32, 16, 3, 3], %w2: f32[32, 4]) -> (%y) {
    %c: f32[*] = Conv(%x, %w1) version 11 @"conv" from ["conv"]
    %r: f32[*] = Relu(%c) version 14 @"relu" from ["relu"]
    %p: f32[*] = GlobalAveragePool(%r) version 1 @"pool" from ["pool"]
    %f: f32[*] = Flatten(%p) version 13 @"flatten" from ["flatten"]
    %y: f32[*] = MatMul(%f, %w2) version 13 @"product" from ["product"]
  })");
}

std::shared_ptr<const Engine> built(const BuildOptions& options) {
  Compiler compiler(network(), options);
  compiler.prepare(options.profiles.at(0).types(compiler.graph(), &DimRange::opt));
  return compiler.engine();
}

class Refit : public testing::Test {
 protected:
  Refit() { options_.profiles = {{{{"x", {{1, 1, 4}, {16, 16, 16}, {6, 6, 6}, {6, 6, 6}}}}}}; }
  ~Refit() override {
    for (const char* name : {"bare", "full", "again", "loaded"}) fs::remove(path(name));
  }
  static fs::path path(const std::string& name) {
    return fs::temp_directory_path() / fmt::format("vernier-{}-refit-{}.engine", ::getpid(), name);
  }
  void save_bare() const {
    SaveOptions stripped;
    stripped.strip_weights = true;
    save_engine(*built(options_), path("bare"), stripped);
  }

  // Why the model with this change is refused.
  static std::string refusal(const std::function<void(Node&)>& change) {
    Model model = network();
    for (const auto& node : model.graph->nodes()) change(*node);
    try {
      refit_engine(path("bare"), model, {});
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      return error.what();
    }
    return "nothing";
  }

  BuildOptions options_;
};

TEST_F(Refit, HasTheOptionsOfTheBuild) {
  options_.precision.bf16 = true;
  options_.precision.layers = {{"product", ElementType::kFloat}};
  options_.passes.disabled = {"fuse-epilogues"};
  options_.passes.forbidden = {NumericalClass::kApproximate};
  options_.workspace = 10 << 20;
  options_.deterministic = true;
  save_engine(*built(options_), path("full"), {});
  save_bare();
  save_engine(*refit_engine(path("bare"), network(), {}), path("again"), {});
  EXPECT_EQ(read_file(path("again")), read_file(path("full")));
  save_engine(*load_engine(path("full")).engine, path("loaded"), {});  // which knows them, too
  EXPECT_EQ(read_file(path("loaded")), read_file(path("full")));
}

TEST_F(Refit, TakesInputsThatHaveDefaults) {
  options_.keep_defaults = true;
  const auto engine = built(options_);
  EXPECT_EQ(engine->graph().inputs.size(), 3U);
  save_bare();
  EXPECT_EQ(refit_engine(path("bare"), network(), {})->graph().inputs.size(), 3U);
}

TEST_F(Refit, OfAnotherGraphIsRefusedByNode) {
  save_bare();
  EXPECT_EQ(refusal([](Node&) {}), "nothing");
  const auto renamed = refusal([](Node& node) {
    if (node.name == "pool") node.provenance = {"other"};
  });
  EXPECT_NE(renamed.find("the engine has no node 'other', the model has no node 'pool'"), std::string::npos)
      << renamed;
  const auto changed = refusal([](Node& node) {
    if (node.name == "pool") node.op = "GlobalMaxPool";
  });
  EXPECT_NE(changed.find("operators, attributes, sizes"), std::string::npos) << changed;
}

}  // namespace
}  // namespace vernier
