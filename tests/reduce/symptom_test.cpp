#include "vernier/reduce/symptom.h"

#include <gtest/gtest.h>

#include <cmath>

namespace vernier {
namespace {

using Kind = Symptom::Kind;

Trace trace_of(const std::vector<double>& values, const std::string& runner) {
  Trace trace;
  trace.runner = runner;
  TraceEntry entry;
  entry.value = "y";
  entry.declared = ElementType::kFloat;
  entry.is_output = true;
  entry.datum = Tensor::from_doubles(ElementType::kFloat, {static_cast<int64_t>(values.size())}, values);
  trace.entries.push_back(std::move(entry));
  return trace;
}

Symptom compared(const std::vector<double>& right, const std::vector<double>& made) {
  return symptom_of(compare(trace_of(right, "reference"), trace_of(made, "engine")), "");
}

Symptom failed(const std::string& message) {
  return symptom_of({}, message);
}

TEST(Symptom, TellsWhatIsWrongWithValues) {
  EXPECT_EQ(compared({1, 2, 3}, {1, 2, 3}).kind, Kind::kNone);
  const Symptom wrong = compared({3, 4}, {3, 4.5});
  EXPECT_EQ(wrong.kind, Kind::kWrong);
  EXPECT_NEAR(wrong.error, 0.1, 1e-6);
  EXPECT_EQ(wrong.outputs, std::vector<std::string>{"y"});
  EXPECT_EQ(compared({3, 4}, {3, NAN}).kind, Kind::kNotFinite);
  EXPECT_EQ(compared({3, 4}, {3, 4, 5}).kind, Kind::kMisshapen);
  EXPECT_EQ(compared({1, 1}, {1e9, 1}).error, 1);
}

TEST(Symptom, AMuchSmallerErrorIsAnother) {
  const Symptom wanted = compared({3, 4}, {3, 5}), same = compared({3, 4}, {3, 4.5}),
                small = compared({3, 4}, {3, 4.01});
  EXPECT_TRUE(is_same_symptom(same, wanted));
  EXPECT_TRUE(is_same_symptom(wanted, small));
  EXPECT_EQ(small.kind, Kind::kWrong);
  EXPECT_FALSE(is_same_symptom(small, wanted));
  EXPECT_FALSE(is_same_symptom(compared({3, 4}, {3, NAN}), wanted));
  EXPECT_FALSE(is_same_symptom({}, wanted));
  EXPECT_FALSE(is_same_symptom({}, {}));
}

TEST(Symptom, FailuresAreTheSameForTheSameReason) {
  const auto same = [](const std::string& a, const std::string& b) {
    return is_same_symptom(failed(a), failed(b));
  };
  const std::string crash =
      "runner 'x', stage run: closed its output without an answer; it was killed by signal 11 (Segmentation "
      "fault)";
  EXPECT_EQ(failed(crash).kind, Kind::kCrash);
  EXPECT_TRUE(same(crash, crash));
  EXPECT_FALSE(same(
      crash,
      "runner 'x', stage run: closed its output without an answer; it was killed by signal 6 (Aborted)"));
  EXPECT_FALSE(same(crash,
                    "runner 'x', stage load: closed its output without an answer; it was killed by signal 11 "
                    "(Segmentation fault)"));
  const std::string hang = "runner 'x', stage run: no answer within 60 s";
  EXPECT_EQ(failed(hang).kind, Kind::kHang);
  EXPECT_TRUE(same(hang, "runner 'x', stage run: no answer within 3 s"));
  EXPECT_FALSE(same(hang, crash));
  EXPECT_EQ(failed("runner 'cpu', stage run: did not end within 3 s").kind, Kind::kHang);
  EXPECT_EQ(failed("runner 'cpu', stage run: crashed: signal 11 (Segmentation fault)").kind, Kind::kCrash);
}

TEST(Symptom, ErrorsAreComparedWithoutNamesAndNumbers) {
  const auto same = [](const std::string& a, const std::string& b) {
    return is_same_symptom(failed(a), failed(b));
  };
  EXPECT_TRUE(same("Non-zero status code returned while running Add node. Name:'add_3' 4 by 5",
                   "Non-zero status code returned while running Add node. Name:'node_1' 7 by 64"));
  EXPECT_FALSE(same("Non-zero status code returned while running Add node. Name:'add_3' 4 by 5",
                    "Could not find an implementation for Softmax(13) node with name 'add_3'"));
}

TEST(Symptom, OneExceptionIsNotAnother) {
  const std::string ended =
      "runner 'x', stage run: closed its output without an answer; it ended with exit status 1; the last it "
      "wrote:\n";
  const auto same = [&](const std::string& a, const std::string& b) {
    return is_same_symptom(failed(ended + a), failed(ended + b));
  };
  EXPECT_TRUE(
      same("  File \"a.py\"\nValueError: sizes of 'x' differ: 3\n", "ValueError: sizes of 'y' differ: 4\n"));
  EXPECT_FALSE(same("ValueError: sizes differ\n", "ModuleNotFoundError: No module named 'numpy'\n"));
}

}  // namespace
}  // namespace vernier
