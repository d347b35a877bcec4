// Tests the parts of decoders, on a GPU in software against the reference: rotary embeddings, attention with
// a past, and what is put behind it.
#include "cuda/reference_comparison.h"
#include "exec/no_kernels.h"
#include "vernier/backends/cuda/cuda_backend.h"
#include "vernier/exec/device/resident_cache.h"
#include "vernier/exec/execution.h"

namespace vernier::cuda {
namespace {

class DecoderTest : public testing::TestWithParam<Case> {};

TEST_P(DecoderTest, ProgramsComputeWhatTheReferenceDoes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam(), gpu, Context(gpu.driver, 0));
}

INSTANTIATE_TEST_SUITE_P(
    Rotations, DecoderTest,
    testing::Values(Case{"%x: f32[2,3,5,8], %c: f32[2,5,4], %s: f32[2,5,4]",
                         "%y: f32[2,3,5,8] = RotaryEmbedding(%x, %c, %s)"},
                    Case{"%x: f16[2,5,21], %c: f16[9,2], %s: f16[9,2], %p: i64[2,5]",
                         "%y: f16[2,5,21] = RotaryEmbedding(%x, %c, %s, %p) {num_heads=3, interleaved=1, "
                         "rotary_embedding_dim=4}",
                         "",
                         {{3, {0, 8, 3, 3, 1, 7, 2, 5, 4, 6}}}},
                    Case{"%x: bf16[2,3,8], %p: i64[1], %c: bf16[9,4], %s: bf16[9,4]",
                         "%y: bf16[2,3,8] = com.microsoft::RotaryEmbedding(%x, %p, %c, %s)",
                         "",
                         {{1, {5}}}}));

const std::string kOneQuery = "%q: f32[2,4,1,8], %k: f32[2,2,1,8], %v: f32[2,2,1,6], ",
                  kPast = "%pk: f32[2,2,5,8], %pv: f32[2,2,5,6]",
                  kAttends =
                      "%y: f32[2,4,1,6], %nk: f32[2,2,6,8], %nv: f32[2,2,6,6] = Attention(%q, %k, %v, ";

INSTANTIATE_TEST_SUITE_P(
    Attention, DecoderTest,
    testing::Values(
        Case{kOneQuery + kPast, kAttends + "_, %pk, %pv)"},
        Case{kOneQuery + "%m: f32[2,1,1,6], " + kPast,
             kAttends + "%m, %pk, %pv) {is_causal=1, softcap = float 2}"},
        Case{kOneQuery + "%m: bool[1,6], " + kPast,
             kAttends + "%m, %pk, %pv) {left_window_size=3}",
             "",
             {{3, {1, 0, 1, 0, 1, 1}}}},
        // All rows are new, and kept.
        Case{"%q: f32[1,3,8], %k: f32[1,3,4], %v: f32[1,3,4]",
             "%y: f32[1,3,8], %nk: f32[1,1,3,4], %nv: f32[1,1,3,4] = Attention(%q, %k, %v) "
             "{q_num_heads=2, kv_num_heads=1, is_causal=1}"},
        // Several queries behind the past, in f16 on matrix units, in f32 from scores in shared memory.
        Case{"%q: f16[1,2,9,8], %k: f16[1,2,9,8], %v: f16[1,2,9,8], %pk: f16[1,2,4,8], %pv: f16[1,2,4,8]",
             "%y: f16[1,2,9,8], %nk: f16[1,2,13,8], %nv: f16[1,2,13,8] = Attention(%q, %k, %v, _, %pk, %pv) "
             "{is_causal=1, left_window_size=5}"},
        Case{"%q: f32[1,2,9,8], %k: f32[1,2,9,8], %v: f32[1,2,9,8], %pk: f32[1,2,4,8], %pv: f32[1,2,4,8]",
             "%y: f32[1,2,9,8], %nk: f32[1,2,13,8], %nv: f32[1,2,13,8] = Attention(%q, %k, %v, _, %pk, %pv) "
             "{is_causal=1, left_window_size=5}"},
        // A cache outside, of which so many keys count; of the second entry none.
        Case{"%q: f32[2,2,2,8], %k: f32[2,2,9,8], %v: f32[2,2,9,8], %n: i64[2]",
             "%y: f32[2,2,2,8] = Attention(%q, %k, %v, _, _, _, %n) {is_causal=1}",
             "",
             {{3, {7, 0}}}},
        Case{"%q: bf16[2,2,5,8], %k: bf16[2,2,9,8], %v: bf16[2,2,9,8], %n: i64[2]",
             "%y: bf16[2,2,5,8] = Attention(%q, %k, %v, _, _, _, %n) {is_causal=1}",
             "",
             {{3, {9, 6}}}},
        // So many keys that several blocks share them, in an odd number of packs.
        Case{"%q: f16[1,2,1,24], %k: f16[1,1,1,24], %v: f16[1,1,1,40], %pk: f16[1,1,1100,24], %pv: "
             "f16[1,1,1100,40]",
             "%y: f16[1,2,1,40], %nk: f16[1,1,1101,24], %nv: f16[1,1,1101,40] = Attention(%q, %k, %v, _, "
             "%pk, %pv)"},
        // A window that some of the blocks have no key of.
        Case{
            "%q: f32[1,2,2,8], %k: f32[1,1,2,8], %v: f32[1,1,2,8], %pk: f32[1,1,298,8], %pv: f32[1,1,298,8]",
            "%y: f32[1,2,2,8], %nk: f32[1,1,300,8], %nv: f32[1,1,300,8] = Attention(%q, %k, %v, _, %pk, %pv) "
            "{is_causal=1, left_window_size=70}"},
        Case{"%q: f32[1,1,1,7], %k: f32[1,1,300,7], %v: f32[1,1,300,3], %m: f32[1,300]",
             "%y: f32[1,1,1,3] = Attention(%q, %k, %v, %m)"}));

INSTANTIATE_TEST_SUITE_P(
    MultiHead, DecoderTest,
    testing::Values(
        Case{"%x: f32[2,1,8], %k: f32[2,1,8], %v: f32[2,1,8], %b: f32[24], %m: i32[2,5], %pk: f32[2,2,4,4], "
             "%pv: f32[2,2,4,4]",
             "%y: f32[2,1,8], %nk: f32[2,2,5,4], %nv: f32[2,2,5,4] = com.microsoft::MultiHeadAttention(%x, "
             "%k, "
             "%v, %b, %m, _, %pk, %pv) {num_heads=2}",
             "",
             {{4, {0, 1, 1, 1, 1, 1, 1, 0, 1, 1}}}},
        Case{"%x: f16[2,5,2,3,8], %s: f16[1,2,5,5]",
             "%y: f16[2,5,16] = com.microsoft::MultiHeadAttention(%x, _, _, _, _, %s) {num_heads=2, "
             "unidirectional=1}"},
        Case{"%x: f32[2,3,8], %kv: f32[2,6,2,2,4], %m: i32[4]",
             "%y: f32[2,3,8] = com.microsoft::MultiHeadAttention(%x, %kv, _, _, %m) {num_heads=2}",
             "",
             {{4, {5, 6, 1, 0}}}}));

const std::string kTotal = "const %t = i32[1] hex\"06000000\"",
                  kGroupQuery = " = com.microsoft::GroupQueryAttention(%q, %k, %v, %pk, %pv, %l, %t",
                  kGroups = "{num_heads=4, kv_num_heads=2";

INSTANTIATE_TEST_SUITE_P(
    GroupQuery, DecoderTest,
    testing::Values(
        Case{"%q: f32[2,1,32], %k: f32[2,1,16], %v: f32[2,1,16], %pk: f32[2,2,5,8], %pv: f32[2,2,5,8], %l: "
             "i32[2]",
             "%y: f32[2,1,32], %nk: f32[2,2,6,8], %nv: f32[2,2,6,8]" + kGroupQuery + ") " + kGroups + "}",
             kTotal,
             {{5, {5, 3}}}},
        Case{"%q: f16[2,1,64], %pk: f16[2,2,5,8], %pv: f16[2,2,5,8], %l: i32[2], %c: f16[9,4], %s: f16[9,4]",
             "%y: f16[2,1,32], %nk: f16[2,2,6,8], %nv: f16[2,2,6,8] = com.microsoft::GroupQueryAttention(%q, "
             "_, _, "
             "%pk, %pv, %l, %t, %c, %s) " +
                 kGroups + ", do_rotary=1, local_window_size=3, softcap = float 3}",
             kTotal,
             {{5, {5, 2}}}},
        Case{"%q: f32[2,2,32], %k: f32[2,2,16], %v: f32[2,2,16], %pk: f32[2,2,5,8], %pv: f32[2,2,5,8], %l: "
             "i32[2], "
             "%c: f32[9,3], %s: f32[9,3], %p: i64[2,2], %b: f32[1,4,2,6], %h: f32[4]",
             "%y: f32[2,2,32], %nk: f32[2,2,6,8], %nv: f32[2,2,6,8]" + kGroupQuery +
                 ", %c, %s, %p, %b, %h) " + kGroups + ", do_rotary=1, rotary_interleaved=1}",
             kTotal,
             {{5, {5, 4}}, {9, {4, 5, 8, 0}}}},
        // Several blocks share the keys, and a score without a value is none of theirs.
        Case{"%q: f16[1,1,16], %k: f16[1,1,8], %v: f16[1,1,8], %pk: f16[1,1,200,8], %pv: f16[1,1,200,8], %l: "
             "i32[1]",
             "%y: f16[1,1,16], %nk: f16[1,1,201,8], %nv: f16[1,1,201,8]" + kGroupQuery +
                 ") {num_heads=2, kv_num_heads=1, smooth_softmax=1}",
             "const %t = i32[1] hex\"c9000000\"",
             {{5, {200}}}},
        // A prompt, of which the second entry is shorter.
        Case{"%q: bf16[2,6,64], %l: i32[2]",
             "%y: bf16[2,6,32], %nk: bf16[2,2,6,8], %nv: bf16[2,2,6,8] = "
             "com.microsoft::GroupQueryAttention(%q, _, "
             "_, _, _, %l, %t) " +
                 kGroups + ", smooth_softmax=1}",
             kTotal,
             {{5, {5, 3}}}}));

// New rows are put where the old ones lie, in memory that has room for more.
INSTANTIATE_TEST_SUITE_P(
    Caches, DecoderTest,
    testing::Values(
        Case{.inputs = kOneQuery + kPast, .line = kAttends + "_, %pk, %pv)", .caches = {{1, 4}, {2, 5}}},
        Case{.inputs =
                 "%q: f32[2,1,32], %k: f32[2,1,16], %v: f32[2,1,16], %pk: f32[2,2,5,8], %pv: f32[2,2,5,8], "
                 "%l: i32[2], %c: f32[9,4], %s: f32[9,4]",
             .line = "%y: f32[2,1,32], %nk: f32[2,2,6,8], %nv: f32[2,2,6,8]" + kGroupQuery + ", %c, %s) " +
                     kGroups + ", do_rotary=1}",
             .constants = kTotal,
             .given = {{5, {5, 3}}},
             .caches = {{1, 3}, {2, 4}}},
        Case{.inputs = "%q: f16[1,1,8], %k: f16[1,1,8], %v: f16[1,1,8], %pk: f16[1,2,4,4], %pv: f16[1,2,4,4]",
             .line = "%y: f16[1,1,8], %nk: f16[1,2,5,4], %nv: f16[1,2,5,4] = "
                     "com.microsoft::MultiHeadAttention(%q, "
                     "%k, %v, _, _, _, %pk, %pv) {num_heads=2}",
             .caches = {{1, 6}, {2, 7}}},
        Case{.inputs = "%p: f16[2,3,4,5], %n: f16[2,3,2,5]",
             .line = "%y: f16[2,3,6,5] = Concat(%p, %n) {axis=2}",
             .caches = {{0, 0}}}));

// Keys and values that are read from a cache, and put there by another step.
bool keys_lie_in_caches(KernelRequest& request) {
  for (const size_t input : {1, 2}) {
    request.inputs[input]->layout = Layout::kCache;
    request.inputs[input]->capacity = 11;
  }
  return true;
}

INSTANTIATE_TEST_SUITE_P(
    KeysInCaches, DecoderTest,
    testing::Values(Case{.inputs = "%q: f32[2,2,1,8], %k: f32[2,2,6,8], %v: f32[2,2,6,4]",
                         .line = "%y: f32[2,2,1,4] = vernier::Attention(%q, %k, %v)",
                         .lay_out = keys_lie_in_caches},
                    Case{.inputs = "%q: f16[2,2,5,8], %k: f16[2,2,6,8], %v: f16[2,2,6,8]",
                         .line = "%y: f16[2,2,5,8] = vernier::Attention(%q, %k, %v)",
                         .lay_out = keys_lie_in_caches}));

// Keys that have no place in the cache are reported, with the node.
TEST(GroupQueryFaultTest, KeysThatThereIsNoRoomForAreTold) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  const Context context(gpu.driver, 0);
  const Case each{
      "%q: f32[2,1,64], %pk: f32[2,2,5,8], %pv: f32[2,2,5,8], %l: i32[2]",
      "%y: f32[2,1,32], %nk: f32[2,2,6,8], %nv: f32[2,2,6,8] = com.microsoft::GroupQueryAttention(%q, _, "
      "_, %pk, %pv, %l, %t) " +
          kGroups + "}",
      kTotal,
      {{5, {5, 6}}}};
  try {
    expect_reference(each, gpu, context);
    FAIL() << "nothing was told";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("a number of keys"));
    EXPECT_EQ(error.node(), "the node");
  }
}

// A text of a prompt and tokens, whose keys and values stay on the GPU.
class ResidentCacheTest : public testing::Test {
 protected:
  static constexpr int64_t kHeads = 2, kSize = 8, kCapacity = 7;

  void SetUp() override {
    if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
    const SoftwareGpu software = reset_software_gpu();
    libraries_.driver = software.driver;
    libraries_.nvrtc = software.nvrtc;
    libraries_.cublaslt = std::make_shared<CublasLtLibrary>(SearchOptions{});
    libraries_.cudnn = std::make_shared<CudnnLibrary>(SearchOptions{});
    gpu_.emplace(libraries_, 0);
    backend_.emplace(*gpu_, CudaOptions{.captures = false});
    for (auto& cache : caches_)
      cache = std::make_unique<ResidentCache>(backend_->device(), ElementType::kFloat,
                                              Dims{1, kHeads, kCapacity, kSize});
  }

  static Operand heads(int64_t rows) { return {ElementType::kFloat, {1, kHeads, rows, kSize}}; }

  static Model model(int64_t old, int64_t added) {
    const auto type = [](int64_t rows) { return fmt::format("f32[1,{},{},{}]", kHeads, rows, kSize); };
    return nodes(
        fmt::format("%x: {0}, %k: {1}, %v: {1}", type(added), type(old)),
        {fmt::format("%n: {} = Neg(%x)", type(added)),
         fmt::format("%y: {0}, %pk: {1}, %pv: {1} = Attention(%x, %n, %x, _, %k, %v) {{is_causal=1}}",
                     type(added), type(old + added))},
        "");
  }

  // Runs so many rows behind those that there are, and gives y.
  Tensor run(const Tensor& x, int64_t old) {
    Model made = model(old, x.dims()[2]);
    Graph& graph = *made.graph;
    graph.outputs.assign(graph.nodes().back()->outputs.begin(), graph.nodes().back()->outputs.end());
    const std::vector<MemoryBinding> bindings = {{1, 1, kCapacity, 1}, {2, 2, kCapacity, 1}};
    PlanChoices choices;
    choices.bindings = bindings;
    const auto plan = std::make_shared<const Plan>(
        make_plan(std::move(made.graph), Backends(host_, {&*backend_}), {}, packed_, choices));
    for (const Step& step : plan->steps) {
      EXPECT_TRUE(step.node != nullptr || step.copies) << "a change of layout";
      EXPECT_LE(step.copies ? plan->slots[static_cast<size_t>(step.inputs[0])].bytes() : 0, x.byte_size());
    }
    SessionMemory memory;
    Execution execution(plan, nodes_, memory);
    std::vector<Datum> inputs{x, caches_[0]->rows(old), caches_[1]->rows(old)}, outputs;
    execution.run(inputs, outputs, {.bindings = bindings});
    return outputs[0].tensor;
  }

  NoKernels host_;
  Libraries libraries_;
  PackedConstants packed_;
  std::optional<Gpu> gpu_;
  std::optional<CudaBackend> backend_;
  DynamicShapeExecutor nodes_{host_};
  std::array<std::unique_ptr<ResidentCache>, 2> caches_;
};

TEST_F(ResidentCacheTest, RowsThatWerePutThereAreAttended) {
  std::mt19937 random(3);
  Tensor keys = drawn(heads(0), random), values = keys;
  for (const int64_t added : {3, 1, 2, 1}) {
    const int64_t old = keys.dims()[2];
    const Tensor x = drawn(heads(added), random);
    const Model made = model(old, added);
    const auto negative = evaluated(*made.graph->nodes().front(), {&x});
    const auto expected =
        evaluated(*made.graph->nodes().back(), {&x, &negative[0], &x, nullptr, &keys, &values});
    EXPECT_THAT(run(x, old).to_doubles(),
                testing::Pointwise(testing::DoubleNear(1e-5), expected[0].to_doubles()));
    keys = caches_[0]->read(old + added);
    values = caches_[1]->read(old + added);
    EXPECT_TRUE(keys.identical(expected[1]));
    EXPECT_TRUE(values.identical(expected[2]));
  }
}

}  // namespace
}  // namespace vernier::cuda
