// Plans that are made from those of other sizes: they are the plans that would be made from the beginning.
#include <gtest/gtest.h>

#include "engine/as_reference.h"
#include "engine/weighted_model.h"
#include "vernier/compile/compiler.h"
#include "vernier/exec/planning/resizable_plan.h"
#include "vernier/ops/group.h"
#include "vernier/ops/infer_graph.h"

namespace vernier {
namespace {

// A layer of a decoder with a cache: parts that are views at batch 1 alone, a concatenation, attention that
// is masked by shape arithmetic, and a row behind it whose sizes stay.
Model decoder() {
  return with_weights(
      R"(graph "g" (%x: f32[batch, sequence, 32], %past: f32[batch, 2, past, 16], %wq: f32[32, 32], %wk: f32[32, 32], %wo: f32[32, 32], %wv: f32[1, 32]) -> (%y, %present, %bias) {
    const %heads = i64[4] hex"0000000000000000ffffffffffffffff02000000000000001000000000000000"
    const %joined = i64[3] hex"0000000000000000ffffffffffffffff2000000000000000"
    const %axis = i64[1] hex"0200000000000000"
    const %scale = f32[] hex"0000803e"
    %q: f32[*] = MatMul(%x, %wq) version 13 @"q" from ["q"]
    %k: f32[*] = MatMul(%x, %wk) version 13 @"k" from ["k"]
    %q4: f32[*] = Reshape(%q, %heads) version 14 @"q4" from ["q4"]
    %k4: f32[*] = Reshape(%k, %heads) version 14 @"k4" from ["k4"]
    %qt: f32[*] = Transpose(%q4) {perm = ints[0, 2, 1, 3]} version 13 @"qt" from ["qt"]
    %kt: f32[*] = Transpose(%k4) {perm = ints[0, 2, 1, 3]} version 13 @"kt" from ["kt"]
    %present: f32[*] = Concat(%past, %kt) {axis = 2} version 13 @"present" from ["present"]
    %t: f32[*] = Transpose(%present) {perm = ints[0, 1, 3, 2]} version 13 @"t" from ["t"]
    %scores: f32[*] = MatMul(%qt, %t) version 13 @"scores" from ["scores"]
    %scaled: f32[*] = Mul(%scores, %scale) version 14 @"scaled" from ["scaled"]
    %probabilities: f32[*] = Softmax(%scaled) {axis = -1} version 13 @"probabilities" from ["probabilities"]
    %seen: f32[*] = MatMul(%probabilities, %present) version 13 @"seen" from ["seen"]
    %seent: f32[*] = Transpose(%seen) {perm = ints[0, 2, 1, 3]} version 13 @"seent" from ["seent"]
    %seen3: f32[*] = Reshape(%seent, %joined) version 14 @"seen3" from ["seen3"]
    %o: f32[*] = MatMul(%seen3, %wo) version 13 @"o" from ["o"]
    %half: f32[*], %other: f32[*] = Split(%o) {axis = 1} version 18 @"parts" from ["parts"]
    %h: f32[*] = Relu(%half) version 14 @"h" from ["h"]
    %y: f32[*] = Add(%h, %other) version 14 @"y" from ["y"]
    %bias: f32[*] = Tanh(%wv) version 13 @"bias" from ["bias"]
  })");
}

NamedData inputs_of(int64_t batch, int64_t sequence, int64_t past) {
  return {{"x", noise({batch, sequence, 32}, 1, 1)}, {"past", noise({batch, 2, past, 16}, 2, 1)}};
}

// All that decides what runs where, as text.
std::string text_of(const Plan& plan) {
  std::string text;
  for (size_t i = 0; i < plan.slots.size(); ++i) {
    const Slot& slot = plan.slots[i];
    const std::string dims = slot.known ? dims_text(slot.operand.dims) : "?";
    EXPECT_EQ(slot.value->type.is_tensor() && slot.known ? dims_text(*to_dims(*slot.value->type.tensor.shape))
                                                         : dims,
              dims)
        << slot.value->name;
    text += fmt::format("slot {} {} {} {} in {} at {} of {}\n", slot.value->name, dims,
                        static_cast<int>(slot.operand.layout), static_cast<int>(slot.home), slot.storage,
                        slot.within, slot.home == Slot::Home::kArena ? slot.offset : 0);
  }
  for (const Step& step : plan.steps) {
    text += fmt::format("{} {} ({}) -> ({}) dead ({}) scratch {} at {}\n",
                        step.node == nullptr ? "reorder" : step.node->name,
                        step.kernel ? step.kernel->name : step.reason, fmt::join(step.inputs, " "),
                        fmt::join(step.outputs, " "), fmt::join(step.dead, " "),
                        step.kernel ? step.kernel->scratch_bytes : 0, step.scratch);
  }
  return text + fmt::format("{} bytes, {} at the peak", plan.arena_bytes, plan.peak_bytes);
}

struct Sizes {
  int64_t batch, sequence, past;
};

TEST(ResizedPlan, IsTheOneThatWouldBeMadeFromTheBeginning) {
  const Model model = decoder();
  const auto engine = compile(model);
  Session session(engine);
  int resized = 0;
  for (const auto& [batch, sequence, past] : {Sizes{1, 4, 0},
                                              {1, 2, 4},
                                              {1, 2, 5},
                                              {1, 2, 6},
                                              {1, 3, 4},
                                              {1, 2, 7},
                                              {1, 2, 70},
                                              {1, 6, 70},
                                              {3, 6, 70},
                                              {3, 6, 71},
                                              {3, 2, 71},
                                              {1, 2, 71},
                                              {2, 2, 71},
                                              {2, 2, 0},
                                              {2, 8, 0}}) {
    SCOPED_TRACE(fmt::format("batch {}, sequence {}, past {}", batch, sequence, past));
    const NamedData inputs = inputs_of(batch, sequence, past);
    const auto results = session.run(inputs);
    const auto plan = session.plan(inputs);
    resized += plan->has_graph() ? 0 : 1;
    const auto whole = session.plan_with_graph(inputs);
    ASSERT_TRUE(whole->has_graph());
    EXPECT_EQ(text_of(*plan), text_of(*whole));
    const auto reference = run_reference(model, inputs);
    for (size_t i = 0; i < reference.outputs.size(); ++i) {
      const auto expected = reference.outputs[i].as_tensor().to_doubles();
      const auto actual = results.at(model.graph->outputs[i]->name).as_tensor().to_doubles();
      ASSERT_EQ(actual.size(), expected.size());
      for (size_t j = 0; j < expected.size(); ++j) ASSERT_NEAR(actual[j], expected[j], 1e-4) << i << " " << j;
    }
  }
  EXPECT_GE(resized, 5);
}

// Where a view becomes a copy the steps are others.
TEST(ResizedPlan, IsNotMadeWhereAViewIsNoMore) {
  const auto engine = compile(decoder());
  Session session(engine);
  session.run(inputs_of(1, 4, 8));
  const NamedData batches = inputs_of(2, 4, 8);
  session.run(batches);
  EXPECT_TRUE(session.plan(batches)->has_graph());
}

struct Named : Kernel {
  explicit Named(std::string_view tactic) { name = tactic.empty() ? "own" : tactic; }
  void run(const KernelArguments&) const override {}
};

// The tactic "few", and a group as one step, serve four elements at most.
class FewAtATime : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    reason = "there are too many";
    if ((request.tactic == "few" || ops::is_group(request.node)) && request.out().size() > 4) return nullptr;
    return std::make_unique<Named>(request.tactic);
  }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
};

std::vector<std::string> kernels_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const Step& step : plan.steps) names.push_back(step.kernel->name);
  return names;
}

// y = relu(neg(x)); perhaps as a group.
RangedGraph negated(bool as_group) {
  Model model = parse_graph(R"(graph "g" (%x: f32[n]) -> (%y) {
    %m: f32[*] = Neg(%x) version 13 @"m" from ["m"]
    %y: f32[*] = Relu(%m) version 14 @"y" from ["y"]
  })");
  ops::infer_types(*model.graph);
  if (as_group) {
    ops::make_group(*model.graph, {model.graph->nodes()[0].get(), model.graph->nodes()[1].get()}, "pair");
    ops::infer_types(*model.graph);
  }
  return RangedGraph(std::move(model.graph));
}

std::vector<ValueType> of_size(int64_t n) {
  return {ValueType::of(ElementType::kFloat, to_shape(Dims{n}))};
}

// At the sizes of `nodes`; null where another plan is to be made.
std::unique_ptr<ResizablePlan> resized(const std::shared_ptr<const Plan>& plan, const ResizedNodes& nodes,
                                       const Backend& kernels, PackedConstants& packed,
                                       const PlanChoices& choices = {}) {
  auto made = std::make_unique<ResizablePlan>(plan, kernels, packed, choices, nullptr);
  return made->resize(nodes) ? std::move(made) : nullptr;
}

// A tactic that a plan left out because of its sizes is taken again where it serves.
TEST(ResizedPlan, TakesTacticsThatOtherSizesLeftOut) {
  const FewAtATime kernels;
  PackedConstants packed;
  const PlanChoices choices{Layout::kChannelsLast, {{"m", "few"}}};
  const RangedGraph ranged = negated(false);
  const auto many = ranged.at(of_size(8));
  const auto plan = std::make_shared<const Plan>(make_plan(many->graph, kernels, {}, packed, choices));
  EXPECT_EQ(kernels_of(*plan), (std::vector<std::string>{"own", "own"}));
  const auto few = resized(plan, *ranged.resize(*many, of_size(2)), kernels, packed, choices);
  ASSERT_TRUE(few);
  EXPECT_EQ(kernels_of(few->plan()), (std::vector<std::string>{"few", "own"}));
  EXPECT_EQ(few->plan().choices, choices);
}

TEST(ResizedPlan, IsNotMadeWhereAGroupBecomesOneStep) {
  const FewAtATime kernels;
  PackedConstants packed;
  const RangedGraph ranged = negated(true);
  const auto many = ranged.at(of_size(8));
  const auto plan = std::make_shared<const Plan>(make_plan(many->graph, kernels, {}, packed));
  EXPECT_EQ(plan->steps.size(), 2);
  EXPECT_TRUE(resized(plan, *ranged.resize(*many, of_size(9)), kernels, packed));
  EXPECT_FALSE(resized(plan, *ranged.resize(*many, of_size(2)), kernels, packed));
}

// Kernels that did not change are not made again.
TEST(ResizedPlan, KeepsKernelsWhoseSizesStay) {
  const auto engine = compile(decoder());
  Session session(engine);
  const NamedData first = inputs_of(1, 2, 8), longer = inputs_of(1, 2, 9);
  session.run(first);
  session.run(longer);
  const auto before = session.plan(first), after = session.plan(longer);
  ASSERT_FALSE(after->has_graph());
  EXPECT_EQ(after->graph, before->graph);
  std::set<std::string> kept;
  for (size_t i = 0; i < after->steps.size(); ++i) {
    if (after->steps[i].kernel == before->steps[i].kernel) kept.insert(after->steps[i].node->name);
  }
  EXPECT_GT(kept.size(), 3);
  EXPECT_LT(kept.size(), after->steps.size());
}

// A plan that nobody runs any more takes the sizes that come next: as many plans as a session has, and one,
// serve all. With one thread none is made ahead.
TEST(ResizedPlan, IsTheOneBeforeWithOtherSizes) {
  const auto engine = compile(decoder());
  Session session(engine, 1);
  session.run(inputs_of(1, 2, 8));
  std::set<const Plan*> plans;
  std::set<uint64_t> ids;
  for (int64_t past = 9; past < 40; ++past) {
    session.run(inputs_of(1, 2, past));
    const auto plan = session.plan(inputs_of(1, 2, past));
    ASSERT_FALSE(plan->has_graph());
    plans.insert(plan.get());
    ids.insert(plan->id);
  }
  EXPECT_LE(plans.size(), ProgramRun::kMaxExecutions + 1);
  EXPECT_EQ(ids.size(), 31);
}

// A plan that is made ahead of sizes that grow is the one that would be made when they come.
TEST(ResizedPlan, MayBeMadeAhead) {
  const Model model = decoder();
  Session session(compile(model), 2), plain(compile(model), 1);
  for (int64_t past = 8; past < 40; ++past) {
    const NamedData inputs = inputs_of(1, 2, past);
    const auto ahead = session.run(inputs), expected = plain.run(inputs);
    for (const auto& [name, datum] : expected)
      ASSERT_EQ(ahead.at(name).as_tensor().to_doubles(), datum.as_tensor().to_doubles()) << name << past;
  }
}

// One that a session holds stays as it is, whatever others run.
TEST(ResizedPlan, StaysWhileItIsHeld) {
  const auto engine = compile(decoder());
  Session session(engine), other(engine);
  session.run(inputs_of(1, 2, 8));
  const auto held = session.plan(inputs_of(1, 2, 9));
  const std::string before = text_of(*held);
  for (int64_t past = 10; past < 20; ++past) other.run(inputs_of(1, 2, past));
  EXPECT_EQ(text_of(*held), before);
}

// A program forgets plans, and the engine those to begin from; what is made of them lives on.
TEST(ResizedPlan, OutlivesWhatItWasMadeFrom) {
  const Model model = decoder();
  const auto engine = compile(model);
  Session session(engine);
  session.run(inputs_of(1, 2, 8));
  const NamedData inputs = inputs_of(1, 2, 9);
  session.run(inputs);
  const auto kept = session.plan(inputs);
  ASSERT_FALSE(kept->has_graph());
  for (int64_t batch = 2; batch < 40; ++batch) session.run(inputs_of(batch, 2 * batch, 3 * batch));
  EXPECT_NE(session.plan(inputs), kept);
  EXPECT_EQ(text_of(*kept), text_of(*session.plan(inputs)));
}

}  // namespace
}  // namespace vernier
