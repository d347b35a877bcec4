// --deterministic: the same bits for every run, every number of threads, every build, and from the file.
#include <filesystem>

#include "engine/weighted_model.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/compile/compiler.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/session.h"

namespace vernier {
namespace {

// As ResNet-18 begins, with a stage of fewer pixels, a pool and a classifier.
Model residual_network() {
  return with_weights(R"(graph "g" (%x: f32[2, 3, 64, 64], %w0: f32[64, 3, 7, 7], %w1: f32[64, 64, 3, 3],
      %w2: f32[64, 64, 3, 3], %w3: f32[128, 64, 3, 3], %w4: f32[128, 64, 1, 1], %w5: f32[512, 128, 3, 3],
      %w6: f32[512, 1000]) -> (%y) {
    %c0: f32[*] = Conv(%x, %w0) {pads = ints[3, 3, 3, 3], strides = ints[2, 2]} version 11 @"c0" from ["c0"]
    %r0: f32[*] = Relu(%c0) version 14 @"r0" from ["r0"]
    %p0: f32[*] = MaxPool(%r0) {kernel_shape = ints[3, 3], pads = ints[1, 1, 1, 1], strides = ints[2, 2]} version 12 @"p0" from ["p0"]
    %c1: f32[*] = Conv(%p0, %w1) {pads = ints[1, 1, 1, 1]} version 11 @"c1" from ["c1"]
    %r1: f32[*] = Relu(%c1) version 14 @"r1" from ["r1"]
    %c2: f32[*] = Conv(%r1, %w2) {pads = ints[1, 1, 1, 1]} version 11 @"c2" from ["c2"]
    %a2: f32[*] = Add(%c2, %p0) version 14 @"a2" from ["a2"]
    %r2: f32[*] = Relu(%a2) version 14 @"r2" from ["r2"]
    %c3: f32[*] = Conv(%r2, %w3) {pads = ints[1, 1, 1, 1], strides = ints[2, 2]} version 11 @"c3" from ["c3"]
    %c4: f32[*] = Conv(%r2, %w4) {strides = ints[2, 2]} version 11 @"c4" from ["c4"]
    %a4: f32[*] = Add(%c3, %c4) version 14 @"a4" from ["a4"]
    %c5: f32[*] = Conv(%a4, %w5) {pads = ints[1, 1, 1, 1]} version 11 @"c5" from ["c5"]
    %g: f32[*] = GlobalAveragePool(%c5) version 1 @"g" from ["g"]
    %f: f32[*] = Flatten(%g) version 13 @"f" from ["f"]
    %y: f32[*] = MatMul(%f, %w6) version 13 @"y" from ["y"]
  })");
}

// A layer of a small BERT: attention of four heads, and the two products of the feed-forward, of which the
// second sums 3072 terms: oneDNN lets three threads share such sums.
Model transformer_layer() {
  return with_weights(
      R"(graph "g" (%x: f32[64, 768], %wq: f32[768, 256], %wk: f32[768, 256], %wv: f32[768, 256],
      %wo: f32[256, 768], %w1: f32[768, 3072], %w2: f32[3072, 768], %ws: f32[768], %wb: f32[768]) -> (%y) {
    const %split = i64[3] hex"400000000000000004000000000000004000000000000000"
    const %merge = i64[2] hex"40000000000000000001000000000000"
    %q: f32[*] = MatMul(%x, %wq) version 13 @"q" from ["q"]
    %k: f32[*] = MatMul(%x, %wk) version 13 @"k" from ["k"]
    %v: f32[*] = MatMul(%x, %wv) version 13 @"v" from ["v"]
    %q3: f32[*] = Reshape(%q, %split) version 13 @"q3" from ["q3"]
    %k3: f32[*] = Reshape(%k, %split) version 13 @"k3" from ["k3"]
    %v3: f32[*] = Reshape(%v, %split) version 13 @"v3" from ["v3"]
    %qt: f32[*] = Transpose(%q3) {perm = ints[1, 0, 2]} version 13 @"qt" from ["qt"]
    %kt: f32[*] = Transpose(%k3) {perm = ints[1, 2, 0]} version 13 @"kt" from ["kt"]
    %vt: f32[*] = Transpose(%v3) {perm = ints[1, 0, 2]} version 13 @"vt" from ["vt"]
    %s: f32[*] = MatMul(%qt, %kt) version 13 @"s" from ["s"]
    %p: f32[*] = Softmax(%s) {axis = -1} version 13 @"p" from ["p"]
    %o: f32[*] = MatMul(%p, %vt) version 13 @"o" from ["o"]
    %ot: f32[*] = Transpose(%o) {perm = ints[1, 0, 2]} version 13 @"ot" from ["ot"]
    %om: f32[*] = Reshape(%ot, %merge) version 13 @"om" from ["om"]
    %oo: f32[*] = MatMul(%om, %wo) version 13 @"oo" from ["oo"]
    %h: f32[*] = Add(%oo, %x) version 14 @"h" from ["h"]
    %n: f32[*] = LayerNormalization(%h, %ws, %wb) version 17 @"n" from ["n"]
    %f1: f32[*] = MatMul(%n, %w1) version 13 @"f1" from ["f1"]
    %fa: f32[*] = Relu(%f1) version 14 @"fa" from ["fa"]
    %f2: f32[*] = MatMul(%fa, %w2) version 13 @"f2" from ["f2"]
    %y: f32[*] = Add(%f2, %h) version 14 @"y" from ["y"]
  })");
}

std::vector<ValueType> types_of_inputs(const Graph& graph) {
  std::vector<ValueType> types;
  for (const Value* input : graph.inputs) types.push_back(input->type);
  return types;
}

// Gives what the engine yields, which must not depend on the session. Four numbers of threads, five runs
// each.
Tensor same_for_all_threads(const std::shared_ptr<const Engine>& engine, const NamedData& data) {
  Tensor first;
  for (const int threads : {1, 2, 3, 4}) {
    Session session(engine, threads);
    for (int run = 0; run < 5; ++run) {
      const Tensor y = session.run(data).at("y").as_tensor();
      if (!first.is_defined()) first = y;
      EXPECT_TRUE(first.identical(y)) << threads << " threads, run " << run;
    }
  }
  return first;
}

std::shared_ptr<const Engine> built(const Model& model, bool bf16, int threads) {
  const ThreadLimit scope(threads);
  BuildOptions options;
  options.deterministic = true;
  options.precision.bf16 = bf16;
  Compiler compiler(model, options);
  compiler.prepare(types_of_inputs(compiler.graph()));
  return compiler.engine();
}

void expect_the_same_bits(const Model& model, Dims input) {
  const NamedData data{{"x", noise(std::move(input), 99, 1)}};
  for (const bool bf16 : {false, true}) {
    const auto engine = built(model, bf16, 3);
    const Tensor y = same_for_all_threads(engine, data);
    EXPECT_TRUE(y.identical(same_for_all_threads(built(model, bf16, 1), data)));  // another build

    const auto file =
        std::filesystem::temp_directory_path() / fmt::format("vernier-{}-deterministic.engine", ::getpid());
    save_engine(*engine, file, {});
    const auto loaded = load_engine(file);
    std::filesystem::remove(file);
    EXPECT_TRUE(loaded.manifest.build.deterministic);
    EXPECT_TRUE(y.identical(same_for_all_threads(loaded.engine, data)));
  }
}

TEST(Deterministic, Convolutions) {
  expect_the_same_bits(residual_network(), {2, 3, 64, 64});
}

TEST(Deterministic, Products) {
  expect_the_same_bits(transformer_layer(), {64, 768});
}

// Sizes that no plan was prepared for, and a region, get their kernels when they run.
TEST(Deterministic, SizesThatComeLater) {
  const Model model = with_weights(R"(graph "g" (%x: f32[n, 3072], %w: f32[3072, 768]) -> (%y) {
    %p: f32[*] = MatMul(%x, %w) version 13 @"p" from ["p"]
    %y: f32[*] = Relu(%p) version 14 @"y" from ["y"]
  })");
  BuildOptions options;
  options.deterministic = true;
  options.precision.bf16 = true;
  const auto engine = compile(model, options);
  for (const int64_t rows : {1, 31, 128}) same_for_all_threads(engine, {{"x", noise({rows, 3072}, 7, 1)}});
}

// Only tactics of the same bits may be chosen, whatever others would gain.
TEST(Deterministic, NothingThatIsMeasuredDecides) {
  const auto engine = built(residual_network(), false, 2);
  for (const auto& [value, tactic] : engine->prepared()[0].plan->choices.tactics)
    EXPECT_EQ(tactic, "threads=1") << value;
}

}  // namespace
}  // namespace vernier
