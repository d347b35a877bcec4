#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "simulated/graph_requests.h"
#include "vernier/exec/device/host_device.h"
#include "vernier/ops/evaluate.h"
#include "vernier/ops/group.h"

namespace vernier::simulated {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// Runs the only node of a graph on the device, on inputs that it reads.
std::vector<Tensor> run(const SimulatedBackend& backend, const Node& node,
                        const std::vector<Tensor>& inputs) {
  std::string reason;
  const KernelRequest request = request_for(node);
  const auto kernel = backend.make(request, reason);
  if (!kernel) throw unsupported("{}", reason);
  const auto stream = backend.device().stream();
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<const void*> from;
  std::vector<void*> to;
  for (size_t i = 0; i < inputs.size(); ++i) {
    from.push_back(nullptr);
    if (!kernel->reads(i)) continue;
    buffers.push_back(backend.device().allocate(inputs[i].byte_size()));
    stream->copy(inputs[i].raw(), buffers.back()->address(), inputs[i].byte_size());
    from.back() = buffers.back()->address();
  }
  std::vector<Tensor> outputs;
  for (const auto& output : request.outputs) {
    outputs.emplace_back(output->element, output->dims);
    buffers.push_back(backend.device().allocate(outputs.back().byte_size()));
    to.push_back(buffers.back()->address());
  }
  kernel->run({from.data(), to.data(), nullptr, stream.get()});
  for (size_t i = 0; i < to.size(); ++i)
    stream->copy(to[i], outputs[i].mutable_raw(), outputs[i].byte_size());
  stream->wait_on_host(stream->record());
  return outputs;
}

const Node& only_node(const Model& model) {
  return *model.graph->nodes().at(0);
}

void expect_as_reference(const Model& model, const std::vector<Tensor>& inputs) {
  std::vector<const Tensor*> operands;
  for (const Tensor& input : inputs) operands.push_back(&input);
  const SimulatedBackend backend;
  const auto found = run(backend, only_node(model), inputs);
  const auto expected = ops::evaluate(only_node(model), operands);
  ASSERT_EQ(found.size(), expected.size());
  for (size_t i = 0; i < found.size(); ++i) EXPECT_TRUE(found[i].identical(expected[i].tensor));
}

std::string refusal(const SimulatedBackend& backend, const KernelRequest& request) {
  std::string reason;
  return backend.make(request, reason) ? "" : reason;
}

TEST(SimulatedKernel, ComputesNarrowTypes) {
  for (const auto type : {ElementType::kFloat16, ElementType::kBFloat16, ElementType::kInt8}) {
    const std::string name(element_type_short_name(type));
    expect_as_reference(
        one_node("%a: " + name + "[3], %b: " + name + "[3]", "%y: " + name + "[3] = Mul(%a, %b)"),
        {Tensor::from_doubles(type, {3}, std::vector<double>{1, -2, 3}),
         Tensor::from_doubles(type, {3}, std::vector<double>{5, 6, -7})});
  }
}

TEST(SimulatedKernel, TruncatesFactorsToTf32WhereTheyMayBe) {
  const auto floats = [](Dims dims, std::vector<double> values) {
    return Tensor::from_doubles(ElementType::kFloat, std::move(dims), values);
  };
  // TF32 keeps 11 digits of it; to nearest they would be 1707.
  const double number = static_cast<float>(5.0 / 6), truncated = 1706.0 / 2048;
  const SimulatedBackend backend;
  const std::string inputs = "%a: f32[1,1], %b: f32[1,1], %c: f32[1]";
  const std::vector<Tensor> given{floats({1, 1}, {number}), floats({1, 1}, {1}), floats({1}, {number})};
  const auto result = [&](const std::string& line) {
    return run(backend, only_node(one_node(inputs, "%y: f32[1,1] = " + line)), given)[0].to_doubles()[0];
  };
  EXPECT_EQ(result("Gemm(%a, %b, %c) {tf32=1}"), static_cast<float>(truncated + number));
  EXPECT_EQ(result("Gemm(%a, %b, %c)"), static_cast<float>(number + number));
  EXPECT_EQ(result("Mul(%a, %b) {tf32=1}"), number);
  std::string reason;
  const Model product = one_node(inputs, "%y: f32[1,1] = Gemm(%a, %b, %c) {tf32=1}");
  EXPECT_THAT(backend.make(request_for(only_node(product)), reason)->contract.text(),
              HasSubstr("operands tf32"));
}

TEST(SimulatedKernel, ComputesBools) {
  expect_as_reference(one_node("%a: bool[2]", "%y: bool[2] = Not(%a)"),
                      {Tensor::from_ints(ElementType::kBool, {2}, std::vector<int64_t>{1, 0})});
}

TEST(SimulatedKernel, ComputesNothing) {
  expect_as_reference(one_node("%a: f32[0, 3]", "%y: f32[0, 3] = Neg(%a)"),
                      {Tensor(ElementType::kFloat, {0, 3})});
}

TEST(SimulatedKernel, GivesSeveralResults) {
  expect_as_reference(one_node("%a: f32[4]", "%y: f32[2], %z: i64[2] = TopK(%a, %k)",
                               "const %k = i64[1] hex\"0200000000000000\""),
                      {Tensor::from<float>(ElementType::kFloat, {4}, {1, 4, 2, 3}),
                       Tensor::from<int64_t>(ElementType::kInt64, {1}, {2})});
}

TEST(SimulatedKernel, ReadsWhatIsKnownFromItsMemory) {
  const Model model = one_node("%a: f32[1]", "%y: f32[1] = Mul(%a, %w)", "const %w = f32[1] hex\"00000040\"");
  const SimulatedBackend backend;
  std::string reason;
  const auto kernel = backend.make(request_for(only_node(model)), reason);
  ASSERT_TRUE(kernel) << reason;
  EXPECT_TRUE(kernel->reads(0));
  EXPECT_TRUE(kernel->reads(1));
  EXPECT_EQ(kernel->name, "simulated:Mul");
  EXPECT_EQ(kernel->contract.stored, ElementType::kFloat);
  const auto y = run(backend, only_node(model),
                     {Tensor::from<float>(ElementType::kFloat, {1}, {3}),
                      Tensor::from<float>(ElementType::kFloat, {1}, {5})});
  EXPECT_EQ(y[0].to_doubles(), std::vector<double>{15});  // of what lies there
}

TEST(SimulatedKernel, ItsErrorArrivesWhereTheHostWaits) {
  const Model model = one_node("%a: f32[2], %i: i64[1]", "%y: f32[1] = Gather(%a, %i)");
  const SimulatedBackend backend;
  EXPECT_THAT(([&] {
                run(backend, only_node(model),
                    {Tensor(ElementType::kFloat, {2}), Tensor::from<int64_t>(ElementType::kInt64, {1}, {7})});
              }),
              ThrowsMessage<Error>(HasSubstr("the node")));
  // Nothing is read, and nothing thrown, where it is enqueued.
  std::string reason;
  const auto kernel = backend.make(request_for(only_node(model)), reason);
  SimulatedStream stream(backend.device());
  const std::vector<const void*> from(2, nullptr);
  void* to = nullptr;
  EXPECT_NO_THROW(kernel->run({from.data(), &to, nullptr, &stream}));
  EXPECT_THROW(stream.wait_on_host(stream.record()), Error);
}

TEST(SimulatedKernel, AnOutputThatLiesWhereAnInputDoesIsSeen) {
  const Model model = one_node("%a: f32[1]", "%y: f32[1] = Neg(%a)");
  const SimulatedBackend backend;
  std::string reason;
  const auto kernel = backend.make(request_for(only_node(model)), reason);
  SimulatedStream stream(backend.device());
  const auto buffer = backend.device().allocate(4);
  float value = 1;
  const void* from = buffer->address();
  void* to = buffer->address();
  stream.copy(&value, to, 4);
  kernel->run({&from, &to, nullptr, &stream});
  stream.copy(to, &value, 4);
  stream.wait_on_host(stream.record());
  EXPECT_TRUE(std::isnan(value));
}

TEST(SimulatedKernel, AResultOfOtherSizesIsAnError) {
  const Model model = one_node("%a: f32[2]", "%y: f32[3] = Neg(%a)");
  const SimulatedBackend backend;
  EXPECT_THAT([&] { run(backend, only_node(model), {Tensor(ElementType::kFloat, {2})}); },
              ThrowsMessage<Error>(AllOf(HasSubstr("the node"), HasSubstr("not f32[3]"))));
}

TEST(SimulatedKernel, RunsOnStreamsOfItsDeviceOnly) {
  const Model model = one_node("%a: f32[2]", "%y: f32[2] = Neg(%a)");
  const SimulatedBackend backend;
  std::string reason;
  const auto kernel = backend.make(request_for(only_node(model)), reason);
  const auto host = host_device().stream();
  const void* from = nullptr;
  void* to = nullptr;
  EXPECT_THROW(kernel->run({&from, &to, nullptr, host.get()}), Error);
  EXPECT_THROW(kernel->run({&from, &to, nullptr, nullptr}), Error);
}

TEST(SimulatedBackend, RefusesWithAReason) {
  SimulatedOptions options;
  options.lacks = {"Neg"};
  const SimulatedBackend lacking(options), backend;
  const Model neg = one_node("%a: f32[2]", "%y: f32[2] = Neg(%a)");
  EXPECT_EQ(refusal(lacking, request_for(only_node(neg))), "the simulated device lacks Neg");
  EXPECT_EQ(refusal(backend, request_for(only_node(neg))), "");

  KernelRequest open = request_for(only_node(neg));
  open.open_sizes = true;
  EXPECT_THAT(refusal(backend, open), HasSubstr("known only when it has run"));
  KernelRequest other = request_for(only_node(neg));
  other.tactic = "winograd";
  EXPECT_EQ(refusal(backend, other), "there is no tactic 'winograd'");

  const Model random = one_node("%a: f32[2]", "%y: f32[2] = RandomNormalLike(%a)");
  EXPECT_THAT(refusal(backend, request_for(only_node(random))), HasSubstr("random"));
  const Model text = one_node("%a: string[2]", "%y: string[2] = Identity(%a)");
  EXPECT_THAT(refusal(backend, request_for(only_node(text))), HasSubstr("strings"));
  const Model sequence = one_node("%a: seq(f32[2])", "%y: i64[] = SequenceLength(%a)");
  EXPECT_THAT(refusal(backend, request_for(only_node(sequence))), HasSubstr("sequences"));
}

TEST(SimulatedBackend, RefusesWhatHasNoReferenceOfItsOwn) {
  Node node;
  node.op = "If";
  node.regions.emplace_back("then_branch", std::make_unique<Graph>());
  EXPECT_EQ(refusal(SimulatedBackend(), KernelRequest{node, {}, {}}), "control flow");
  node.regions.clear();
  node.domain = "no.such.domain";
  EXPECT_EQ(refusal(SimulatedBackend(), KernelRequest{node, {}, {}}), "the operator has no reference");
  SimulatedOptions options;
  options.lacks = {"no.such.domain::If"};
  EXPECT_EQ(refusal(SimulatedBackend(options), KernelRequest{node, {}, {}}),
            "the simulated device lacks no.such.domain::If");
}

TEST(SimulatedBackend, LeavesGroupsToTheirNodes) {
  Model model = parse_graph(R"(
      graph "g" (%a: f32[2]) -> (%y) {
        %n: f32[2] = Neg(%a) version 13 @"neg" from ["neg"]
        %y: f32[2] = Relu(%n) version 14 @"relu" from ["relu"]
      })");
  Graph& graph = *model.graph;
  const Node* group = ops::make_group(graph, {graph.nodes()[0].get(), graph.nodes()[1].get()}, "pair");
  EXPECT_THAT(refusal(SimulatedBackend(), request_for(*group)), HasSubstr("one by one"));
}

TEST(SimulatedBackend, HasPlainLayoutsOnly) {
  const Model model = one_node("%a: f32[2, 3, 4]", "%y: f32[2, 3, 4] = Neg(%a)");
  const SimulatedBackend backend;
  KernelRequest request = request_for(only_node(model));
  request.inputs[0]->layout = Layout::kChannelsLast;
  EXPECT_NE(refusal(backend, request), "");
  backend.choose_layouts(request);
  EXPECT_EQ(refusal(backend, request), "");
  EXPECT_THROW(backend.reorder(request.in(0), Layout::kBlocked16), Error);
}

}  // namespace
}  // namespace vernier::simulated
