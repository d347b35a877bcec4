// An engine of many sizes holds its weights once.
#include <gtest/gtest.h>

#include "engine/weighted_model.h"
#include "vernier/builder/builder.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

constexpr int64_t kWidth = 512;

Model products() {
  return with_weights(
      fmt::format(R"(graph "g" (%x: f32[N, {0}], %w1: f32[{0}, {0}], %w2: f32[{0}, {0}]) -> (%y) {{
    %a: f32[*] = MatMul(%x, %w1) version 13 @"a" from ["a"]
    %b: f32[*] = Relu(%a) version 14 @"b" from ["b"]
    %y: f32[*] = MatMul(%b, %w2) version 13 @"y" from ["y"]
  }})",
                  kWidth));
}

// Bytes of the forms of constants that a run of each plan reads.
size_t bytes_read(const Engine& engine) {
  size_t bytes = 0;
  std::set<const void*> plain;
  for (const PreparedPlan& prepared : engine.prepared()) {
    for (const Slot& slot : prepared.plan->slots) {
      if (slot.home == Slot::Home::kConstant && plain.insert(slot.constant.identity()).second)
        bytes += slot.constant.byte_size();
    }
  }
  for (const auto& [key, form] : engine.packed().forms()) bytes += form->size();
  return bytes;
}

std::shared_ptr<const Engine> engine_for(const Model& model, std::vector<ShapeProfile> profiles) {
  BuildOptions options;
  options.profiles = std::move(profiles);
  Builder builder(model, options);
  return builder.build({}, Judge::kNever).engine;
}

ShapeProfile rows(int64_t min, int64_t opt, int64_t max) {
  return {{{"x", {{min, opt, max}, {kWidth, kWidth, kWidth}}}}};
}

TEST(SharedForms, SizesOfAProfileReadTheSameWeights) {
  const Model model = products();
  const size_t weights = 2 * kWidth * kWidth * sizeof(float);
  for (const auto& profile : {rows(8, 64, 256), rows(17, 128, 128), rows(4, 24, 1000)}) {
    const auto engine = engine_for(model, {profile});
    EXPECT_GE(engine->prepared().size(), 2U);
    EXPECT_GE(bytes_read(*engine), weights);
    EXPECT_LE(bytes_read(*engine), weights * 5 / 4) << "weights are held more than once";
  }
}

// Later runs, at sizes in between, read the forms that are there.
TEST(SharedForms, SizesThatComeLaterPackNothing) {
  const Model model = products();
  const auto engine = engine_for(model, {rows(8, 64, 256)});
  const size_t before = bytes_read(*engine), forms = engine->packed().forms().size();
  Session session(engine);
  for (const int64_t count : {9, 31, 100, 255}) {
    const NamedData data{{"x", noise({count, kWidth}, 3, 1)}};
    const auto made = session.run(data).at("y").as_tensor().to_doubles();
    const auto wanted = run_reference(model, data).outputs[0].as_tensor().to_doubles();
    for (size_t i = 0; i < wanted.size(); ++i) ASSERT_NEAR(made[i], wanted[i], 1e-3) << count << " rows";
  }
  EXPECT_EQ(engine->packed().forms().size(), forms);
  EXPECT_EQ(bytes_read(*engine), before);
}

}  // namespace
}  // namespace vernier
