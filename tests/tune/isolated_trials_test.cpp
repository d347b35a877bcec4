// A tactic that ends or stops the process is in quarantine when trials are isolated, and the build goes on.
#include <gmock/gmock.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "vernier/base/thread_limit.h"
#include "vernier/base/threads.h"
#include "vernier/ops/group.h"
#include "vernier/tune/request_key.h"
#include "vernier/tune/tuner.h"

namespace vernier {
namespace {

using testing::HasSubstr;

constexpr int64_t kCount = 400;

[[noreturn]] void hang() {
  for (;;) ::pause();
}

// -x, before which something else may happen.
class Negation : public Kernel {
 public:
  explicit Negation(std::function<void()> before) : before_(std::move(before)) {
    name = "negation";
    contract.stored = ElementType::kFloat;
  }
  void run(const KernelArguments& given) const override {
    if (before_) before_();
    for (int64_t i = 0; i < kCount; ++i)
      static_cast<float*>(given.outputs[0])[i] = -static_cast<const float*>(given.inputs[0])[i];
  }

 private:
  std::function<void()> before_;
};

bool memory_is_damaged = false;

// Says what the kernels of a tactic do before they compute.
std::map<std::string, std::function<void()>> deeds() {
  return {{"sound", nullptr},
          {"slow", [] { ::usleep(2000); }},
          {"segmentation", [] { std::raise(SIGSEGV); }},
          {"instruction", [] { std::raise(SIGILL); }},
          {"division", [] { std::raise(SIGFPE); }},
          {"abort", [] { std::abort(); }},
          {"exit", [] { ::_exit(3); }},
          {"killed", [] { std::raise(SIGKILL); }},
          {"memory", [] { throw std::bad_alloc(); }},
          {"error", [] { throw unsupported("nobody can").at_node("n"); }},
          {"hang", hang},
          {"hangs-later",
           [] {
             static int runs = 0;
             if (++runs > 4) hang();  // two runs are judged, the others timed
           }},
          {"damages", [] { memory_is_damaged = true; }},
          {"victim", [] {
             if (memory_is_damaged) std::raise(SIGSEGV);
           }}};
}

class Deeds : public Backend {
 public:
  std::vector<std::string> offered;
  std::string own = "slow";
  std::unique_ptr<Kernel> make(const KernelRequest& request, std::string& reason) const override {
    reason = "refused";
    ++made;
    if (request.tactic == "crash-in-making") std::raise(SIGSEGV);
    if (ops::is_group(request.node) && request.tactic.empty()) return nullptr;
    return std::make_unique<Negation>(deeds().at(request.tactic.empty() ? own : std::string(request.tactic)));
  }
  std::vector<std::string> tactics(const KernelRequest& request) const override {
    return ops::is_group(request.node) ? std::vector<std::string>{"segmentation"} : offered;
  }
  void choose_layouts(KernelRequest&) const override {}
  std::unique_ptr<Kernel> reorder(const Operand&, Layout) const override { return nullptr; }
  mutable int made = 0;  // in this process
};

class IsolatedTrials : public testing::Test {
 protected:
  IsolatedTrials() {
    options_.isolate = true;
    options_.step_seconds = 0.5;
    Value* x = graph_.add_input("x", type());
    node_ = add(x, "y");
  }
  ~IsolatedTrials() override {
    EXPECT_TRUE(::waitpid(-1, nullptr, WNOHANG) < 0 && errno == ECHILD) << "there is a child left";
  }
  static ValueType type() { return ValueType::of(ElementType::kFloat, to_shape(Dims{kCount})); }
  Node* add(Value* from, const char* to) {
    auto node = std::make_unique<Node>();
    node->op = "Neg";
    node->version = 13;
    node->name = to;
    node->provenance = {to};
    node->inputs = {from};
    node->outputs = {graph_.add_value(to, type())};
    return graph_.add_node(std::move(node));
  }
  static KernelRequest request(const Node& node) {
    const Operand operand{ElementType::kFloat, {kCount}, Layout::kPlain, nullptr};
    return {node, {operand}, {operand}};
  }
  std::string choose(std::vector<std::string> tactics) {
    kernels_.offered = std::move(tactics);
    Tuner tuner(kernels_, cache_, options_);
    std::string chosen = tuner.choose(request(*node_));
    result_ = tuner.results().at(0);
    return chosen;
  }
  std::string quarantine(const std::string& tactic) { return result_.records.at(tactic).quarantine; }

  Graph graph_;
  Node* node_;
  Deeds kernels_;
  TimingCache cache_{"here"};
  TuneOptions options_;
  TuneResult result_;
};

TEST_F(IsolatedTrials, FindWhatTrialsInTheProcessFind) {
  EXPECT_EQ(choose({"sound"}), "sound");
  EXPECT_EQ(kernels_.made, 0);  // not in this process
  EXPECT_EQ(quarantine("sound"), "");
  EXPECT_GT(result_.records.at("").seconds, 1e-3);
  EXPECT_LT(result_.records.at("sound").seconds, 1e-3);
  EXPECT_GT(result_.records.at("sound").seconds, 0);
  EXPECT_THAT(result_.nodes, testing::ElementsAre("y"));
}

TEST_F(IsolatedTrials, WhatEndsTheProcessIsInQuarantine) {
  EXPECT_EQ(choose({"segmentation", "instruction", "division", "abort", "exit", "killed", "memory",
                    "crash-in-making", "sound"}),
            "sound");
  EXPECT_EQ(quarantine("segmentation"), "crashed: signal 11 (Segmentation fault), in its trial");
  EXPECT_EQ(quarantine("crash-in-making"), quarantine("segmentation"));
  EXPECT_EQ(quarantine("instruction"), "crashed: signal 4 (Illegal instruction), in its trial");
  EXPECT_EQ(quarantine("division"), "crashed: signal 8 (Floating point exception), in its trial");
  EXPECT_EQ(quarantine("abort"), "crashed: signal 6 (Aborted), in its trial");
  EXPECT_EQ(quarantine("exit"), "ended the process with exit status 3, in its trial");
  EXPECT_THAT(quarantine("killed"), HasSubstr("was killed: signal 9 (Killed)"));
  EXPECT_EQ(quarantine("memory"), "ran out of memory, in its trial");
  EXPECT_EQ(quarantine(""), "");
  EXPECT_EQ(quarantine("sound"), "");
}

TEST_F(IsolatedTrials, WhatHangsIsInQuarantine) {
  EXPECT_EQ(choose({"hang", "sound"}), "sound");
  EXPECT_EQ(quarantine("hang"), "did not end within 0.5 s, in its trial");
}

TEST_F(IsolatedTrials, WhatHangsOnlyWhenItIsTimedIsInQuarantine) {
  EXPECT_EQ(choose({"hangs-later", "sound"}), "sound");
  EXPECT_EQ(quarantine("hangs-later"), "did not end within 0.5 s, while it was timed");
  EXPECT_GT(result_.records.at("sound").seconds, 0);
}

TEST_F(IsolatedTrials, VerdictsAreKeptInTheCache) {
  choose({"segmentation", "sound"});
  options_.isolate = false;  // it would end this process if it was tried again
  EXPECT_EQ(choose({"segmentation", "sound"}), "sound");
  EXPECT_TRUE(result_.cached);
  EXPECT_THAT(quarantine("segmentation"), HasSubstr("crashed"));
}

TEST_F(IsolatedTrials, NobodyAnswersForWhatAnotherDid) {
  EXPECT_EQ(choose({"damages", "victim", "segmentation"}).empty(), false);
  EXPECT_EQ(quarantine("victim"), "");
  EXPECT_EQ(quarantine("damages"), "");
  EXPECT_NE(quarantine("segmentation"), "");
}

TEST_F(IsolatedTrials, WhereNothingEndsWellTheReferenceStands) {
  kernels_.own = "abort";
  EXPECT_EQ(choose({"segmentation"}), kReferenceTactic);
  EXPECT_THAT(quarantine(""), HasSubstr("crashed: signal 6"));
}

TEST_F(IsolatedTrials, ErrorsAreThrownAsInTheProcess) {
  try {
    choose({"error"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
    EXPECT_EQ(error.message(), "nobody can");
    EXPECT_EQ(error.node(), "n");
  }
}

// Threads that the parent has made are not in the child.
TEST_F(IsolatedTrials, ComeAfterTheThreadsOfTheParent) {
  std::atomic<int> visits = 0;
  parallel_for(64, 1, [&](int64_t begin, int64_t end) { visits += static_cast<int>(end - begin); });
  EXPECT_EQ(choose({"segmentation", "sound"}), "sound");
  EXPECT_EQ(visits, 64);
}

TEST_F(IsolatedTrials, RunWithTheNumberOfThreadsOfTheCaller) {
  const ThreadLimit limit(3);
  struct Asks : Deeds {
    std::unique_ptr<Kernel> make(const KernelRequest&, std::string&) const override {
      return std::make_unique<Negation>([] {
        if (thread_count() != 3) ::_exit(9);
      });
    }
  } kernels;
  kernels.offered = {"sound"};
  Tuner tuner(kernels, cache_, options_);
  tuner.choose(request(*node_));
  EXPECT_EQ(tuner.results().at(0).records.at("").quarantine, "");
}

// The parent finds, and keeps, the tactics of the nodes of a group.
TEST_F(IsolatedTrials, GroupsThatRunAsTheirNodes) {
  Node* last = add(node_->outputs[0], "z");
  graph_.outputs = {last->outputs[0]};
  const Node* group = ops::make_group(graph_, {node_, last}, "negations");
  kernels_.offered = {"sound", "abort"};
  Tuner tuner(kernels_, cache_, options_);
  EXPECT_EQ(tuner.choose(request(*group)), "");
  ASSERT_EQ(tuner.results().size(), 3U);
  EXPECT_EQ(tuner.results()[0].chosen, "sound");
  EXPECT_EQ(tuner.results()[1].chosen, "sound");
  EXPECT_THAT(tuner.results()[0].records.at("abort").quarantine, HasSubstr("crashed"));
  EXPECT_EQ(tuner.results()[2].records.at("").quarantine, "");
  EXPECT_THAT(tuner.results()[2].records.at("segmentation").quarantine, HasSubstr("crashed"));
}

using TrialsInTheProcess = IsolatedTrials;

TEST_F(TrialsInTheProcess, EndItWithTheTactic) {
  options_.isolate = false;
  EXPECT_EXIT(
      choose({"segmentation"}), [](int status) { return WIFSIGNALED(status) || WEXITSTATUS(status) != 0; },
      "");
}

}  // namespace
}  // namespace vernier
