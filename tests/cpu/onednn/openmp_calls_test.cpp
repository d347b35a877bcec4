// oneDNN's parallel regions on the threads of the pool: in any order, or all together where they wait for one
// another.
#include "vernier/backends/cpu/onednn/openmp_calls.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <dnnl.hpp>

#include "isa/onednn_isa.h"
#include "vernier/backends/cpu/onednn/primitive.h"
#include "vernier/backends/cpu/parallel.h"

namespace vernier::cpu {
namespace {

using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;

constexpr unsigned kSeconds = 120;  // a region that waits for ever ends the process

class OpenMPCalls : public testing::Test {
 protected:
  void SetUp() override {
    if (const std::string& reason = take_openmp_calls(); !reason.empty()) GTEST_SKIP() << reason;
    ::alarm(kSeconds);
  }
  void TearDown() override { ::alarm(0); }
};

// Small integers: sums are exact in any order.
dnnl::memory filled(const dnnl::memory::desc& plain) {
  dnnl::memory memory(plain, dnnl_engine());
  const auto count = static_cast<int64_t>(plain.get_size() / sizeof(float));
  for (int64_t i = 0; i < count; ++i)
    static_cast<float*>(memory.get_data_handle())[i] = static_cast<float>(i * 7 % 5 - 2);
  return memory;
}

dnnl::memory reordered(const dnnl::memory& from, const dnnl::memory::desc& to) {
  dnnl::memory result(to, dnnl_engine());
  dnnl::reorder(from, result).execute(thread_stream(), const_cast<dnnl::memory&>(from), result);
  return result;
}

struct Contraction {
  std::string implementation;
  std::vector<float> result;
};

// A product in a type, its primitive made for and run by a team of this size and kind.
Contraction multiply(int64_t m, int64_t k, int64_t n, Type type, int team_size, TeamKind kind) {
  const OneDnnTeam team(team_size, kind);
  const dnnl::matmul::primitive_desc description(
      dnnl::matmul::desc({{m, k}, type, Tag::ab}, {{k, n}, type, Tag::any}, {{m, n}, Type::f32, Tag::ab}),
      dnnl_engine());
  auto a = reordered(filled({{m, k}, Type::f32, Tag::ab}), description.src_desc());
  auto b = reordered(filled({{k, n}, Type::f32, Tag::ab}), description.weights_desc());
  dnnl::memory y(description.dst_desc(), dnnl_engine());
  dnnl::matmul(description)
      .execute(thread_stream(), {{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, y}});
  const auto* values = static_cast<const float*>(y.get_data_handle());
  return {description.impl_info_str(), {values, values + m * n}};
}

Contraction convolve(int64_t channels, int64_t size, int64_t kernel, Type type, int team_size,
                     TeamKind kind) {
  const OneDnnTeam team(team_size, kind);
  const int64_t pad = kernel / 2;
  const dnnl::convolution_forward::primitive_desc description(
      dnnl::convolution_forward::desc(dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
                                      {{2, channels, size, size}, type, Tag::nhwc},
                                      {{channels, channels, kernel, kernel}, type, Tag::any},
                                      {{2, channels, size, size}, Type::f32, Tag::nhwc}, {1, 1}, {pad, pad},
                                      {pad, pad}),
      dnnl_engine());
  auto x = reordered(filled({{2, channels, size, size}, Type::f32, Tag::nhwc}), description.src_desc());
  auto w = reordered(filled({{channels, channels, kernel, kernel}, Type::f32, Tag::oihw}),
                     description.weights_desc());
  dnnl::memory y(description.dst_desc(), dnnl_engine());
  dnnl::convolution_forward(description)
      .execute(thread_stream(), {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
  const auto* values = static_cast<const float*>(y.get_data_handle());
  return {description.impl_info_str(), {values, values + 2 * channels * size * size}};
}

// team_kind() says the truth: threads that run one after the other, the last one first, get there, and to the
// same.
template <class Run>
void expect_any_order(const Run& run) {
  const Contraction alone = run(1, TeamKind::kChunks);
  for (const int team : {2, 4, 16}) {
    const Contraction probe = run(team, TeamKind::kTogether);
    EXPECT_EQ(probe.result, alone.result) << probe.implementation;
    if (team_kind(probe.implementation) == TeamKind::kTogether) continue;
    EXPECT_EQ(run(team, TeamKind::kChunks).result, alone.result) << probe.implementation;
    EXPECT_EQ(run(team, TeamKind::kLastFirst).result, alone.result) << probe.implementation;
  }
}

TEST_F(OpenMPCalls, ProductsRunInAnyOrder) {
  for (const Type type : {Type::f32, Type::bf16}) {
    if (type == Type::bf16 && !onednn_has(dnnl::cpu_isa::avx512_core_bf16)) continue;
    for (const auto& [m, k, n] :
         {std::array<int64_t, 3>{16, 8192, 16}, {128, 256, 512}, {1, 512, 1024}, {67, 33, 129}})
      expect_any_order(
          [&, m = m, k = k, n = n](int team, TeamKind kind) { return multiply(m, k, n, type, team, kind); });
  }
}

TEST_F(OpenMPCalls, ConvolutionsRunInAnyOrder) {
  for (const Type type : {Type::f32, Type::bf16}) {
    if (type == Type::bf16 && !onednn_has(dnnl::cpu_isa::avx512_core_bf16)) continue;
    for (const int64_t kernel : {1, 3}) {
      for (const auto& [channels, size] : {std::pair<int64_t, int64_t>{64, 14}, {3, 32}, {512, 7}})
        expect_any_order([&, channels = channels, size = size](int team, TeamKind kind) {
          return convolve(channels, size, kernel, type, team, kind);
        });
    }
  }
}

// It splits the sums of such a product, and its threads wait for each other's parts.
TEST_F(OpenMPCalls, ThreadsOfGemmRunTogether) {
  constexpr int64_t kRows = 16, kDepth = 8192;
  const std::vector<float> a(kRows * kDepth, 1), b(kRows * kDepth, 2);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> y(kRows * kRows, -1);
    const OneDnnTeam team(4, team_kind("gemm:jit"));
    dnnl_sgemm('N', 'N', kRows, kRows, kDepth, 1, a.data(), kDepth, b.data(), kRows, 0, y.data(), kRows);
    EXPECT_EQ(y, std::vector<float>(kRows * kRows, 2 * kDepth));
  }
}

// Weights are packed inside chunks, each on one thread, while a team of more is told: a reorder that was made
// for more threads would leave undone what it sums up in parts for each of them.
TEST_F(OpenMPCalls, ALimitInsideATeamHolds) {
  const auto packed = [](int team_size) {
    std::vector<char> result;
    auto body = [&](int64_t chunk) {
      if (chunk != 0) return;
      const OneDnnTeam team(team_size);
      const ThreadLimit limit(1);
      const dnnl::convolution_forward::primitive_desc description(
          dnnl::convolution_forward::desc(
              dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
              {{1, 64, 14, 14}, Type::s8, Tag::nhwc}, {{64, 64, 3, 3}, Type::s8, Tag::any},
              {{1, 64, 14, 14}, Type::s8, Tag::nhwc}, {1, 1}, {1, 1}, {1, 1}),
          dnnl_engine());
      auto weights =
          reordered(filled({{64, 64, 3, 3}, Type::f32, Tag::oihw}), {{64, 64, 3, 3}, Type::s8, Tag::oihw});
      result.resize(description.weights_desc().get_size());
      dnnl::memory to(description.weights_desc(), dnnl_engine(), result.data());
      dnnl::reorder(weights, to).execute(thread_stream(), weights, to);
    };
    const auto run = [](void* data, int64_t chunk) { (*static_cast<decltype(body)*>(data))(chunk); };
    ThreadPool::instance().run(2, 2, {run, &body});
    return result;
  };
  const auto alone = packed(1);
  for (const int team : {2, 4, 16}) EXPECT_EQ(packed(team), alone) << team;
}

TEST(TeamKind, IsTogetherForWhatIsNotKnown) {
  EXPECT_EQ(team_kind("brg:avx512_core"), TeamKind::kChunks);
  EXPECT_EQ(team_kind("jit:avx2"), TeamKind::kChunks);
  EXPECT_EQ(team_kind("gemm:jit"), TeamKind::kTogether);
  EXPECT_EQ(team_kind("x64:gemm:jit"), TeamKind::kTogether);
  EXPECT_EQ(team_kind("conv:any"), TeamKind::kTogether);
  EXPECT_EQ(team_kind("something:new"), TeamKind::kTogether);
}

// Replacements are for all of the imports that they concern, or none.
TEST(ImportedFunctions, AreReplacedAllOrNone) {
  const void* inside = dlsym(RTLD_DEFAULT, "dnnl_primitive_execute");
  constexpr const char* kOpenMP[] = {"GOMP_", "omp_"};
  EXPECT_NE(replace_imports(inside, kOpenMP, {}).find("which is not known here"), std::string::npos);
  const Replacement missing[] = {{"no_such_function", nullptr}};
  EXPECT_EQ(replace_imports(inside, {}, missing), "the library does not import 'no_such_function'");
  int here = 0;
  EXPECT_EQ(replace_imports(&here, kOpenMP, {}), "the library is not a shared one");
}

}  // namespace
}  // namespace vernier::cpu
