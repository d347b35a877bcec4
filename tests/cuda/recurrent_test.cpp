// Tests LSTM, GRU and RNN on a GPU in software against the reference: by blocks that walk through time, by a
// launch for each step, and with the product of cuBLASLt.
#include "vernier/backends/cuda/recurrent/recurrent.h"

#include "cuda/reference_comparison.h"
#include "cuda/software_cublaslt.h"
#include "vernier/base/error.h"

namespace vernier::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

struct Layer {
  std::string op, type = "f32", attributes = "";
  int64_t steps = 4, batch = 2, inputs = 3, hidden = 9;
  bool bias = true, states = false, peepholes = false;
  std::vector<int64_t> lengths = {};
  std::string outputs = "shc";  // which of Y, Y_h and Y_c there are

  int64_t gates() const { return op == "LSTM" ? 4 : op == "GRU" ? 3 : 1; }

  Case test_case() const {
    const int64_t d = attributes.find("bidirectional") == std::string::npos ? 1 : 2;
    const bool batch_first = attributes.find("layout") != std::string::npos;
    std::string declared, used;
    const auto add = [&](bool is_there, const char* name, const std::string& element, const Dims& dims) {
      used += is_there ? fmt::format("{}%{}", used.empty() ? "" : ", ", name) : ", _";
      if (is_there)
        declared +=
            fmt::format("{}%{}: {}[{}]", declared.empty() ? "" : ", ", name, element, fmt::join(dims, ","));
    };
    const Dims state = batch_first ? Dims{batch, d, hidden} : Dims{d, batch, hidden};
    add(true, "x", type, batch_first ? Dims{batch, steps, inputs} : Dims{steps, batch, inputs});
    add(true, "w", type, {d, gates() * hidden, inputs});
    add(true, "r", type, {d, gates() * hidden, hidden});
    add(bias, "b", type, {d, 2 * gates() * hidden});
    add(!lengths.empty(), "n", "i32", {batch});
    add(states, "h", type, state);
    if (op == "LSTM") add(states, "c", type, state);
    if (op == "LSTM") add(peepholes, "p", type, {d, 3 * hidden});
    std::vector<std::string> results;
    const auto output = [&](char letter, const Dims& dims) {
      const std::string name = letter == outputs[0] ? "y" : fmt::format("y{}", letter);
      const bool is_there = outputs.find(letter) != std::string::npos;
      results.push_back(is_there ? fmt::format("%{}: {}[{}]", name, type, fmt::join(dims, ",")) : "_");
    };
    output('s', batch_first ? Dims{batch, steps, d, hidden} : Dims{steps, d, batch, hidden});
    output('h', state);
    if (op == "LSTM") output('c', state);
    Case made{declared, fmt::format("{} = {}({}){}", fmt::join(results, ", "), op, used,
                                    attributes.empty() ? "" : " {" + attributes + "}")};
    if (!lengths.empty()) made.given[4] = lengths;
    return made;
  }
};

std::ostream& operator<<(std::ostream& out, const Layer& layer) {
  return out << layer.test_case().line;
}

constexpr int64_t kNoneLooped = 0;

class RecurrentTest : public testing::TestWithParam<Layer> {};

TEST_P(RecurrentTest, BlocksThatWalkThroughTimeComputeWhatTheReferenceDoes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(GetParam().test_case(), gpu, Context(gpu.driver, 0), {}, [](const CudaKernel& kernel) {
    EXPECT_EQ(kernel.name, "cuda:recurrent");
    EXPECT_EQ(kernel.sources().size(), 2U);
  });
}

TEST_P(RecurrentTest, LaunchesOfStepsComputeWhatTheReferenceDoes) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  expect_reference(
      GetParam().test_case(), gpu, Context(gpu.driver, 0), {},
      [](const CudaKernel& kernel) { EXPECT_GT(kernel.sources().size(), 2U); },
      [](const KernelRequest& request, std::string& reason) {
        return make_own_recurrent(request, reason, kNoneLooped);
      });
}

INSTANTIATE_TEST_SUITE_P(
    Cells, RecurrentTest,
    testing::Values(
        Layer{"LSTM"}, Layer{"GRU"}, Layer{"RNN"},
        // Packs of elements, and what they leave over to some lanes alone.
        Layer{"LSTM", "f16", "direction = \"reverse\"", 3, 3, 5, 24}, Layer{"GRU", "bf16", "", 3, 2, 5, 40},
        Layer{"RNN", "f64", "direction = \"bidirectional\"", 3, 2, 5, 6}, Layer{"LSTM", "f64"},
        Layer{.op = "GRU", .attributes = "linear_before_reset = 1", .hidden = 12},
        Layer{.op = "GRU", .attributes = "linear_before_reset = 1", .bias = false, .states = true},
        Layer{.op = "LSTM",
              .attributes = "input_forget = 1, clip = float 1.5",
              .states = true,
              .peepholes = true},
        Layer{.op = "LSTM", .type = "f16", .attributes = "direction = \"bidirectional\"", .peepholes = true},
        Layer{.op = "LSTM", .bias = false, .outputs = "c"}, Layer{.op = "GRU", .outputs = "h"}));

// Sequences of other lengths, of one that has no steps, and tensors in which the batch comes first.
INSTANTIATE_TEST_SUITE_P(Lengths, RecurrentTest, testing::ValuesIn([] {
                           std::vector<Layer> all;
                           for (const char* op : {"LSTM", "GRU", "RNN"}) {
                             for (const char* direction : {"forward", "reverse", "bidirectional"}) {
                               const bool batch_first = *direction != 'r';
                               all.push_back({.op = op,
                                              .attributes = fmt::format("direction = \"{}\"{}", direction,
                                                                        batch_first ? ", layout = 1" : ""),
                                              .batch = 3,
                                              .hidden = 4,
                                              .states = true,
                                              .lengths = {4, 0, 2}});
                             }
                           }
                           return all;
                         }()));

INSTANTIATE_TEST_SUITE_P(
    Activations, RecurrentTest, testing::ValuesIn([] {
      std::vector<Layer> all;
      for (const char* both : {"Affine\", \"Elu", "HardSigmoid\", \"LeakyRelu", "Relu\", \"ScaledTanh",
                               "Sigmoid\", \"Softplus", "Softsign\", \"ThresholdedRelu", "Tanh\", \"Tanh"}) {
        all.push_back(
            {.op = "RNN",
             .attributes = fmt::format("direction = \"bidirectional\", activations = strings[\"{}\"], "
                                       "activation_alpha = floats[0.5, 0.25], "
                                       "activation_beta = floats[0.75]",
                                       both),
             .steps = 2,
             .hidden = 3});
      }
      return all;
    }()));

// So many sequences that several share a block, and the last block has fewer.
TEST(RecurrentBatchTest, SequencesShareABlock) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  for (const char* op : {"LSTM", "GRU"}) {
    const SoftwareGpu gpu = reset_software_gpu();
    const Layer layer{.op = op, .steps = 2, .batch = 131, .inputs = 2, .hidden = 4};
    expect_reference(layer.test_case(), gpu, Context(gpu.driver, 0), {}, [](const CudaKernel& kernel) {
      EXPECT_EQ(kernel.grids().at(1).x, 66U);
      EXPECT_THAT(kernel.sources().at(1).body, HasSubstr("#define ROWS 2\n"));
    });
  }
}

class RecurrentKernelTest : public testing::Test {
 protected:
  std::unique_ptr<CudaKernel> make(const Layer& layer, const KernelLibraries& libraries = {}) {
    const Case each = layer.test_case();
    model_ = one_node(each.inputs, each.line);
    return make_cuda_kernel(*known_request(*model_.graph->nodes().back()), reason_, libraries);
  }

  Model model_;
  std::string reason_;
};

// R of so many units is read by one block while a launch would take longer; more needs all of the GPU.
TEST_F(RecurrentKernelTest, SmallStatesAreOneLaunchAndLargeOnesOneForEachStep) {
  const auto launches = [&](const char* op, const char* type, int64_t hidden) {
    const auto kernel = make({.op = op, .type = type, .hidden = hidden});
    return kernel->grids();
  };
  EXPECT_THAT(launches("LSTM", "f32", 128), ElementsAre(testing::_, Grid{2, 1, 1, 512, 3 * 128 * 4}));
  EXPECT_EQ(launches("LSTM", "f16", 176).size(), 2U);
  const Grid of_units{64, 1, 1, 128};
  EXPECT_THAT(launches("LSTM", "f32", 256), ElementsAre(testing::_, of_units, of_units));
  EXPECT_THAT(launches("GRU", "f16", 256), ElementsAre(testing::_, of_units, of_units, of_units));
}

TEST_F(RecurrentKernelTest, LaunchesThatRepeatAreThereAndNoOthers) {
  const auto kernel = make({.op = "RNN", .hidden = 400});
  EXPECT_THROW(kernel->repeat(1, 2, 0), Error);
  CudaKernel none(0, "none");
  EXPECT_THROW(none.repeat(1, 2, 0), Error);
}

TEST_F(RecurrentKernelTest, StatesAreKeptInFloatAndOutputsAloneAreRounded) {
  const auto kernel = make({.op = "GRU", .type = "f16"});
  NumericsContract contract = blocked_contract(ElementType::kFloat, ElementType::kFloat16);
  contract.approximate = true;
  EXPECT_EQ(kernel->contract, contract);
  EXPECT_EQ(make({.op = "GRU", .type = "f64"})->contract.accumulated, ElementType::kDouble);
}

TEST_F(RecurrentKernelTest, WhatHasNoElementsIsLeftToTheReference) {
  EXPECT_EQ(make({.op = "LSTM", .inputs = 0}), nullptr);
  EXPECT_THAT(reason_, HasSubstr("no elements"));
  EXPECT_EQ(make({.op = "LSTM", .steps = 0}), nullptr);
}

TEST(RecurrentLengthTest, ALengthThatIsNoneIsToldWithTheNode) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  for (const int64_t length : {5, -1}) {
    const SoftwareGpu gpu = reset_software_gpu();
    const Layer layer{.op = "RNN", .hidden = 2, .lengths = {4, length}};
    try {
      expect_reference(layer.test_case(), gpu, Context(gpu.driver, 0));
      FAIL() << "nothing was told";
    } catch (const Error& error) {
      EXPECT_THAT(error.what(), HasSubstr("the node"));
      EXPECT_THAT(error.what(), HasSubstr("the length of a sequence"));
    }
  }
}

class LibraryRecurrentTest : public testing::TestWithParam<Layer> {};

TEST_P(LibraryRecurrentTest, TheProductOfAllInputsIsTheLibrarys) {
  if (!has_host_compiler()) GTEST_SKIP() << "SKIPPED: there is no compiler here";
  const SoftwareGpu gpu = reset_software_gpu();
  const bool is_float = GetParam().type == "f32";
  const Context context(gpu.driver, 0);
  const CublasLtLibrary library({"libcublasLt.so.13", "/lib", "13.1.0", ""},
                                reset_software_cublaslt(is_float ? kFloatLoops : kHalfUnits));
  CublasLt cublaslt(context, library);
  software_cublaslt().ways[0].workspace = 1000;
  expect_reference(GetParam().test_case(), gpu, context, {&cublaslt},
                   [](const CudaKernel& kernel) { EXPECT_EQ(kernel.name, "cublaslt:recurrent"); });
  const SoftwareCublasLt& asked = software_cublaslt();
  EXPECT_EQ(asked.chosen.size(), 1U);
  EXPECT_TRUE(asked.aligned);
  EXPECT_EQ(asked.operation.compute, kLtCompute32F);
  EXPECT_EQ(asked.left.type, is_float ? kLtFloat : kLtFloat16);
  EXPECT_EQ(asked.result.type, kLtFloat);  // it is not rounded
}

INSTANTIATE_TEST_SUITE_P(Cells, LibraryRecurrentTest,
                         testing::Values(Layer{"LSTM", "f16", "direction = \"bidirectional\""},
                                         Layer{.op = "GRU", .attributes = "layout = 1", .lengths = {1, 4}},
                                         Layer{.op = "RNN", .type = "f16", .outputs = "h"}));

// Floats as TF32 would be another product, and double has none.
TEST_F(RecurrentKernelTest, WaysThatBreakTheContractLeaveTheProductToOurOwn) {
  const DriverApi driver = reset_fake_driver();
  const Context context(driver, 0);
  const CublasLtLibrary library({"libcublasLt.so.13", "/lib", "13.1.0", ""},
                                reset_software_cublaslt(kTf32Units));
  CublasLt cublaslt(context, library);
  EXPECT_EQ(make({.op = "LSTM"}, {&cublaslt})->name, "cuda:recurrent");
  EXPECT_EQ(make({.op = "LSTM", .type = "f64"}, {&cublaslt})->name, "cuda:recurrent");
  EXPECT_EQ(software_cublaslt().live, 0U);
}

}  // namespace
}  // namespace vernier::cuda
