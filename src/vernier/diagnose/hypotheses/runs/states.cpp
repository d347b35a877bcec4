// B44, B46: a result, or a part of it, is that of the run before, or was never written.
#include <cmath>

#include "vernier/diagnose/hypotheses/hypothesis.h"

namespace vernier {

namespace {

// Gives what the run before left, zeros where that was shorter.
std::vector<double> left_over(const Tensor& right, const Tensor& before) {
  if (!before.is_defined()) throw unsupported("nothing is known of the run before");
  auto values = before.to_doubles();
  values.resize(static_cast<size_t>(right.size()), 0);
  return values;
}

Tensor as(const Tensor& like, const std::vector<double>& values) {
  return Tensor::from_doubles(like.type(), like.dims(), values);
}

// Each element as it is right or as it was left, whichever is nearer to what was made: nobody knows which
// part was waited for, for nobody knows in which order the elements lie in memory.
Tensor in_parts(const Tensor& right, const Tensor& before, const Tensor& made) {
  auto values = right.to_doubles();
  const auto old = left_over(right, before), actual = made.to_doubles();
  for (size_t i = 0; i < values.size(); ++i) {
    if (std::abs(actual[i] - old[i]) < std::abs(actual[i] - values[i])) values[i] = old[i];
  }
  return as(right, values);
}

// Whether elements that are nearer to what was left hold exactly that, and are some. Rows that are so as a
// whole are a matter of their place in the batch.
bool holds_exactly(const Tensor& right, const Tensor& before, const Tensor& made) {
  constexpr size_t kSome = 4;
  const auto values = right.to_doubles(), old = left_over(right, before), actual = made.to_doubles();
  const size_t row = values.size() / static_cast<size_t>(right.dims().at(0));
  size_t count = 0, in_row = 0;
  bool has_part = right.dims()[0] == 1;
  for (size_t i = 0; i < values.size(); ++i) {
    if (i % row == 0) in_row = 0;
    if (std::abs(actual[i] - old[i]) < std::abs(actual[i] - values[i])) {
      if (actual[i] != old[i]) return false;
      ++count;
      ++in_row;
    }
    has_part = has_part || (i % row == row - 1 && in_row > 0 && in_row < row);
  }
  return has_part && count >= kSome;
}

struct Leftover {
  std::string what;
  std::function<Tensor()> content;
  bool is_zero = false;
};

void propose_leftover(const Member& member, size_t result, const Tensor& made, const Leftover& leftover,
                      std::vector<Proposal>& proposals) {
  const auto add = [&](FailureClass failure, const std::string& which, double penalty, bool whole) {
    proposals.push_back({failure,
                         which + leftover.what,
                         [&member, &made, result, content = leftover.content, whole] {
                           Tensors results = member.outputs();
                           const Tensor before = content();
                           results[result] = whole ? as(results[result], left_over(results[result], before))
                                                   : in_parts(results[result], before, made);
                           return results;
                         },
                         {},
                         penalty,
                         true});
  };
  // Choosing element by element explains a little of any error, unless what was left is there bit by bit.
  constexpr double kChoice = 0.05, kExact = 0.02;
  const bool is_exact = leftover.is_zero && member.out(result).rank() > 0 &&
                        holds_exactly(member.out(result), leftover.content(), made);
  add(FailureClass(46), "its result is ", 0, true);
  add(FailureClass(44), "a part of its result is ", is_exact ? kExact : kChoice, false);
}

}  // namespace

void propose_states(const Member& member, const FlaggedNode& flagged, const HypothesisContext& context,
                    std::vector<Proposal>& proposals) {
  for (size_t i = 0; i < member.outputs().size(); ++i) {
    const Tensor& right = member.out(i);
    const Tensor* made = made_in_place(member, i, flagged);
    if (made == nullptr || right.size() < 2 || right.type() == ElementType::kString) continue;
    if (context.sound_before) {
      const size_t output = *stored_output(member, i, flagged);
      propose_leftover(
          member, i, *made,
          {"that of the run before", [sound = context.sound_before, output] { return sound().at(output); }},
          proposals);
    }
    propose_leftover(
        member, i, *made,
        {"zero: it was never written", [type = right.type()] { return Tensor(type, Dims{0}); }, true},
        proposals);
  }
}

}  // namespace vernier
