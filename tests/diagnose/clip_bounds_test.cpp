// Bounds of a Clip that are lost, exchanged, or those from before.
#include "diagnose/planted_fault.h"

namespace vernier {
namespace {

std::string clip() {
  return of_floats("%x: f32[4, 8], %low: f32[], %high: f32[]", "Clip(%x, %low, %high) version 13");
}

FaultyEngine reads_bounds(double low, double high) {
  return [=](const Model& model, const NamedData& data) {
    NamedData other = data;
    other["low"] = floats({}, {low});
    other["high"] = floats({}, {high});
    return outputs_of(model, other);
  };
}

const NamedData kBounds{{"low", floats({}, {-0.2})}, {"high", floats({}, {0.3})}};

const std::vector<PlantedFault> kClipFaults = {
    {"UpperLost", "B32", clip(), reads_bounds(-0.2, 1e6), kBounds},
    {"LowerLost", "B32", clip(), reads_bounds(-1e6, 0.3), kBounds},
    {"FromBefore", "B32", clip(), reads_bounds(-0.6, 0.9), kBounds},
};

VERNIER_PLANTED(ClipFaults, kClipFaults);

}  // namespace
}  // namespace vernier
