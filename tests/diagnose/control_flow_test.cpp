// Loops that run once more or less, branches that are not taken, masks that are ignored.
#include <cmath>

#include "diagnose/planted_fault.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"

namespace vernier {
namespace {

// It adds what is around it to x until that is no longer below a bound, and collects what it had.
const std::string kLoop = R"(graph "g" (%x: f32[4], %w: f32[4], %most: i64[]) -> (%y, %all) {
  const %yes = bool[] hex"01"
  %step: f32[*] = Mul(%w, %w) version 14 @"m" from ["m"]
  %y: f32[*], %all: f32[*] = Loop(%most, %yes, %x) version 16 @"n" from ["n"] regions {
    body = graph "body" (%i: i64[], %c: bool[], %v: f32[4]) -> (%c, %next, %v) {
      %next: f32[*] = Add(%v, %step) version 14 @"a" from ["a"]
    }
  }
})";

// A number of trips that the engine takes in place of three.
FaultyEngine takes(int64_t trips, bool again) {
  return [=](const Model& model, const NamedData& data) {
    NamedData other = data;
    other["most"] = Tensor::scalar(trips);
    Tensors made = outputs_of(model, other);
    if (again) made[1] = taken(made[1], 0, {0, 1, 1});
    return made;
  };
}

const std::string kIf = R"(graph "g" (%x: f32[4], %w: f32[4], %c: bool[]) -> (%y) {
  %y: f32[*] = If(%c) version 16 @"n" from ["n"] regions {
    then_branch = graph "then" () -> (%a) {
      %a: f32[*] = Add(%x, %w) version 14 @"add" from ["add"]
    }
    else_branch = graph "else" () -> (%b) {
      %b: f32[*] = Mul(%x, %w) version 14 @"mul" from ["mul"]
    }
  }
})";

const std::string kScan = R"(graph "g" (%s: f32[2], %x: f32[5, 2]) -> (%y, %all) {
  %y: f32[*], %all: f32[*] = Scan(%s, %x) {num_scan_inputs = 1} version 16 @"n" from ["n"] regions {
    body = graph "body" (%v: f32[2], %e: f32[2]) -> (%next, %next) {
      %half: f32[*] = Mul(%v, %v) version 14 @"h" from ["h"]
      %next: f32[*] = Add(%half, %e) version 14 @"a" from ["a"]
    }
  }
})";

// It adds w to x until the sum is no longer below ten: with the first states in every trip it would never
// end.
const std::string kWhile = R"(graph "g" (%x: f32[2], %w: f32[2]) -> (%y) {
  const %yes = bool[] hex"01"
  const %ten = f32[] hex"00002041"
  %y: f32[*] = Loop(_, %yes, %x) version 16 @"n" from ["n"] regions {
    body = graph "body" (%i: i64[], %c: bool[], %v: f32[2]) -> (%below, %next) {
      %next: f32[*] = Add(%v, %w) version 14 @"a" from ["a"]
      %sum: f32[*] = ReduceSum(%next) {keepdims = 0} version 13 @"s" from ["s"]
      %below: bool[*] = Less(%sum, %ten) version 13 @"l" from ["l"]
    }
  }
})";
const NamedData kSmallSteps{{"x", floats({2}, {0, 0})}, {"w", floats({2}, {1, 2})}};

const std::string kIfInside = R"(graph "g" (%x: f32[4], %w: f32[4], %c: bool[], %d: bool[]) -> (%y) {
  %y: f32[*] = If(%c) version 16 @"n" from ["n"] regions {
    then_branch = graph "then" () -> (%a) {
      %a: f32[*] = If(%d) version 16 @"inner" from ["inner"] regions {
        then_branch = graph "deep" () -> (%p) {
          %p: f32[*] = Add(%x, %w) version 14 @"add" from ["add"]
        }
        else_branch = graph "deeper" () -> (%q) {
          %q: f32[*] = Mul(%x, %w) version 14 @"mul" from ["mul"]
        }
      }
    }
    else_branch = graph "else" () -> (%b) {
      %b: f32[*] = Sub(%x, %w) version 14 @"sub" from ["sub"]
    }
  }
})";

const NamedData kThree{{"most", Tensor::scalar(3)}};

const std::vector<PlantedFault> kFlowFaults = {
    {"OneMore", "B41", kLoop, takes(4, false), kThree},
    {"OneFewer", "B41", kLoop, takes(2, false), kThree},
    {"OneFewerAgain", "B41", kLoop, takes(2, true), kThree},
    {"None", "B41", kLoop, takes(0, false), kThree},
    {"OtherBranch",
     "B41",
     kIf,
     runs(of_floats("%x: f32[4], %w: f32[4], %c: bool[]", "Mul(%x, %w) version 14")),
     {{"c", Tensor::from<bool>(ElementType::kBool, {}, {true})}}},
    {"OneMoreWhile", "B41", kWhile,
     [](const Model&, const NamedData&) {
       return Tensors{floats({2}, {5, 10})};
     },
     kSmallSteps},
    {"BranchInside",
     "B41",
     kIfInside,
     runs(of_floats("%x: f32[4], %w: f32[4], %c: bool[], %d: bool[]", "Mul(%x, %w) version 14")),
     {{"c", Tensor::from<bool>(ElementType::kBool, {}, {true})},
      {"d", Tensor::from<bool>(ElementType::kBool, {}, {true})}}},
    {"ScanBackwards", "B41", kScan,
     [](const Model& model, const NamedData& data) {
       NamedData other = data;
       other["x"] = reversed(data.at("x").tensor, 0);
       return outputs_of(model, other);
     }},
};
TEST(FlowFaults, AreFound) {
  for (const PlantedFault& fault : kFlowFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

// ---- Masks

std::string masked(const char* op) {
  return of_floats("%x: f32[2, 6], %m: f32[2, 6]", std::string(op) + "(%x, %m) version 14");
}

constexpr double kLowest = -3.4028234663852886e38;

Tensor mask(double excluded, double kept) {
  const double a = kept, b = excluded;
  return floats({2, 6}, {a, a, a, b, b, b, a, a, a, a, a, b});
}

const std::vector<PlantedFault> kMaskFaults = {
    {"Ignored",
     "B38",
     masked("Add"),
     [](const Model&, const NamedData& data) { return Tensors{data.at("x").tensor}; },
     {{"m", mask(kLowest, 0)}}},
    {"FactorIgnored",
     "B38",
     masked("Mul"),
     [](const Model&, const NamedData& data) { return Tensors{data.at("x").tensor}; },
     {{"m", mask(0, 1)}}},
    {"SentinelInHalf",
     "B6",
     masked("Add"),
     reads("m",
           [](const Tensor& m) { return mapped(m, [](double value) { return std::max(value, -65504.0); }); }),
     {{"m", mask(-1e5, 0)}}},
    {"SentinelInfinite",
     "B6",
     masked("Add"),
     reads("m",
           [](const Tensor& m) { return mapped(m, [](double value) { return value < 0 ? -HUGE_VAL : 0; }); }),
     {{"m", mask(-1e9, 0)}}},
    {"PaddedSoftmax", "B38", of_floats("%x: f32[3, 6]", "Softmax(%x) {axis = 1} version 13"),
     [](const Model&, const NamedData& data) {
       auto values = data.at("x").tensor.to_doubles();
       for (size_t row = 0; row < values.size(); row += 6) {
         double sum = 2;  // of the exponentials of two zeros
         for (size_t i = 0; i < 6; ++i) sum += std::exp(values[row + i]);
         for (size_t i = 0; i < 6; ++i) values[row + i] = std::exp(values[row + i]) / sum;
       }
       return Tensors{floats({3, 6}, values)};
     }},
    {"PaddedMean", "B38", of_floats("%x: f32[3, 6]", "ReduceMean(%x) {axes = ints[1]} version 13"),
     writes([](const Tensor& y) { return mapped(y, [](double value) { return value * 6 / 8; }); })},
    {"StaleSizes", "B38", of_integers("%x: f32[3, 6]", "Shape(%x) version 15"),
     [](const Model&, const NamedData&) {
       return Tensors{integers({2}, {5, 6})};
     }},
};
TEST(MaskFaults, AreFound) {
  for (const PlantedFault& fault : kMaskFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

}  // namespace
}  // namespace vernier
