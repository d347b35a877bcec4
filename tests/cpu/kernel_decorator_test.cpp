// A kernel inside another is prepared when the plan is prepared, not by the first run.
#include "vernier/exec/kernel_decorator.h"

#include <gtest/gtest.h>

#include <cstring>

#include "ops/one_node.h"
#include "vernier/backends/cpu/cpu_backend.h"
#include "vernier/backends/cpu/parallel.h"
#include "vernier/backends/cpu/upcast.h"
#include "vernier/exec/execution.h"
#include "vernier/ops/infer_graph.h"

namespace vernier::cpu {
namespace {

struct Preparations {
  int count = 0;
  int threads = 0;  // that the last had
};

// Its output is its first input.
class CountingKernel : public Kernel {
 public:
  CountingKernel(Preparations& preparations, size_t bytes) : preparations_(preparations), bytes_(bytes) {
    name = "counting";
  }
  void run(const KernelArguments& arguments) const override {
    EXPECT_TRUE(is_prepared());
    std::memcpy(arguments.outputs[0], arguments.inputs[0], bytes_);
  }
  void prepare() const override {
    ++preparations_.count;
    preparations_.threads = thread_count();
  }
  bool is_prepared() const override { return preparations_.count > 0; }

 private:
  Preparations& preparations_;
  size_t bytes_;
};

// A backend of counting kernels, in what `wrap` makes of them.
class CountingKernels : public Backend {
 public:
  using Make = std::function<std::unique_ptr<Kernel>(const KernelRequest&, std::string&)>;
  using Wrap = std::function<std::unique_ptr<Kernel>(const KernelRequest&, const Make&)>;

  explicit CountingKernels(Wrap wrap) : wrap_(std::move(wrap)) {}

  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& /*reason*/) const override {
    return wrap_(request, [this](const KernelRequest& inner, std::string& /*why_not*/) {
      const auto& x = inner.in(0);
      return std::make_unique<CountingKernel>(preparations,
                                              static_cast<size_t>(x.size()) * element_size(x.element));
    });
  }
  void choose_layouts(KernelRequest& /*request*/) const override {}
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    return CpuBackend().reorder(from, to);
  }

  mutable Preparations preparations;

 private:
  Wrap wrap_;
};

void expect_prepared_before_the_run(const CountingKernels& kernels, ElementType type) {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", ValueType::of(type, to_shape(Dims{4})));
  graph->outputs = graph->add_node(ops::OneNode("Relu", 14).make({x}, *graph))->outputs;
  ops::infer_types(*graph);
  PackedConstants packed;
  const auto plan = std::make_shared<const Plan>(make_plan(std::move(graph), kernels, nullptr, packed));
  ASSERT_EQ(plan->steps.size(), 1U);
  const Kernel& kernel = *plan->steps[0].kernel;
  EXPECT_FALSE(kernel.is_prepared());
  DynamicShapeExecutor nodes(kernels);
  SessionMemory arena;
  Execution execution(plan, nodes, arena);
  EXPECT_TRUE(kernel.is_prepared());
  EXPECT_EQ(kernels.preparations.count, 1);
  const Tensor input = Tensor::from_doubles(type, {4}, std::vector<double>{1, 2, 3, 4});
  std::vector<Datum> outputs;
  execution.run(std::vector<Datum>{input}, outputs);
  EXPECT_TRUE(outputs.at(0).as_tensor().identical(input));
}

TEST(KernelDecorator, OneThread) {
  set_thread_count(3);
  const CountingKernels kernels([](const KernelRequest& request, const auto& make) {
    std::string reason;
    return make_one_thread(request, reason, make);
  });
  expect_prepared_before_the_run(kernels, ElementType::kFloat);
  EXPECT_EQ(kernels.preparations.threads, 1);
}

TEST(KernelDecorator, Upcast) {
  const CountingKernels kernels([](const KernelRequest& request, const auto& make) {
    std::string reason;
    return make_upcast(request, reason, make);
  });
  expect_prepared_before_the_run(kernels, ElementType::kBFloat16);
}

// prepare() makes the code that computes this convolution.
std::unique_ptr<Kernel> convolution(const Backend& kernels, const Graph& graph) {
  const Node& node = *graph.nodes()[0];
  const auto operand = [](const Value& value) {
    return Operand{ElementType::kFloat, *to_dims(*value.type.tensor.shape), Layout::kPlain,
                   value.is_constant() ? &*value.constant : nullptr};
  };
  KernelRequest request{
      node, {operand(*node.inputs[0]), operand(*node.inputs[1])}, {operand(*node.outputs[0])}};
  std::string reason;
  return kernels.make(request, reason);
}

std::unique_ptr<Graph> convolution_graph() {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", ValueType::of(ElementType::kFloat, to_shape(Dims{1, 32, 14, 14})));
  Value* w = graph->add_constant("w", Tensor(ElementType::kFloat, {48, 32, 3, 3}));
  graph->outputs = graph->add_node(ops::OneNode("Conv", 11).make({x, w}, *graph))->outputs;
  ops::infer_types(*graph);
  return graph;
}

void expect_prepared(const Kernel& kernel, std::string_view name) {
  EXPECT_NE(kernel.name.find(name), std::string::npos) << kernel.name;
  EXPECT_FALSE(kernel.is_prepared());
  kernel.prepare();
  EXPECT_TRUE(kernel.is_prepared());
}

TEST(KernelDecorator, Faulty) {
  const auto graph = convolution_graph();
  const auto kernel = convolution(CpuBackend(FaultSpec{Fault::kStaleBuffer, ""}), *graph);
  ASSERT_TRUE(kernel);
  expect_prepared(*kernel, "fault: stale-buffer");
}

}  // namespace
}  // namespace vernier::cpu
