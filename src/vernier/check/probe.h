// Watches one value over all samples on behalf of one rule. Internal to the room.
#pragma once

#include <memory>
#include <span>

#include "vernier/check/context.h"

namespace vernier {

// Remembers statistics of the elements of a floating-point value.
struct ElementStatistics {
  double largest = 0, smallest = std::numeric_limits<double>::infinity();  // finite magnitudes but zero
  int64_t elements = 0, nan = 0, infinite = 0;

  void add(std::span<const double> values);
};

class Probe {
 public:
  virtual ~Probe() = default;
  virtual void add(const Dims& dims, std::span<const double> values) = 0;
  virtual void conclude(std::vector<Finding>& findings) const = 0;
};

// Probes for what `node` reads: the input that each watches, and the probe.
using InputProbes = std::vector<std::pair<const Value*, std::unique_ptr<Probe>>>;
void add_denominator_probe(const CheckContext& context, const Node& node, InputProbes& probes);
void add_softmax_probe(const CheckContext& context, const Node& node, InputProbes& probes);
void add_normalisation_probe(const CheckContext& context, const Node& node, InputProbes& probes);
void add_quantization_probe(const CheckContext& context, const Node& node, InputProbes& probes);

// Significant binary digits of a type that activations have; 53 for all that are wider than FLOAT.
int significant_bits(ElementType type);

}  // namespace vernier
