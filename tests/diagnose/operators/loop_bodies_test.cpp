// Loops and Scans whose bodies are wrong in every trip, or that run any other number of times.
#include "diagnose/planted_fault.h"

namespace vernier {
namespace {

const std::string kScan = R"(graph "g" (%s: f32[2], %x: f32[5, 2]) -> (%y, %all) {
  %y: f32[*], %all: f32[*] = Scan(%s, %x) {num_scan_inputs = 1} version 16 @"n" from ["n"] regions {
    body = graph "body" (%v: f32[2], %e: f32[2]) -> (%next, %next) {
      %half: f32[*] = Mul(%v, %v) version 14 @"h" from ["h"]
      %sum: f32[*] = Add(%half, %e) version 14 @"a" from ["a"]
      %next: f32[*] = Tanh(%sum) version 13 @"t" from ["t"]
    }
  }
})";

// Two states, the first of which becomes the second.
const std::string kLoop = R"(graph "g" (%x: f32[4], %w: f32[4], %most: i64[]) -> (%y, %z) {
  %y: f32[*], %z: f32[*] = Loop(%most, _, %x, %w) version 16 @"n" from ["n"] regions {
    body = graph "body" (%i: i64[], %c: bool[], %a: f32[4], %b: f32[4]) -> (%c, %p, %q) {
      %number: f32[*] = Cast(%i) {to = 1} version 13 @"k" from ["k"]
      %angle: f32[*] = Add(%b, %number) version 14 @"l" from ["l"]
      %p: f32[*] = Sin(%angle) version 7 @"s" from ["s"]
      %q: f32[*] = Sub(%p, %a) version 14 @"d" from ["d"]
    }
  }
})";

const NamedData kFour{{"most", Tensor::scalar(int64_t{4})}};

std::string with(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

FaultyEngine takes(int64_t trips) {
  return [trips](const Model& model, const NamedData& data) {
    NamedData other = data;
    other["most"] = Tensor::scalar(trips);
    return outputs_of(model, other);
  };
}

PlantedFault in_scan(const char* name, const char* failure, const std::string& from, const std::string& to) {
  return {name, failure, kScan, runs(with(kScan, from, to))};
}

PlantedFault in_loop(const char* name, const char* failure, const std::string& from, const std::string& to) {
  return {name, failure, kLoop, runs(with(kLoop, from, to)), kFour};
}

const std::vector<PlantedFault> kFaults = {
    in_scan("OtherOperator", "B31", "Add(%half, %e)", "Sub(%half, %e)"),
    in_scan("OtherFunction", "B31", "Tanh(%sum) version 13", "Sigmoid(%sum) version 13"),
    in_scan("FirstStateOfAll", "B41", "Mul(%v, %v)", "Mul(%v, %s)"),
    in_scan("StateIsNotCarried", "B41", "-> (%next, %next)", "-> (%v, %next)"),
    in_scan("CollectsTheStateBefore", "B41", "-> (%next, %next)", "-> (%next, %v)"),
    in_loop("OneStateIsNotCarried", "B41", "-> (%c, %p, %q)", "-> (%c, %p, %b)"),
    in_loop("StatesAreExchanged", "B41", "-> (%c, %p, %q)", "-> (%c, %q, %p)"),
    in_loop("ReadsTheOtherState", "B41", "Add(%b, %number)", "Add(%a, %number)"),
    {"TripsCountFromOne", "B41", kLoop,
     runs(with(with(kLoop, "-> (%y, %z) {", "-> (%y, %z) {\n  const %one = i64[] hex\"0100000000000000\""),
               "%number: f32[*] = Cast(%i)",
               "%later: i64[*] = Add(%i, %one) version 14 @\"o\" from [\"o\"]\n      %number: f32[*] = "
               "Cast(%later)")),
     kFour},
    {"ManyMore", "B41", kLoop, takes(7), kFour},
    {"FarFewer", "B41", kLoop, takes(2), kFour},
};

TEST(LoopBodies, FaultsAreFound) {
  for (const PlantedFault& fault : kFaults) {
    SCOPED_TRACE(fault.name);
    expect_found(fault);
    expect_nothing_in_noise(fault);
  }
}

}  // namespace
}  // namespace vernier
