// B31, B33, B35: windows of convolutions and pools that lie elsewhere, count otherwise, or have other
// borders.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"
#include "vernier/ops/support/nn/window.h"

namespace vernier {

namespace {

using Integers = std::vector<int64_t>;

constexpr size_t kNoWeights = 99;

bool is_pool(const Member& member) {
  return member.is("MaxPool") || member.is("AveragePool") || member.is("LpPool") ||
         member.op() == "QLinearAveragePool";
}

// Which operand the weights are.
size_t weights_of(const Member& member) {
  const std::string& op = member.op();
  if (op == "Conv" || op == "ConvTranspose" || op == "ConvInteger" || op == "FusedConv") return 1;
  return op == "QLinearConv" ? 3 : kNoWeights;
}

// Everything that says where windows lie, by spatial axis, with SAME and what is left out resolved.
struct Windows {
  Integers strides, dilations, begin, end, kernel, input, output;

  void write(Node& node) const {
    Integers pads = begin;
    pads.insert(pads.end(), end.begin(), end.end());
    node.attributes["strides"] = strides;
    node.attributes["pads"] = pads;
    node.attributes.erase("auto_pad");
    if (node.op != "LpPool" || node.version >= 18) node.attributes["dilations"] = dilations;
    if (node.op == "AveragePool" && node.version < 19) node.attributes.erase("dilations");
    if (node.op == "MaxPool" && node.version < 10) node.attributes.erase("dilations");
  }
  // How far windows reach beyond the padding, as they may in ceil_mode.
  int64_t overhang(size_t axis) const {
    const int64_t reach = (output[axis] - 1) * strides[axis] + (kernel[axis] - 1) * dilations[axis] + 1;
    return std::max<int64_t>(0, reach - begin[axis] - input[axis] - end[axis]);
  }
};

Windows windows_of(const Member& member) {
  const size_t rank = member.in(0).dims().size() - 2, weights = weights_of(member);
  const ops::WindowAttributes given = ops::window_attributes(member.node(), rank);
  const Dims& x = member.in(0).dims();
  Windows windows{given.strides, given.dilations, given.pads_begin, given.pads_end, {}, {}, {}};
  windows.input.assign(x.begin() + 2, x.end());
  if (weights == kNoWeights) {
    windows.kernel = member.node().attribute<Integers>("kernel_shape", {});
  } else {
    const Dims& w = member.in(weights).dims();
    windows.kernel.assign(w.begin() + 2, w.end());
  }
  if (windows.kernel.size() != rank) throw unsupported("a kernel of {} axes", windows.kernel.size());
  if (member.is("ConvTranspose")) return windows;
  const ops::WindowAxes axes = ops::window_axes(given, windows.input, windows.kernel);
  for (size_t i = 0; i < rank; ++i) {
    windows.begin[i] = axes[i].pad_begin;
    windows.end[i] = axes[i].pad_end;
    windows.output.push_back(axes[i].output);
  }
  return windows;
}

bool differ(const Integers& values, int64_t from) {
  return std::any_of(values.begin(), values.end(), [&](int64_t value) { return value != from; });
}

Windows without_padding(Windows windows) {
  std::fill(windows.begin.begin(), windows.begin.end(), 0);
  std::fill(windows.end.begin(), windows.end.end(), 0);
  return windows;
}

class Placement {
 public:
  Placement(Variations variations, Windows windows) : variations_(variations), windows_(std::move(windows)) {}

  void propose() const {
    if (differ(windows_.strides, 1))
      add("the stride is taken for 1, and what is too much is cut off",
          [](Windows& changed) { std::fill(changed.strides.begin(), changed.strides.end(), 1); });
    if (differ(windows_.dilations, 1))
      add("the dilation is taken for 1",
          [](Windows& changed) { std::fill(changed.dilations.begin(), changed.dilations.end(), 1); });
    if (differ(windows_.dilations, 1))
      add("the dilation is taken for 1, and windows keep their middles", [](Windows& changed) {
        for (size_t axis = 0; axis < changed.dilations.size(); ++axis) {
          const int64_t nearer = (changed.dilations[axis] - 1) * (changed.kernel[axis] - 1) / 2;
          changed.begin[axis] -= nearer;
          changed.end[axis] -= nearer;
          changed.dilations[axis] = 1;
        }
      });
    if (windows_.strides.size() == 2 && windows_.strides[0] != windows_.strides[1])
      add("the strides of rows and columns are exchanged",
          [](Windows& changed) { std::swap(changed.strides[0], changed.strides[1]); });
    propose_pads();
    for (const int64_t by : {1, -1}) propose_shift(by);
    propose_opposite_shifts();
  }

  void add(std::string what, const std::function<void(Windows&)>& change) const {
    Windows changed = windows_;
    change(changed);
    variations_.add_node(std::move(what), [changed](Node& node) { changed.write(node); });
  }

 private:
  void propose_pads() const {
    if (differ(windows_.begin, 0) || differ(windows_.end, 0)) {
      add("there is no padding", [](Windows& changed) { changed = without_padding(changed); });
    }
    if (windows_.begin != windows_.end)
      add("the padding of begin and end is exchanged",
          [](Windows& changed) { std::swap(changed.begin, changed.end); });
    if (windows_.begin.size() == 2 &&
        (windows_.begin[0] != windows_.begin[1] || windows_.end[0] != windows_.end[1])) {
      add("the padding of rows and columns is exchanged", [](Windows& changed) {
        std::swap(changed.begin[0], changed.begin[1]);
        std::swap(changed.end[0], changed.end[1]);
      });
      add("the pads are read pair by pair, begin and end of each axis",
          [](Windows& changed) { std::swap(changed.begin[1], changed.end[0]); });
    }
  }

  // Proposes a shift of all axes, then of each one. A pad that cannot be less is an input that lies
  // elsewhere.
  void propose_shift(int64_t by) const {
    const size_t rank = windows_.strides.size();
    const char* where = by > 0 ? "late" : "early";
    for (size_t only = 0; only <= rank && (only == 0 || rank > 1); ++only) {
      const auto moves = [only](size_t axis) { return only == 0 || only == axis + 1; };
      const std::string which = only == 0 ? "" : fmt::format(" along axis {}", only + 1);
      const auto shift = [=](Windows& changed) {
        for (size_t axis = 0; axis < rank; ++axis) {
          changed.begin[axis] -= moves(axis) ? by : 0;
          changed.end[axis] += moves(axis) ? by : 0;
        }
      };
      add(fmt::format("windows begin one element too {}{}", where, which), shift);
      variations_.add_operand(
          fmt::format("windows begin one element too {}{}, and read zeros beyond the end", where, which), 0,
          [=](const Tensor& x) {
            Tensor moved = x;
            for (size_t axis = 0; axis < rank; ++axis) {
              if (moves(axis)) moved = shifted(moved, axis + 2, by);
            }
            return moved;
          });
    }
  }

  // By one element along some axes, and by one the other way along others.
  void propose_opposite_shifts() const {
    const size_t rank = windows_.strides.size();
    int64_t ways = 1;
    for (size_t axis = 0; axis < rank; ++axis) ways *= 3;
    for (int64_t way = 0; way < ways; ++way) {
      Integers by;
      for (int64_t rest = way; by.size() < rank; rest /= 3) by.push_back(rest % 3 - 1);
      if (std::count(by.begin(), by.end(), 1) == 0 || std::count(by.begin(), by.end(), -1) == 0) continue;
      add(fmt::format("windows lie {} elements from where they should", fmt::join(by, ", ")),
          [&](Windows& changed) {
            for (size_t axis = 0; axis < rank; ++axis) {
              changed.begin[axis] -= by[axis];
              changed.end[axis] += by[axis];
            }
          });
    }
  }

  Variations variations_;
  Windows windows_;
};

// Which element of an axis of that size lies at an index, which may be outside.
using Border = int64_t (*)(int64_t index, int64_t size);

// The padding is there, as elements of the input, so that every window is whole: zeros, or what `border`
// says.
Tensor padded(const Tensor& x, const Windows& windows, Border border = nullptr) {
  Tensor result = x;
  for (size_t axis = 0; axis < windows.begin.size(); ++axis) {
    Integers indices;
    const int64_t size = windows.input[axis], end = size + windows.end[axis] + windows.overhang(axis);
    for (int64_t i = -windows.begin[axis]; i < end; ++i)
      indices.push_back(border == nullptr ? i : border(i, size));
    result = taken(result, axis + 2, indices);
  }
  return result;
}

void propose_borders(const Variations& convolution, const Windows& windows) {
  if (!differ(windows.begin, 0) && !differ(windows.end, 0)) return;
  const auto add = [&](const char* what, Border border) {
    convolution.add(what, [&member = convolution.member(), windows, border] {
      Tensors inputs = member.inputs();
      inputs[0] = padded(inputs[0], windows, border);
      return member.changed([&](Node& node) { without_padding(windows).write(node); }, std::move(inputs));
    });
  };
  add("the border repeats the outermost elements",
      [](int64_t index, int64_t size) { return std::clamp<int64_t>(index, 0, size - 1); });
  add("the border mirrors what lies within", [](int64_t index, int64_t size) {
    return index < 0 ? -index : index < size ? index : 2 * (size - 1) - index;
  });
  add("the border is what lies at the other end",
      [](int64_t index, int64_t size) { return (index % size + size) % size; });
}

void propose_counts(const Variations& pool, const Windows& windows) {
  const Member& member = pool.member();
  const auto flip = [&](const char* what, const char* attribute) {
    const int64_t other = ops::integer_attribute(member.node(), attribute) == 0 ? 1 : 0;
    pool.add_node(what, [=](Node& node) { node.attributes[attribute] = other; });
  };
  flip("ceil_mode is read the other way", "ceil_mode");
  if (member.is("AveragePool")) flip("count_include_pad is read the other way", "count_include_pad");
  const Windows whole = without_padding(windows);
  const char* what = member.is("MaxPool")
                         ? "the padding is taken for zeros"
                         : "every window is divided by the whole kernel, whatever it reaches";
  pool.add(what, [&member, windows, whole] {
    Tensors inputs = member.inputs();
    inputs[0] = padded(inputs[0], windows);
    return member.changed(
        [&](Node& node) {
          whole.write(node);
          node.attributes.erase("ceil_mode");
        },
        std::move(inputs));
  });
  if (member.is("LpPool")) {
    for (const int64_t p : {1, 2})
      pool.add_node(fmt::format("p is {}", p), [p](Node& node) { node.attributes["p"] = p; });
  }
  if (!member.is("MaxPool")) return;
  flip("indices count columns first", "storage_order");
  const auto without_nan = [](const Tensor& x) {
    return mapped(
        x, [](double value) { return std::isnan(value) ? -std::numeric_limits<double>::infinity() : value; });
  };
  pool.add_operand("NaN is no element of a window", 0, without_nan);
  pool.add("NaN is no element of a window that has others", [&member, without_nan] {
    Tensors results = member.with_input(0, without_nan(member.in(0)));
    results[0] = mapped(results[0], [](double value) { return std::isinf(value) ? std::nan("") : value; });
    return results;
  });
}

void propose_transposed(const Variations& transposed, const Windows& windows) {
  const auto& node = transposed.member().node();
  const auto padding = node.attribute<Integers>("output_padding", {});
  const auto lose = [](Node& changed) { changed.attributes.erase("output_padding"); };
  if (!differ(padding, 0)) return;
  transposed.add_node("output_padding is lost", lose);
  Windows moved = windows;
  for (size_t axis = 0; axis < padding.size(); ++axis) moved.begin[axis] -= padding[axis];
  transposed.add_node("output_padding is at the begin instead of the end", [=](Node& changed) {
    lose(changed);
    moved.write(changed);
  });
}

}  // namespace

void propose_windows(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                     std::vector<Proposal>& proposals) {
  const size_t weights = weights_of(member);
  const bool pools = is_pool(member), transposed = member.is("ConvTranspose");
  if ((!pools && weights == kNoWeights) || member.in(0).rank() < 3) return;
  const Variations variations(member, flagged, pools ? 33 : transposed ? 35 : 31, proposals);
  const Windows windows = windows_of(member);
  const bool placed_by_size =
      transposed &&
      (member.node().find_attribute("output_shape") != nullptr ||
       ops::window_attributes(member.node(), windows.strides.size()).auto_pad != ops::AutoPad::kNotSet);
  if (!placed_by_size) Placement(variations, windows).propose();
  if (pools) return propose_counts(variations, windows);
  if (!transposed) propose_borders(variations, windows);
  if (transposed && !placed_by_size) propose_transposed(variations, windows);
}

}  // namespace vernier
