// B39: what is taken is there in what it is taken from, but at other indices than these; what is written
// stands at other places. The indices are read off the result, so whatever goes wrong with them is met.
#include <algorithm>
#include <map>

#include "vernier/diagnose/hypotheses/operators/variations.h"
#include "vernier/ops/attribute_defaults.h"

namespace vernier {

namespace {

constexpr int kClass = 39;
constexpr double kReadOff = 0.1;  // as many numbers are fitted as there are indices
constexpr int64_t kMost = 1 << 24;

using Slices = std::vector<std::vector<double>>;

// By index along an axis.
Slices slices_along(const Tensor& tensor, size_t axis) {
  const Dims& dims = tensor.dims();
  const auto count = static_cast<size_t>(dims[axis]);
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  const auto values = tensor.to_doubles();
  Slices slices(count);
  for (size_t i = 0; i < values.size(); ++i) slices[i / inner % count].push_back(values[i]);
  return slices;
}

bool is_zero(const std::vector<double>& slice) {
  return std::all_of(slice.begin(), slice.end(), [](double value) { return value == 0; });
}

// Where each slice is found among the others, the one that is right first of all; -1 for zeros that are
// nowhere. Nothing if more than that is nowhere.
std::optional<std::vector<int64_t>> found_in(const Slices& others, const Slices& slices,
                                             const std::vector<int64_t>& right) {
  std::map<std::vector<double>, int64_t> places;
  for (size_t i = others.size(); i-- > 0;) places[others[i]] = static_cast<int64_t>(i);
  std::vector<int64_t> found;
  size_t nowhere = 0;
  for (size_t i = 0; i < slices.size(); ++i) {
    const int64_t own = i < right.size() ? right[i] : -1;
    if (own >= 0 && own < static_cast<int64_t>(others.size()) &&
        others[static_cast<size_t>(own)] == slices[i]) {
      found.push_back(own);
      continue;
    }
    const auto place = places.find(slices[i]);
    if (place == places.end() && !is_zero(slices[i])) return std::nullopt;
    nowhere += place == places.end() ? 1 : 0;
    found.push_back(place == places.end() ? -1 : place->second);
  }
  return 2 * nowhere < slices.size() ? std::optional(found) : std::nullopt;
}

// Gives what the engine made in place of the first result, if that can be looked through.
const Tensor* few_in_place(const Member& member, const FlaggedNode& flagged) {
  const Tensor& read = member.in(0);
  const Tensor* made = made_in_place(member, 0, flagged);
  if (made == nullptr || made->size() == 0 || made->size() > kMost || read.rank() == 0 || read.size() > kMost)
    return nullptr;
  return made;
}

std::vector<int64_t> counted_from_begin(const Tensor& indices, int64_t bound) {
  auto result = indices.to_ints();
  for (int64_t& index : result) index += index < 0 ? bound : 0;
  return result;
}

void propose_gathered(const Variations& variations, const Tensor& made) {
  const Member& member = variations.member();
  const size_t axis = axis_of(ops::integer_attribute(member.node(), "axis"), member.in(0));
  variations.add(
      "it takes others of the elements along its axis than its indices say",
      [&member, &made, axis] {
        const Tensor& data = member.in(0);
        Dims flat = data.dims();
        flat[axis] = member.in(1).size();
        const auto found = found_in(slices_along(data, axis), slices_along(made.reshaped(flat), axis),
                                    counted_from_begin(member.in(1), data.dims()[axis]));
        if (!found) throw unsupported("what it made is not in what it reads");
        return Tensors{taken(data, axis, *found).reshaped(member.out().dims())};
      },
      kReadOff);
}

// Along the one axis that it cuts.
void propose_cut(const Variations& variations, const Tensor& made) {
  const Member& member = variations.member();
  const Dims &from = member.in(0).dims(), &to = made.dims();
  std::vector<size_t> cut;
  for (size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != to.at(axis)) cut.push_back(axis);
  }
  if (cut.size() != 1) return;
  variations.add(
      "it takes others of the elements along the axis that it cuts",
      [&member, &made, axis = cut[0]] {
        const auto found = found_in(slices_along(member.in(0), axis), slices_along(made, axis), {});
        if (!found) throw unsupported("what it made is not in what it reads");
        return Tensors{taken(member.in(0), axis, *found)};
      },
      kReadOff);
}

void propose_scattered(const Variations& variations, const Tensor& made) {
  const Member& member = variations.member();
  variations.add(
      "updates are written to other places than its indices say",
      [&member, &made] {
        const auto depth = static_cast<size_t>(member.in(1).dims().back());
        const Dims& dims = member.in(0).dims();
        int64_t rows = 1;
        for (size_t i = 0; i < depth; ++i) rows *= dims[i];
        const int64_t size = rows == 0 ? 0 : made.size() / rows;
        if (size == 0) throw unsupported("there is nothing to write");
        const Slices before = slices_along(member.in(0).reshaped({rows, size}), 0),
                     after = slices_along(made.reshaped({rows, size}), 0),
                     updates = slices_along(member.in(2).reshaped({member.in(2).size() / size, size}), 0);
        const std::set<std::vector<double>> known(updates.begin(), updates.end());
        for (size_t row = 0; row < after.size(); ++row) {
          if (after[row] != before[row] && !known.contains(after[row]))
            throw unsupported("what it made is neither an update nor what was there");
        }
        return Tensors{Tensor::from_doubles(member.out().type(), dims, made.to_doubles())};
      },
      kReadOff);
}

}  // namespace

void propose_other_rows(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                        std::vector<Proposal>& proposals) {
  const bool gathers = member.is("Gather"), cuts = member.is("Slice"), writes = member.is("ScatterND");
  if (!gathers && !cuts && !writes) return;
  const Tensor* made = few_in_place(member, flagged);
  if (made == nullptr) return;
  const Variations variations(member, flagged, kClass, proposals);
  if (gathers) propose_gathered(variations, *made);
  if (cuts) propose_cut(variations, *made);
  if (writes && ops::text_attribute(member.node(), "reduction") == "none")
    propose_scattered(variations, *made);
}

}  // namespace vernier
