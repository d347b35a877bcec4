// B31, and the classes of pools, normalisations and corners of integers: an attribute has another value than
// the node says, whether it is given or not.
#include <cmath>

#include "vernier/diagnose/causes/distance.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

struct Flag {
  const char *op, *attribute;
  std::vector<int64_t> values;
  int failure = 31;
};

// Whole numbers that are choices.
const std::vector<Flag> kFlags = {
    {"LpNormalization", "p", {1, 2}, 35},
    {"LpPool", "p", {1, 2, 3}, 33},
    {"GlobalLpPool", "p", {1, 2, 3}, 33},
    {"LRN", "size", {1, 3, 5, 7}, 35},
    {"Trilu", "upper", {0, 1}},
    {"EyeLike", "k", {-2, -1, 0, 1, 2}},
    {"TopK", "largest", {0, 1}, 40},
    {"Mod", "fmod", {0, 1}, 37},
    {"IsInf", "detect_negative", {0, 1}, 37},
    {"IsInf", "detect_positive", {0, 1}, 37},
    {"HannWindow", "periodic", {0, 1}},
    {"HammingWindow", "periodic", {0, 1}},
    {"BlackmanWindow", "periodic", {0, 1}},
    {"DFT", "inverse", {0, 1}},
    {"RotaryEmbedding", "interleaved", {0, 1}},
    {"Attention", "is_causal", {0, 1}, 38},
    {"Unique", "sorted", {0, 1}, 40},
    {"ReverseSequence", "time_axis", {0, 1}},
    {"ReverseSequence", "batch_axis", {0, 1}},
};

struct Text {
  const char *op, *attribute;
  std::vector<const char*> values;
  int failure = 31;
};

const std::vector<Text> kTexts = {
    {"BitShift", "direction", {"LEFT", "RIGHT"}, 37},
    {"Gelu", "approximate", {"none", "tanh"}},
};

// Numbers that results follow from, each with others that kernels have built in.
struct Real {
  const char *op, *attribute;
  std::vector<float> usual;
  int failure = 31;
};

const std::vector<Real> kReals = {
    {"Elu", "alpha", {1}},
    {"Celu", "alpha", {1}},
    {"Selu", "alpha", {1, 1.6732F}},
    {"Selu", "gamma", {1, 1.0507F}},
    {"HardSigmoid", "alpha", {0.2F, 1.0F / 6, 0.25F}},
    {"HardSigmoid", "beta", {0, 0.5F}},
    {"LeakyRelu", "alpha", {0, 0.01F, 0.1F, 0.2F}},
    {"ThresholdedRelu", "alpha", {0, 1}},
    {"Shrink", "bias", {0, 0.5F}},
    {"Shrink", "lambd", {0, 0.5F, 1}},
    {"Swish", "alpha", {1, 1.702F}},
    {"LRN", "alpha", {1e-4F}, 35},
    {"LRN", "beta", {0.5F, 0.75F, 1}, 35},
    {"LRN", "bias", {0, 1, 2}, 35},
    {"Attention", "softcap", {0}},
};

void set_flag(const Variations& variations, const Flag& flag) {
  const Node& node = variations.member().node();
  const Attribute* given = node.find_attribute(flag.attribute);
  for (const int64_t value : flag.values) {
    if (given != nullptr && given->get<int64_t>() == value) continue;
    variations.add_node(fmt::format("its attribute '{}' is taken for {}", flag.attribute, value),
                        [name = flag.attribute, value](Node& changed) { changed.attributes[name] = value; });
  }
}

// The number with which the node comes nearest to what was made, between two that are beside each other among
// some that are tried: the golden section.
std::optional<double> fitted(const Member& member, const char* attribute, const Tensor& made) {
  constexpr double kTried[] = {-2, -1, -0.5, 0, 0.1, 0.25, 0.5, 1, 2, 4, 8};
  const auto left = [&](double value) {
    const Tensors results =
        member.changed([&](Node& node) { node.attributes[attribute] = static_cast<float>(value); });
    return bounded_distance({results.at(0)}, {made}, {member.out()});
  };
  constexpr size_t kCount = std::size(kTried);
  size_t best = 0;
  double least = HUGE_VAL;
  for (size_t i = 0; i < kCount; ++i) {
    if (const double each = left(kTried[i]); each < least) least = each, best = i;
  }
  if (!std::isfinite(least)) return std::nullopt;
  double low = kTried[best == 0 ? 0 : best - 1], high = kTried[std::min(best + 1, kCount - 1)];
  constexpr double kSection = 0.6180339887498949;
  constexpr int kSteps = 32;
  for (int step = 0; step < kSteps; ++step) {
    const double a = high - kSection * (high - low), b = low + kSection * (high - low);
    if (left(a) < left(b))
      high = b;
    else
      low = a;
  }
  return (low + high) / 2;
}

void set_real(const Variations& variations, const FlaggedNode& flagged, const Real& real) {
  constexpr int64_t kMost = 1 << 18;
  const Member& member = variations.member();
  const double given = static_cast<double>(ops::real_attribute(member.node(), real.attribute));
  for (const float value : real.usual) {
    if (static_cast<double>(value) != given)
      variations.add_node(
          fmt::format("its attribute '{}' is {:.4g} instead of {:.4g}", real.attribute, value, given),
          [name = real.attribute, value](Node& node) { node.attributes[name] = value; });
  }
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr || made->size() > kMost || member.input_count() > 1) return;
  variations.add(
      fmt::format("its attribute '{}' is another number than {:.4g}", real.attribute, given),
      [&member, made, name = real.attribute] {
        const auto value = fitted(member, name, *made);
        if (!value) throw unsupported("no number comes near");
        return member.changed([&](Node& node) { node.attributes[name] = static_cast<float>(*value); });
      },
      kFittedNumber);
}

// Both constants at once, as the other frameworks have them.
void set_hard_sigmoid(const Variations& variations) {
  for (const auto& [alpha, beta] : {std::pair(1.0F / 6, 0.5F), {0.2F, 0.5F}, {0.25F, 0.5F}, {0.5F, 0.5F}})
    variations.add_node(fmt::format("its constants are {:.4g} and {:.4g}", alpha, beta),
                        [alpha = alpha, beta = beta](Node& node) {
                          node.attributes["alpha"] = alpha;
                          node.attributes["beta"] = beta;
                        });
}

// A threshold that is subtracted, held, or compared with magnitudes.
void use_threshold_otherwise(const Variations& variations) {
  const Member& member = variations.member();
  const auto threshold = static_cast<double>(ops::real_attribute(member.node(), "alpha"));
  const auto add = [&](const char* what, double (*of)(double x, double threshold)) {
    variations.add(what, [&member, of, threshold] {
      return Tensors{mapped(member.in(0), [=](double x) { return of(x, threshold); })};
    });
  };
  add("magnitudes are compared with its threshold",
      [](double x, double threshold) { return std::abs(x) > threshold ? x : 0; });
  if (threshold == 0) return;
  add("what is above its threshold is less by it",
      [](double x, double threshold) { return x > threshold ? x - threshold : 0; });
  add("what is below its threshold becomes the threshold",
      [](double x, double threshold) { return std::max(x, threshold); });
}

}  // namespace

void propose_attribute_values(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                              std::vector<Proposal>& proposals) {
  for (const Flag& flag : kFlags) {
    if (member.is(flag.op)) set_flag(Variations(member, flagged, flag.failure, proposals), flag);
  }
  for (const Text& text : kTexts) {
    if (!member.is(text.op)) continue;
    for (const char* value : text.values) {
      if (member.node().attribute<std::string>(text.attribute, {}) != value)
        Variations(member, flagged, text.failure, proposals)
            .add_node(
                fmt::format("its attribute '{}' is taken for '{}'", text.attribute, value),
                [name = text.attribute, value](Node& node) { node.attributes[name] = std::string(value); });
    }
  }
  for (const Real& real : kReals) {
    if (member.is(real.op)) set_real(Variations(member, flagged, real.failure, proposals), flagged, real);
  }
  if (member.is("HardSigmoid")) set_hard_sigmoid(Variations(member, flagged, 31, proposals));
  if (member.is("ThresholdedRelu")) use_threshold_otherwise(Variations(member, flagged, 31, proposals));
}

}  // namespace vernier
