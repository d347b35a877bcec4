#pragma once

#include "vernier/engine/engine.h"

namespace vernier {

// Runs per second of `sessions` sessions of one engine, each in a thread of its own, for about `seconds`.
// Throws what a session throws.
double throughput(const std::shared_ptr<const Engine>& engine, const NamedData& inputs, size_t sessions,
                  double seconds);

}  // namespace vernier
