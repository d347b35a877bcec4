// An accelerator that keeps images channels last: layouts are changed on the device, once for each value, and
// what the host sees is plain.
#include <gmock/gmock.h>

#include <list>

#include "exec/no_kernels.h"
#include "simulated/graph_requests.h"
#include "vernier/exec/execution.h"
#include "vernier/exec/probing/lone_step.h"
#include "vernier/exec/probing/observer.h"
#include "vernier/ops/evaluate.h"

namespace vernier::simulated {
namespace {

// Neg makes images channels last, Relu leaves them as they lie, others are plain.
class ImagesLast : public Backend {
 public:
  Device& device() const override { return accelerator_.device(); }
  void choose_layouts(KernelRequest& request) const override {
    const Layout layout = request.node.op == "Neg"    ? Layout::kChannelsLast
                          : request.node.op == "Relu" ? request.in(0).layout
                                                      : Layout::kPlain;
    for (auto* operands : {&request.inputs, &request.outputs}) {
      for (auto& operand : *operands) operand->layout = layout;
    }
  }
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    KernelRequest as_it_lies = request;
    for (auto* operands : {&as_it_lies.inputs, &as_it_lies.outputs}) {
      for (auto& operand : *operands) {
        operand->dims = operand->memory_dims();
        operand->layout = Layout::kPlain;
      }
    }
    return accelerator_.make(as_it_lies, reason);
  }
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    Operand target = from;
    target.layout = to;
    const std::string perm = to == Layout::kPlain ? "0, 3, 1, 2" : "0, 2, 3, 1";
    nodes_.push_back(
        one_node("%a: f32" + dims_text(from.memory_dims()),
                 "%y: f32" + dims_text(target.memory_dims()) + " = Transpose(%a) {perm=ints[" + perm + "]}"));
    std::string reason;
    return accelerator_.make(request_for(*nodes_.back().graph->nodes().front()), reason);
  }

 private:
  SimulatedBackend accelerator_;
  mutable std::list<Model> nodes_;  // of kernels that change layouts
};

class CopyOnHost : public Kernel {
 public:
  CopyOnHost(Operand from, Layout to) : from_(std::move(from)), to_(to) {}
  void run(const KernelArguments& arguments) const override {
    const auto* from = static_cast<const float*>(arguments.inputs[0]);
    auto* to = static_cast<float*>(arguments.outputs[0]);
    const int64_t channels = from_.dims[1], pixels = from_.dims[2] * from_.dims[3];
    for (int64_t i = 0; i < from_.size(); ++i) {
      const int64_t image = i / (channels * pixels), channel = i / pixels % channels, pixel = i % pixels,
                    last = (image * pixels + pixel) * channels + channel;
      to[to_ == Layout::kPlain ? i : last] = from[to_ == Layout::kPlain ? last : i];
    }
  }

 private:
  Operand from_;
  Layout to_;
};

// It sees values of the device plain.
class Host : public NoKernels {
 public:
  std::unique_ptr<Kernel> reorder(const Operand& from, Layout to) const override {
    return std::make_unique<CopyOnHost>(from, to);
  }
};

TEST(SimulatedLayouts, AreChangedOnTheDeviceOnce) {
  auto model = parse_graph(
      "graph \"g\" (%x: f32[2,3,2,2]) -> (%d, %b) {\n"
      "%a: f32[2,3,2,2] = Neg(%x) version 13 @\"a\" from [\"a\"]\n"
      "%b: f32[2,3,2,2] = Relu(%a) version 14 @\"b\" from [\"b\"]\n"
      "%c: f32[2,3,2,2] = Add(%b, %x) version 14 @\"c\" from [\"c\"]\n"
      "%d: f32[2,3,2,2] = Neg(%c) version 13 @\"d\" from [\"d\"]\n}");
  const Host host;
  const ImagesLast accelerator;
  PackedConstants packed;
  const std::shared_ptr<const Graph> graph = std::move(model.graph);
  const auto plan =
      std::make_shared<const Plan>(make_plan(graph, Backends(host, {&accelerator}), {}, packed));
  size_t reorders = 0, copies = 0;
  for (const Step& step : plan->steps) {
    EXPECT_NE(step.device, kHost);
    reorders += step.node == nullptr && !step.copies;
    copies += step.copies;
  }
  EXPECT_EQ(reorders, 4U);  // x and c to channels last, b and d to plain
  EXPECT_EQ(copies, 3U);    // of x, b and d

  std::vector<double> numbers;
  for (int i = 0; i < 24; ++i) numbers.push_back(i % 7 - 3.0);
  std::map<std::string, Tensor> expected{
      {"x", Tensor::from_doubles(ElementType::kFloat, {2, 3, 2, 2}, numbers)}};
  for (const auto& node : graph->nodes()) {
    std::vector<const Tensor*> operands;
    for (const Value* input : node->inputs) operands.push_back(&expected.at(input->name));
    expected[node->output(0)->name] = ops::evaluate(*node, operands)[0].tensor;
  }
  Observer observer;
  size_t seen_values = 0;
  std::vector<Datum> read;
  observer.before = [&](const ObservedStep& seen) { read = seen.inputs(); };
  observer.after = [&](const ObservedStep& seen, int64_t) {
    const auto alone = run_alone(seen.plan(), seen.step(), host, read);
    for (size_t i = 0; i < seen.outputs().size(); ++i) {
      const SlotId slot = seen.step().outputs[i];
      const Tensor& wanted = expected.at(plan->slots[static_cast<size_t>(slot)].value->name);
      EXPECT_TRUE(seen.outputs()[i].tensor.identical(wanted));
      EXPECT_TRUE(alone.at(i).tensor.identical(wanted));
      ++seen_values;
    }
  };
  DynamicShapeExecutor nodes(host);
  SessionMemory memory;
  Execution execution(plan, nodes, memory);
  std::vector<Datum> outputs;
  const std::vector<Datum> inputs{expected.at("x")};
  execution.run(inputs, outputs);
  EXPECT_TRUE(outputs.at(0).tensor.identical(expected.at("d")));
  EXPECT_TRUE(outputs.at(1).tensor.identical(expected.at("b")));
  execution.run(inputs, outputs, {.observer = &observer});
  EXPECT_EQ(seen_values, plan->steps.size());
}

}  // namespace
}  // namespace vernier::simulated
