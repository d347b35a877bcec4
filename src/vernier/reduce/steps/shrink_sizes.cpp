#include <algorithm>
#include <map>

#include "vernier/reduce/steps/extent.h"
#include "vernier/reduce/steps/steps.h"

namespace vernier {

namespace {

using Extents = std::vector<Extent>;

// Which extents have to change together is not asked of operators: sets of those that are equal, or
// multiples, are tried, and inference says which of them make a valid model.
class SizeShrinking {
 public:
  explicit SizeShrinking(Shrinking& shrinking) : shrinking_(shrinking) {}

  void run() {
    constexpr int kMostRounds = 4;
    for (int round = 0; round < kMostRounds; ++round) {
      if (!shrink_once()) return;
    }
  }

 private:
  bool shrink_once() {
    bool is_smaller = false;
    const Extents all = extents_of(shrinking_.best());
    for (const Extent& base : all) {
      if (shrinking_.is_over()) break;
      if (base.kind != Extent::Kind::kEntry && is_there(base)) is_smaller |= shrink(base);
    }
    return is_smaller;
  }

  static auto key(const Extent& extent) {
    return std::tuple(extent.kind, extent.name, extent.attribute, extent.index);
  }

  // Whether nothing that was kept since has changed it.
  bool is_there(const Extent& extent) const {
    const Extents now = extents_of(shrinking_.best());
    return std::any_of(now.begin(), now.end(), [&](const Extent& each) {
      return key(each) == key(extent) && each.size == extent.size;
    });
  }

  bool shrink(const Extent& base) {
    for (const int64_t to : {int64_t{1}, int64_t{2}, base.size / 4, base.size / 2}) {
      if (to < 1 || to >= base.size) continue;
      for (const Extents& set : valid_sets(base, to)) {
        if (offer(set, base.size, to)) return true;
      }
    }
    return false;
  }

  // The first elements, or, where values are wrong, the last: not all need be.
  bool offer(const Extents& set, int64_t from, int64_t to) {
    if (shrinking_.is_over() || !is_new(set, to)) return false;
    if (shrinking_.offer(resized(set, from, to, 0))) return true;
    const auto kind = shrinking_.wanted().kind;
    const bool depends_on_values = kind == Symptom::Kind::kWrong || kind == Symptom::Kind::kNotFinite;
    return depends_on_values && shrinking_.offer(resized(set, from, to, from - to));
  }

  bool is_new(const Extents& set, int64_t to) {
    std::string text = std::to_string(to);
    for (const Extent& each : set)
      text += fmt::format(" {} {} {} {} {}", static_cast<int>(each.kind), each.name, each.attribute,
                          each.index, each.size);
    return tried_.insert(text).second;
  }

  ReproCase resized(const Extents& set, int64_t from, int64_t to, int64_t first) const {
    ReproCase candidate = copy(shrinking_.best());
    for (const Extent& extent : set) resize(candidate, extent, from, to, first);
    return candidate;
  }

  bool is_valid(const Extents& set, int64_t from, int64_t to) const {
    try {
      ReproCase candidate = resized(set, from, to, 0);
      return settle(candidate);
    } catch (const Error&) {
      return false;
    }
  }

  // At most a few, the largest first: all that are equal, with or without multiples; then as few as will do.
  std::vector<Extents> valid_sets(const Extent& base, int64_t to) const {
    Extents equal, multiples;
    for (const Extent& each : extents_of(shrinking_.best())) {
      if (key(each) == key(base)) continue;
      if (each.size == base.size)
        equal.push_back(each);
      else if (each.size % base.size == 0)
        multiples.push_back(each);
    }
    std::vector<Extents> sets;
    const auto add = [&](Extents set) {
      if (is_valid(set, base.size, to)) sets.push_back(std::move(set));
    };
    const auto joined = [&](const Extents& with) {
      Extents set = {base};
      set.insert(set.end(), with.begin(), with.end());
      return set;
    };
    Extents both = equal;
    both.insert(both.end(), multiples.begin(), multiples.end());
    if (!equal.empty()) add(joined(equal));
    if (!multiples.empty()) add(joined(both));
    constexpr size_t kMostPartners = 10;
    if (both.size() > kMostPartners) both.resize(kMostPartners);
    add_smallest(base, both, to, sets);
    return sets;
  }

  // With none of the others, one of them, two, or three; all sets of the smallest number that are valid.
  void add_smallest(const Extent& base, const Extents& others, int64_t to, std::vector<Extents>& sets) const {
    constexpr size_t kMostJoined = 3, kMostSets = 2;
    for (size_t count = 0; count <= std::min(kMostJoined, others.size()); ++count) {
      std::vector<bool> chosen(others.size(), false);
      std::fill(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(count), true);
      size_t found = 0;
      do {
        Extents set = {base};
        for (size_t i = 0; i < others.size(); ++i) {
          if (chosen[i]) set.push_back(others[i]);
        }
        if (!is_valid(set, base.size, to)) continue;
        sets.push_back(std::move(set));
        ++found;
      } while (found < kMostSets && std::prev_permutation(chosen.begin(), chosen.end()));
      if (found > 0) return;
    }
  }

  Shrinking& shrinking_;
  std::set<std::string> tried_;
};

}  // namespace

void shrink_sizes(Shrinking& shrinking) {
  constexpr size_t kMostExtents = 80;
  if (shrinking.is_over() || extents_of(shrinking.best()).size() > kMostExtents) return;
  shrinking.begin("sizes");
  SizeShrinking(shrinking).run();
}

}  // namespace vernier
