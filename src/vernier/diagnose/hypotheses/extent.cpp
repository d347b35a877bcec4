#include "vernier/diagnose/hypotheses/extent.h"

#include <fmt/format.h>

#include <algorithm>

namespace vernier {

namespace {

// Counts along one axis, by index, how many elements are wrong, and how many would be others.
struct Counts {
  std::vector<int64_t> wrong, changes;
};

Counts counts_along(const Dims& dims, size_t axis, const std::vector<bool>& wrong,
                    const std::vector<bool>& changes) {
  int64_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= dims[i];
  const auto length = static_cast<size_t>(dims[axis]);
  Counts counts{std::vector<int64_t>(length, 0), std::vector<int64_t>(length, 0)};
  for (size_t i = 0; i < wrong.size(); ++i) {
    const size_t index = i / static_cast<size_t>(inner) % length;
    counts.wrong[index] += wrong[i] ? 1 : 0;
    counts.changes[index] += wrong[i] || changes[i] ? 1 : 0;
  }
  return counts;
}

constexpr double kNearlyAll = 0.7, kMost = 0.9;

std::optional<CausePart> along(const Dims& dims, size_t axis, const std::vector<bool>& wrong,
                               const std::vector<bool>& changes) {
  const Counts counts = counts_along(dims, axis, wrong, changes);
  CausePart extent{axis, {}, dims[axis], {}};
  int64_t inside = 0, of = 0, outside = 0;
  for (int64_t i = 0; i < dims[axis]; ++i) {
    const auto at = static_cast<size_t>(i);
    if (counts.wrong[at] == 0) {
      outside += counts.changes[at];
      continue;
    }
    extent.indices.push_back(i);
    inside += counts.wrong[at];
    of += counts.changes[at];
  }
  const bool is_part = static_cast<double>(extent.indices.size()) <= kMost * static_cast<double>(dims[axis]);
  if (!is_part || outside == 0 || static_cast<double>(inside) < kNearlyAll * static_cast<double>(of))
    return std::nullopt;
  return extent;
}

std::optional<CausePart> at_end(const std::vector<bool>& wrong, const std::vector<bool>& changes) {
  const auto first = static_cast<size_t>(std::find(wrong.begin(), wrong.end(), true) - wrong.begin());
  const size_t size = wrong.size();
  if (first == 0 || static_cast<double>(size - first) > kMost * static_cast<double>(size))
    return std::nullopt;
  int64_t inside = 0, of = 0;
  for (size_t i = first; i < size; ++i) {
    inside += wrong[i] ? 1 : 0;
    of += wrong[i] || changes[i] ? 1 : 0;
  }
  if (static_cast<double>(inside) < kNearlyAll * static_cast<double>(of)) return std::nullopt;
  CausePart extent{std::nullopt, {}, static_cast<int64_t>(size), {}};
  for (size_t i = first; i < size; ++i) extent.indices.push_back(static_cast<int64_t>(i));
  return extent;
}

}  // namespace

size_t CausePart::count() const {
  return static_cast<size_t>(std::count(wrong.begin(), wrong.end(), true));
}

std::string CausePart::text() const {
  const bool is_end = indices.back() + 1 == of && indices.back() - indices.front() + 1 == std::ssize(indices);
  if (!axis) return fmt::format("the last {} of {} elements", indices.size(), of);
  return fmt::format("{}{} of {} places along axis {}", is_end ? "the last " : "", indices.size(), of, *axis);
}

std::optional<CausePart> extent_of(const Dims& dims, const std::vector<bool>& wrong,
                                   const std::vector<bool>& changes) {
  if (std::none_of(wrong.begin(), wrong.end(), [](bool each) { return each; })) return std::nullopt;
  std::optional<CausePart> best;
  double least = 1;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    if (dims[axis] < 2) continue;
    auto found = along(dims, axis, wrong, changes);
    const double share =
        found ? static_cast<double>(found->indices.size()) / static_cast<double>(dims[axis]) : 1;
    if (share >= least) continue;
    least = share;
    best = std::move(found);
  }
  if (!best) best = at_end(wrong, changes);
  if (best) best->wrong = wrong;
  return best;
}

bool may_be_part(const Dims& dims, const std::vector<bool>& wrong) {
  const auto first = std::find(wrong.begin(), wrong.end(), true) - wrong.begin();
  if (first == std::ssize(wrong)) return false;
  if (static_cast<double>(first) >= (1 - kMost) * static_cast<double>(wrong.size())) return true;
  for (size_t axis = 0; axis < dims.size(); ++axis) {
    const auto counts = counts_along(dims, axis, wrong, wrong).wrong;
    if (std::find(counts.begin(), counts.end(), 0) != counts.end()) return true;
  }
  return false;
}

}  // namespace vernier
