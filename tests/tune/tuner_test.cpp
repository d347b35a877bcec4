// Tactics are verified before their time counts.
#include "vernier/tune/tuner.h"

#include <gtest/gtest.h>

#include <limits>

#include "vernier/ops/group.h"
#include "vernier/tune/request_key.h"

namespace vernier {
namespace {

// -x after some rounds of work; `offset` more than that.
class Negation : public Kernel {
 public:
  Negation(int64_t count, int work, float offset) : count_(count), work_(work), offset_(offset) {
    name = "negation";
    contract.stored = ElementType::kFloat;
  }
  void run(const KernelArguments& given) const override {
    const auto* from = static_cast<const float*>(given.inputs[0]);
    auto* to = static_cast<float*>(given.outputs[0]);
    for (int round = 0; round < work_; ++round) {
      for (int64_t i = 0; i < count_; ++i) {
        const volatile float x = from[i];
        to[i] = -x + offset_;
      }
    }
  }

 private:
  int64_t count_;
  int work_;
  float offset_;
};

class Negations : public Backend {
 public:
  float own_offset = 0;
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string&) const override {
    ++made;
    const int64_t count = request.out().size();
    if (request.tactic == "fast") return std::make_unique<Negation>(count, 1, 0);
    if (request.tactic == "wrong") return std::make_unique<Negation>(count, 0, 1);
    if (request.tactic == "nan")
      return std::make_unique<Negation>(count, 1, std::numeric_limits<float>::quiet_NaN());
    if (request.tactic == "refused") return nullptr;
    if (request.tactic == "slow") return std::make_unique<Negation>(count, 80, 0);
    return std::make_unique<Negation>(count, 40, own_offset);
  }
  std::vector<std::string> tactics(const KernelRequest&) const override {
    std::vector<std::string> all{"wrong", "nan", "refused", "fast"};
    if (!slow.empty()) all.push_back(slow);
    return all;
  }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
  mutable int made = 0;
  std::string slow;  // a tactic that is right, and slower than all others
};

class TunerTest : public testing::Test {
 protected:
  TunerTest() {
    const ValueType type = ValueType::of(ElementType::kFloat, to_shape(Dims{4000}));
    Value* x = graph_.add_input("x", type);
    auto node = std::make_unique<Node>();
    node->op = "Neg";
    node->version = 13;
    node->name = "n";
    node->provenance = {"n"};
    node->inputs = {x};
    node->outputs = {graph_.add_value("y", type)};
    node_ = graph_.add_node(std::move(node));
  }
  KernelRequest request() const {
    const Operand operand{ElementType::kFloat, {4000}, Layout::kPlain, nullptr};
    return {*node_, {operand}, {operand}};
  }
  std::string choose(TuneOptions options = {}) {
    Tuner tuner(kernels_, cache_, std::move(options));
    std::string chosen = tuner.choose(request());
    if (!tuner.results().empty()) result_ = tuner.results()[0];
    return chosen;
  }

  Graph graph_;
  Node* node_;
  Negations kernels_;
  TimingCache cache_{"here"};
  TuneResult result_;
};

TEST_F(TunerTest, TheFastestOfTheRightOnesIsChosen) {
  EXPECT_EQ(choose(), "fast");
  EXPECT_FALSE(result_.cached);
  EXPECT_NE(result_.records.at("wrong").quarantine, "");
  EXPECT_EQ(result_.records.at("wrong").seconds, 0);  // never timed
  EXPECT_NE(result_.records.at("nan").quarantine, "");
  EXPECT_FALSE(result_.records.contains("refused"));
  EXPECT_GT(result_.records.at("").seconds, result_.records.at("fast").seconds);
}

// Where(flags, x, 0), or x whatever the flags say.
class Choice : public Kernel {
 public:
  explicit Choice(bool reads_flags) : reads_flags_(reads_flags) { contract.stored = ElementType::kFloat; }
  void run(const KernelArguments& given) const override {
    for (int64_t i = 0; i < 40; ++i)
      static_cast<float*>(given.outputs[0])[i] = !reads_flags_ || static_cast<const bool*>(given.inputs[0])[i]
                                                     ? static_cast<const float*>(given.inputs[1])[i]
                                                     : 0;
  }

 private:
  bool reads_flags_;
};

TEST(Trial, FlagsAreDrawnOfBothKinds) {
  const auto of = [](ElementType type) { return ValueType::of(type, to_shape(Dims{40})); };
  Graph graph;
  auto node = std::make_unique<Node>();
  node->op = "Where";
  node->version = 16;
  node->inputs = {graph.add_input("flags", of(ElementType::kBool)),
                  graph.add_input("x", of(ElementType::kFloat)),
                  graph.add_constant("zero", Tensor(ElementType::kFloat, {}))};
  node->outputs = {graph.add_value("y", of(ElementType::kFloat))};
  const Tensor zero(ElementType::kFloat, {});
  const Operand x{ElementType::kFloat, {40}, Layout::kPlain, nullptr};
  KernelRequest request{*node, {x, x, Operand{ElementType::kFloat, {}, Layout::kPlain, &zero}}, {x}};
  request.inputs[0]->element = ElementType::kBool;
  ASSERT_TRUE(can_draw(request));
  const Negations kernels;
  Trial trial(request, kernels);
  EXPECT_EQ(trial.judge(Choice(true)).error, 0);
  EXPECT_EQ(trial.judge(Choice(true)).fault, "");
  EXPECT_GT(trial.judge(Choice(false)).error, 0.1);
  EXPECT_NE(trial.judge(Choice(false)).fault, "");
  request.inputs[0]->element = ElementType::kInt32;
  EXPECT_FALSE(can_draw(request));
}

TEST_F(TunerTest, WhatTheCacheKnowsIsNotTriedAgain) {
  choose();
  const int made = kernels_.made;
  EXPECT_EQ(choose({.level = 1}), "fast");
  EXPECT_EQ(kernels_.made, made);
  EXPECT_TRUE(result_.cached);
}

TEST_F(TunerTest, NearTiesAreWhoseTheyAreSaidToBe) {
  const auto chosen = [&](double seconds, double error, NearTies near_ties) {
    TimingCache::Verdicts verdicts{{"", {.error = 1e-7}}, {"fast", {.error = error}}};
    for (const char* tactic : {"wrong", "nan", "refused"}) verdicts[tactic].refused = true;
    cache_.put(request_key(request()), TimingCache::Times{{"", 1}, {"fast", seconds}});
    cache_.put(request_key(request()), RequestContent().hash(request()), verdicts);
    return Tuner(kernels_, cache_, {.level = 1}).choose(request(), near_ties);
  };
  for (const NearTies near_ties : {NearTies::kOwnChoice, NearTies::kOthers}) {
    EXPECT_EQ(chosen(0.5, 1e-5, near_ties), "fast");
    EXPECT_EQ(chosen(1.2, 1e-7, near_ties), near_ties == NearTies::kOthers ? "fast" : "");
    EXPECT_EQ(chosen(1.2, 1e-5, near_ties), "");  // less exact for nothing
    EXPECT_EQ(chosen(1.4, 1e-7, near_ties), "");
  }
}

TEST_F(TunerTest, WhereEveryKernelIsWrongTheReferenceStands) {
  kernels_.own_offset = 0.001F;
  EXPECT_EQ(choose({.level = 3, .approximate = true, .without = {"fast"}, .only = {}}), kReferenceTactic);
}

TEST_F(TunerTest, OptionsSayWhatMayBeUsed) {
  EXPECT_EQ(choose({.level = 0}), "");
  EXPECT_EQ(choose({.level = 1}), "");  // the cache knows nothing yet
  EXPECT_EQ(kernels_.made, 0);
  EXPECT_EQ(choose({.level = 3, .approximate = true, .without = {"fast"}, .only = {}}), "");
  EXPECT_EQ(choose({.level = 3, .approximate = true, .without = {}, .only = {"fast"}}), "fast");
  EXPECT_EQ(choose({.level = 3, .approximate = true, .without = {}, .only = {"wrong"}}), "");
}

TEST_F(TunerTest, WhatIsForcedIsTakenUnlessItIsWrongOrRefused) {
  const auto forced = [&](const char* tactic) {
    TuneOptions options;
    options.forced = tactic;
    return choose(options);
  };
  kernels_.slow = "slow";
  EXPECT_EQ(forced("slow"), "slow");
  EXPECT_GT(result_.records.at("slow").seconds, result_.records.at("fast").seconds);
  EXPECT_EQ(forced("wrong"), "fast");
  EXPECT_NE(result_.records.at("wrong").quarantine, "");
  EXPECT_EQ(forced("refused"), "fast");
  EXPECT_EQ(forced("unknown"), "fast");
}

// Groups are not computed as one but by a tactic, and then slowly; nodes are, fast and more slowly.
class Apart : public Negations {
 public:
  int together = 400;  // rounds of work
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    if (!ops::is_group(request.node)) return Negations::make(request, reason);
    if (request.tactic != "together") return nullptr;
    return std::make_unique<Copy>(together);
  }
  std::vector<std::string> tactics(const KernelRequest& request) const override {
    return ops::is_group(request.node) ? std::vector<std::string>{"together"}
                                       : std::vector<std::string>{"fast"};
  }

 private:
  // Minus minus x.
  struct Copy : Negation {
    explicit Copy(int work) : Negation(4000, work, 0) {}
    void run(const KernelArguments& given) const override {
      Negation::run(given);
      std::copy_n(static_cast<const float*>(given.inputs[0]), 4000, static_cast<float*>(given.outputs[0]));
    }
  };
};

TEST_F(TunerTest, GroupsAreComputedAsOneWhereThatIsFaster) {
  const ValueType type = node_->outputs[0]->type;
  auto second = std::make_unique<Node>();
  second->op = "Neg";
  second->version = 13;
  second->name = "m";
  second->inputs = {node_->outputs[0]};
  second->outputs = {graph_.add_value("z", type)};
  Node* last = graph_.add_node(std::move(second));
  graph_.outputs = {last->outputs[0]};
  const Node* group = ops::make_group(graph_, {node_, last}, "negations");
  const Operand operand{ElementType::kFloat, {4000}, Layout::kPlain, nullptr};
  const KernelRequest request{*group, {operand}, {operand}};
  const auto choose = [&](int together) {
    Apart kernels;
    kernels.together = together;
    TimingCache cache("here");
    Tuner tuner(kernels, cache, {});
    const std::string chosen = tuner.choose(request);
    EXPECT_EQ(tuner.results().back().records.at("").error, 0);
    EXPECT_EQ(tuner.results().front().chosen, "fast");  // each of its nodes
    return chosen;
  };
  EXPECT_EQ(choose(400), "");
  EXPECT_EQ(choose(0), "together");
}

// x * w, slowly; "clamped" takes weights above 1000 as 1000, and "without-nan" makes 0 of NaN.
class Products : public Backend {
 public:
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string&) const override {
    return std::make_unique<Product>(std::string(request.tactic));
  }
  std::vector<std::string> tactics(const KernelRequest&) const override { return {tactic}; }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
  std::string tactic;

 private:
  struct Product : Kernel {
    explicit Product(std::string chosen) : tactic(std::move(chosen)) {
      contract.computed = contract.stored = ElementType::kFloat;
    }
    void run(const KernelArguments& given) const override {
      const auto* x = static_cast<const float*>(given.inputs[0]);
      float w = *static_cast<const float*>(given.inputs[1]);
      if (tactic == "clamped") w = std::min(w, 1000.0F);
      for (int round = 0; round < (tactic.empty() ? 40 : 1); ++round) {
        for (int64_t i = 0; i < 4000; ++i) {
          const volatile float product = x[i] * w;
          static_cast<float*>(given.outputs[0])[i] =
              tactic == "without-nan" && product != product ? 0 : product;
        }
      }
    }
    std::string tactic;
  };
};

class TunedProducts : public TunerTest {
 protected:
  TunedProducts() {
    node_->op = "Mul";
    node_->version = 14;
    node_->inputs.push_back(graph_.add_constant("w", weight(2)));
  }
  static Tensor weight(float w) { return Tensor::from<float>(ElementType::kFloat, {1}, {w}); }
  // Gives the choice for this weight; result_ is of it.
  std::string choose(const std::string& tactic, float w) {
    products_.tactic = tactic;
    weight_ = weight(w);
    KernelRequest request = this->request();
    request.inputs.emplace_back(Operand{ElementType::kFloat, {1}, Layout::kPlain, &weight_});
    key_ = request_key(request);
    Tuner tuner(products_, cache_, {});
    const std::string chosen = tuner.choose(request);
    result_ = tuner.results().at(0);
    return chosen;
  }
  Products products_;
  Tensor weight_;
  std::string key_;
};

TEST_F(TunedProducts, EqualShapesShareTheirTimesAndNotTheirVerdict) {
  EXPECT_EQ(choose("clamped", 2), "clamped");
  const TuneResult first = result_;
  const std::string key = key_;
  EXPECT_EQ(choose("clamped", 5000), "");
  EXPECT_EQ(key_, key);
  EXPECT_NE(result_.records.at("clamped").quarantine, "");
  EXPECT_EQ(result_.records.at("").seconds, first.records.at("").seconds);
  EXPECT_EQ(choose("clamped", 2), "clamped");  // whose verdict stands
}

TEST_F(TunedProducts, WhatMakesNumbersOfNanIsNotChosen) {
  EXPECT_EQ(choose("without-nan", 2), "");
  EXPECT_NE(result_.records.at("without-nan").quarantine, "");
}

TEST_F(TunerTest, RequestsAreKnownByWhatTheyComputeNotByNames) {
  const std::string key = request_key(request());
  node_->name = node_->outputs[0]->name = "other";
  EXPECT_EQ(request_key(request()), key);
  KernelRequest longer = request();
  longer.inputs[0]->dims = {4001};
  EXPECT_NE(request_key(longer), key);
  KernelRequest laid_out = request();
  laid_out.inputs[0]->layout = Layout::kChannelsLast;
  EXPECT_NE(request_key(laid_out), key);
  node_->attributes["axis"] = Attribute(int64_t{1});
  EXPECT_NE(request_key(request()), key);
}

}  // namespace
}  // namespace vernier
