// B35: a normalisation whose statistics are those of other elements: other groups of channels, other axes,
// the batch, other neighbours, or not all of a row.
#include <cmath>

#include "vernier/diagnose/hypotheses/operators/normalized.h"
#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 35, kTail = 42;

class Groups {
 public:
  Groups(const Variations& variations, const Dims& dims) : variations_(variations), dims_(dims) {}

  void add(const std::string& what, const std::function<size_t(size_t element)>& group) const {
    const Member& member = variations_.member();
    variations_.add(fmt::format("its statistics are those of {}", what), [&member, group] {
      Grouping grouping;
      grouping.group.resize(static_cast<size_t>(member.in(0).size()));
      for (size_t i = 0; i < grouping.group.size(); ++i) grouping.group[i] = group(i);
      return normalised(member, grouping, [&member](double value, const Statistics& row) {
        return right_rule(member, value, row);
      });
    });
  }

  // All elements that differ in these axes alone are normalised as one.
  void add_axes(const std::set<size_t>& axes) const {
    const std::string what = fmt::format("axes {}", fmt::join(axes, ", "));
    add(what, [dims = dims_, axes](size_t element) {
      size_t group = 0, factor = 1;
      for (size_t axis = dims.size(); axis-- > 0;) {
        const auto length = static_cast<size_t>(dims[axis]);
        if (!axes.contains(axis)) {
          group += element % length * factor;
          factor *= length;
        }
        element /= length;
      }
      return group;
    });
  }

  // As GroupNormalization has them, of neighbouring channels or of every so many.
  void add_channels(size_t given) const {
    const auto channels = static_cast<size_t>(dims_.at(1));
    size_t inner = 1;
    for (size_t i = 2; i < dims_.size(); ++i) inner *= static_cast<size_t>(dims_[i]);
    for (size_t groups = 1; groups <= channels; ++groups) {
      if (channels % groups != 0) continue;
      const auto by = [&](const char* how, const std::function<size_t(size_t channel)>& of) {
        add(fmt::format("{} groups of {}", groups, how), [=](size_t element) {
          return element / inner / channels * groups + of(element / inner % channels);
        });
      };
      const size_t each = channels / groups;
      if (groups != given) by("neighbouring channels", [each](size_t channel) { return channel / each; });
      if (groups > 1 && each > 1)
        by("every so many channels", [groups](size_t channel) { return channel % groups; });
    }
  }

 private:
  const Variations& variations_;
  Dims dims_;
};

// As of a kernel that goes through a row in tiles, and leaves out the last one that is not whole.
void propose_tails(const Variations& variations) {
  const Member& member = variations.member();
  const Grouping right = right_grouping(member);
  const auto length = static_cast<size_t>(std::count(right.group.begin(), right.group.end(), 0));
  std::set<size_t> ends;
  for (size_t tile = 2; tile <= 256; tile *= 2) ends.insert(length - length % tile);
  for (const size_t end : ends) {
    if (end == 0 || end == length) continue;
    variations.add(fmt::format("its statistics are those of the first {} of {} elements", end, length),
                   [&member, end, length] {
                     Grouping grouping = right_grouping(member);
                     for (size_t i = 0; i < grouping.group.size(); ++i)
                       grouping.counts.push_back(i % length < end);
                     return normalised(member, grouping, [&member](double value, const Statistics& row) {
                       return right_rule(member, value, row);
                     });
                   });
  }
}

// LRN, whose sum of squares is that of other channels: so many before, and so many behind.
Tensor with_window(const Member& member, int64_t before, int64_t behind) {
  const Node& node = member.node();
  const Dims& dims = member.in(0).dims();
  const auto size = static_cast<double>(ops::integer_attribute(node, "size"));
  const auto alpha = static_cast<double>(ops::real_attribute(node, "alpha")) / size,
             beta = static_cast<double>(ops::real_attribute(node, "beta")),
             bias = static_cast<double>(ops::real_attribute(node, "bias"));
  const auto x = member.in(0).to_doubles();
  std::vector<double> sums(x.size(), bias);
  for (int64_t by = -before; by <= behind; ++by) {
    const auto other = shifted(member.in(0), 1, by).to_doubles();
    for (size_t i = 0; i < x.size(); ++i) sums[i] += alpha * other[i] * other[i];
  }
  for (size_t i = 0; i < x.size(); ++i) sums[i] = x[i] / std::pow(sums[i], beta);
  return Tensor::from_doubles(member.out().type(), dims, sums);
}

void propose_neighbours(const Variations& variations) {
  const Member& member = variations.member();
  const int64_t size = ops::integer_attribute(member.node(), "size");
  // An even size reaches one channel farther behind than before.
  const int64_t before = (size - 1) / 2;
  for (const int64_t other : std::set<int64_t>{before - 1, before + 1, 0, size - 1}) {
    if (other < 0 || other == before || other >= size) continue;
    const int64_t behind = size - 1 - other;
    variations.add(fmt::format("its sums are those of {} channels before and {} behind", other, behind),
                   [&member, other, behind] { return Tensors{with_window(member, other, behind)}; });
  }
}

std::set<size_t> axes_from(size_t first, size_t rank) {
  std::set<size_t> axes;
  for (size_t axis = first; axis < rank; ++axis) axes.insert(axis);
  return axes;
}

// Proposes axes that begin elsewhere, and each axis alone.
void propose_other_axes(const Groups& groups, const std::set<size_t>& given, size_t rank) {
  std::set<std::set<size_t>> others;
  for (size_t axis = 0; axis < rank; ++axis) {
    others.insert(axes_from(axis, rank));
    others.insert({axis});
    if (axis > 0) others.insert(axes_from(0, axis));
    std::set<size_t> without = axes_from(0, rank);
    without.erase(axis);
    others.insert(without);
  }
  for (const auto& axes : others) {
    if (axes != given && !axes.empty()) groups.add_axes(axes);
  }
}

}  // namespace

void propose_normalized_groups(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                               std::vector<Proposal>& proposals) {
  const Variations variations(member, flagged, kClass, proposals);
  const Dims& dims = member.inputs().empty() || !member.has(0) ? Dims() : member.in(0).dims();
  const Groups groups(variations, dims);
  if (member.is("BatchNormalization")) {
    groups.add_axes(axes_from(2, dims.size()));
    return;
  }
  if (member.is("LRN")) return propose_neighbours(variations);
  if (!normalises_rows(member)) return;
  propose_tails(variations.of(kTail));
  if (member.is("LayerNormalization") || member.is("RMSNormalization")) {
    const size_t first = axis_of(ops::integer_attribute(member.node(), "axis"), member.in(0));
    return propose_other_axes(groups, axes_from(first, dims.size()), dims.size());
  }
  const bool grouped = member.is("GroupNormalization");
  groups.add_channels(grouped ? static_cast<size_t>(ops::integer_attribute(member.node(), "num_groups"))
                              : static_cast<size_t>(dims.at(1)));
  propose_other_axes(groups, grouped ? std::set<size_t>() : axes_from(2, dims.size()), dims.size());
}

}  // namespace vernier
