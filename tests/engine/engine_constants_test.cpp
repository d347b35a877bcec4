// Constants in engine files: each once, and what kernels make of them.
#include "engine/small_engine.h"
#include "isa/needs.h"
#include "isa/onednn_isa.h"
#include "vernier/backends/cpu/gemm/tile_block.h"
#include "vernier/backends/cpu/gemm/tile_contraction.h"
#include "vernier/backends/cpu/gemm/vector_block.h"
#include "vernier/backends/cpu/winograd/winograd_walk.h"
#include "vernier/compile/refit.h"

namespace vernier {
namespace {

TEST_F(EngineFileTest, ALoadedEngineGivesTheBitsOfTheBuiltOne) {
  const auto built = small_engine(1, {1, 3});
  save_engine(*built, path(), {});
  const auto loaded = load_engine(path()).engine;
  EXPECT_EQ(loaded->prepared().size(), 2U);
  // Sizes of the file, and others, for which packed weights are unpacked again.
  for (const int64_t size : {1, 3, 2}) EXPECT_EQ(run(loaded, size), run(built, size)) << size;
}

TEST_F(EngineFileTest, LoadingReadsNoConstantThatIsPackedOnly) {
  const auto loaded = load_engine(saved());
  bool packed_only = false;
  for (const auto& constant : loaded.manifest.constants) {
    packed_only = packed_only || !constant.plain;
    EXPECT_TRUE(constant.plain || !constant.forms.empty()) << constant.name;
  }
  EXPECT_TRUE(packed_only);
  const auto& plan = *loaded.engine->prepared()[0].plan;
  for (const Slot& slot : plan.slots) EXPECT_FALSE(slot.constant.is_deferred());
}

TEST_F(EngineFileTest, FormsThatDoNotHoldTheirConstantAreMadeAgain) {
  struct {
    const char *tactic, *kernel;
    Layout images;
    bool applies;
  } const cases[] = {
      {cpu::kTwoTerms, "bf16x3", Layout::kChannelsLast, cpu::has_bf16_tiles()},
      {"winograd", "wino", Layout::kBlocked16, onednn_has(dnnl::cpu_isa::avx512_core)},
      {cpu::kWinogradOfTwo, "winograd:2x2", Layout::kChannelsLast, cpu::has_vector_blocks()},
  };
  int tried = 0;
  for (const auto& each : cases) {
    if (!each.applies) continue;
    ++tried;
    Compiler compiler(small_model(), untuned());
    const PlanChoices choices{each.images, {{"conv", each.tactic}}};
    compiler.prepare(batch(2), choices);
    const auto built = compiler.engine();
    const auto& steps = built->prepared()[0].plan->steps;
    EXPECT_TRUE(std::any_of(steps.begin(), steps.end(), [&](const Step& step) {
      return step.kernel && step.kernel->name.find(each.kernel) != std::string::npos;
    })) << each.kernel;
    const auto expected = run(built, 2);  // all forms are made
    save_engine(*built, path(), {});
    const auto loaded = load_engine(path());
    for (const auto& constant : loaded.manifest.constants) {
      EXPECT_TRUE(constant.plain) << constant.name;
      EXPECT_TRUE(constant.forms.empty()) << constant.name;
    }
    EXPECT_EQ(run(loaded.engine, 2), expected) << each.tactic;
  }
  if (tried == 0) VERNIER_NEEDS(kAvx512);
}

TEST_F(EngineFileTest, StrippedFilesTakeTheWeightsOfAModel) {
  SaveOptions options;
  options.strip_weights = true;
  save_engine(*small_engine(), path("full"), {});
  saved(options);
  EXPECT_LT(fs::file_size(path()) + 16000, fs::file_size(path("full")));
  EXPECT_THROW(load_engine(path()), Error);
  const auto refitted = refit_engine(path(), small_model(1), {});
  save_engine(*refitted, path("again"), {});
  EXPECT_EQ(content_of(path("again")), content_of(path("full")));
  // Other weights of the same structure.
  EXPECT_EQ(run(refit_engine(path(), small_model(5), {}), 1), run(small_engine(5), 1));
  EXPECT_THROW(refit_engine(path(), parse_graph(R"(graph "g" (%x: f32[1, 16, 6, 6]) -> (%y) {
    %y: f32[*] = Exp(%x) version 13 @"e" from ["e"]
  })"),
                            {}),
               Error);
}

}  // namespace
}  // namespace vernier
