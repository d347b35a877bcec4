// Undoes what a caller can do wrong with inputs and outputs, verified by feeding what is right.
#include <algorithm>

#include "vernier/diagnose/repairs/candidate.h"

namespace vernier {

namespace {

using Places =
    std::function<std::vector<size_t>(const Dims& dims)>;  // of each element, where it is taken from

Tensor moved(const Tensor& tensor, const Places& places) {
  const auto from = tensor.to_doubles();
  const auto at = places(tensor.dims());
  std::vector<double> to(from.size());
  for (size_t i = 0; i < to.size(); ++i) to[i] = from[at[i]];
  return Tensor::from_doubles(tensor.type(), tensor.dims(), to);
}

// The tensor as rows of `outer` blocks of [a, b, inner] elements: read as [b, a], the two axes turned.
std::vector<size_t> turned(size_t outer, size_t a, size_t b) {
  std::vector<size_t> places;
  for (size_t o = 0; o < outer; ++o) {
    for (size_t i = 0; i < a; ++i) {
      for (size_t j = 0; j < b; ++j) places.push_back(o * a * b + j * a + i);
    }
  }
  return places;
}

size_t product(const Dims& dims, size_t first, size_t last) {
  size_t result = 1;
  for (size_t i = first; i < last; ++i) result *= static_cast<size_t>(dims[i]);
  return result;
}

// Memory that holds height, width, channel, for an engine that reads channel, height, width; and the other
// way round.
std::vector<size_t> channels_behind(const Dims& dims) {
  return turned(product(dims, 0, 1), static_cast<size_t>(dims.at(1)), product(dims, 2, dims.size()));
}
std::vector<size_t> channels_before(const Dims& dims) {
  return turned(product(dims, 0, 1), product(dims, 1, dims.size() - 1), static_cast<size_t>(dims.back()));
}
std::vector<size_t> last_axes_turned(const Dims& dims) {
  const size_t rank = dims.size();
  return turned(product(dims, 0, rank - 2), static_cast<size_t>(dims[rank - 2]),
                static_cast<size_t>(dims[rank - 1]));
}

Places reversed(bool last) {
  return [last](const Dims& dims) {
    const size_t axis = last ? dims.size() - 1 : 1;
    const size_t inner = product(dims, axis + 1, dims.size()), length = static_cast<size_t>(dims[axis]);
    std::vector<size_t> places(product(dims, 0, dims.size()));
    for (size_t i = 0; i < places.size(); ++i) {
      const size_t at = i / inner % length;
      places[i] = i - at * inner + (length - 1 - at) * inner;
    }
    return places;
  };
}

void add_moved(const RepairContext& context, const std::string& input,
               std::vector<RepairCandidate>& candidates) {
  const auto given = context.inputs.find(input);
  constexpr int64_t kImage = 3;
  if (given == context.inputs.end() || !given->second.is_tensor() || given->second.tensor.rank() < 2) return;
  const bool is_image = given->second.tensor.rank() >= kImage;
  struct Order {
    const char *name, *sentence;
    Places places;
    bool of_images;
  };
  const Order orders[] = {
      {"channels-reversed", "give the channels of '{}' in the other order (RGB, BGR)", reversed(false), true},
      {"last-axis-reversed", "give the last axis of '{}' in the other order (RGB, BGR)", reversed(true),
       true},
      {"channels-first", "give '{}' in memory as channel, height, width", channels_behind, true},
      {"channels-last", "give '{}' in memory as height, width, channel", channels_before, true},
      {"contiguous", "give '{}' contiguous, and not a transposed view", last_axes_turned, false},
  };
  for (const Order& order : orders) {
    if (order.of_images && !is_image) continue;
    RepairCandidate candidate{Repair::Kind::kCaller, order.name,
                              fmt::format(fmt::runtime(order.sentence), input)};
    candidate.inputs = [input, places = order.places](const NamedData& inputs) {
      NamedData changed = inputs;
      Datum& datum = changed.at(input);
      datum = moved(datum.tensor, places);
      return changed;
    };
    candidates.push_back(std::move(candidate));
  }
}

void add_scaled(const RepairContext& context, const std::string& input,
                std::vector<RepairCandidate>& candidates) {
  const auto given = context.inputs.find(input);
  if (given == context.inputs.end() || !given->second.is_tensor() || !is_float(given->second.tensor.type()))
    return;
  constexpr double kByte = 255;
  struct Factor {
    const char *name, *sentence;
    double factor;
  };
  for (const Factor& each :
       {Factor{"pixels-to-255", "give '{}' 255 times as large: it is divided twice", kByte},
        Factor{"pixels-to-1", "give '{}' divided by 255", 1 / kByte}}) {
    RepairCandidate candidate{Repair::Kind::kCaller, each.name,
                              fmt::format(fmt::runtime(each.sentence), input)};
    candidate.inputs = [input, factor = each.factor](const NamedData& inputs) {
      NamedData changed = inputs;
      Tensor& tensor = changed.at(input).tensor;
      auto values = tensor.to_doubles();
      for (double& value : values) value *= factor;
      tensor = Tensor::from_doubles(tensor.type(), tensor.dims(), values);
      return changed;
    };
    candidates.push_back(std::move(candidate));
  }
}

void add_exchanged(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  if (context.values.size() < 2) return;
  const std::string a = context.values[0], b = context.values[1];
  if (context.inputs.contains(a) && context.inputs.contains(b)) {
    RepairCandidate candidate{Repair::Kind::kCaller, "inputs-exchanged",
                              fmt::format("bind '{}' and '{}' the other way round", a, b)};
    candidate.inputs = [a, b](const NamedData& inputs) {
      NamedData changed = inputs;
      std::swap(changed.at(a), changed.at(b));
      return changed;
    };
    candidates.push_back(std::move(candidate));
    return;
  }
  RepairCandidate candidate{Repair::Kind::kCaller, "outputs-exchanged",
                            fmt::format("read '{}' and '{}' the other way round", a, b)};
  candidate.outputs = [a, b](Trace& trace) {
    for (TraceEntry& entry : trace.entries) {
      if (entry.value == a || entry.value == b) entry.value = entry.value == a ? b : a;
    }
  };
  candidates.push_back(std::move(candidate));
}

}  // namespace

void correct_caller(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  if (context.failure.code() != "B48" || !context.nodes.empty()) return;
  add_exchanged(context, candidates);
  for (const std::string& value : context.values) {
    add_moved(context, value, candidates);
    add_scaled(context, value, candidates);
  }
}

}  // namespace vernier
