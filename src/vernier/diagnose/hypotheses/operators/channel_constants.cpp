// B31, B35: constants with a number for each channel are other numbers, some of them or all: a bias, a scale,
// the parameters of a normalisation. They are read off what was made.
#include <cmath>

#include "vernier/diagnose/hypotheses/hypothesis.h"
#include "vernier/ops/operands.h"
#include "vernier/ops/rounding_traits.h"

namespace vernier {

namespace {

// Such a constant plays a role: made = factor * right + offset, with one of them or both for each channel.
struct Role {
  size_t operand = 0;
  bool scales = false, moves = false;
  int failure = 31;
  const char* what = "";
};

std::optional<Role> role_of(const Member& member) {
  const auto bias = ops::input_of(member.node(), ops::Role::kBias);
  if (bias && ops::has_trait(member.node(), ops::kProducts))
    return Role{*bias, false, true, 31, "its bias is another one"};
  if (member.is("BatchNormalization") || member.is("InstanceNormalization") ||
      member.is("LayerNormalization"))
    return Role{1, true, true, 35, "its scales and offsets are others"};
  const bool adds = member.is("Add") || member.is("Sub"), scales = member.is("Mul") || member.is("Div");
  if (!adds && !scales) return std::nullopt;
  const size_t operand = member.is_constant(1) ? 1 : 0;
  if (member.is("Div") && operand == 0) return std::nullopt;
  return Role{operand, scales, adds, 31, "its constant is another one"};
}

// The axis of the result along which the constant has its numbers.
std::optional<size_t> channel_axis(const Member& member, size_t operand) {
  const Dims &dims = member.in(operand).dims(), &result = member.out().dims();
  if (ops::has_trait(member.node(), ops::kConvolution) || member.is("BatchNormalization") ||
      member.is("InstanceNormalization"))
    return 1;
  std::optional<size_t> axis;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == 1) continue;
    if (axis) return std::nullopt;
    axis = result.size() - dims.size() + i;
  }
  return axis;
}

// The line of each channel that is nearest to what was made.
class Lines {
 public:
  Lines(const Tensor& right, const Tensor& made, size_t axis)
      : right_(right.to_doubles()), made_(made.to_doubles()) {
    for (size_t i = axis + 1; i < right.dims().size(); ++i) inner_ *= static_cast<size_t>(right.dims()[i]);
    count_ = static_cast<size_t>(right.dims()[axis]);
  }

  size_t elements() const { return right_.size() / count_; }
  std::vector<double> values(const Role& role) const {
    struct Sums {
      double n = 0, x = 0, y = 0, xx = 0, xy = 0;
    };
    std::vector<Sums> sums(count_);
    for (size_t i = 0; i < right_.size(); ++i) {
      Sums& s = sums[i / inner_ % count_];
      const double x = right_[i], y = made_[i];
      if (!std::isfinite(x) || !std::isfinite(y)) continue;
      s = {s.n + 1, s.x + x, s.y + y, s.xx + x * x, s.xy + x * y};
    }
    auto values = right_;
    for (size_t i = 0; i < values.size(); ++i) {
      const Sums& s = sums[i / inner_ % count_];
      double factor = 1, offset = 0;
      if (role.scales && role.moves) {
        const double spread = s.n * s.xx - s.x * s.x;
        factor = spread > 0 ? (s.n * s.xy - s.x * s.y) / spread : 1;
        offset = (s.y - factor * s.x) / s.n;
      } else if (role.scales) {
        factor = s.xx > 0 ? s.xy / s.xx : 1;
      } else {
        offset = (s.y - s.x) / s.n;
      }
      values[i] = factor * values[i] + offset;
    }
    return values;
  }

 private:
  std::vector<double> right_, made_;
  size_t count_ = 1, inner_ = 1;
};

}  // namespace

void propose_channel_constants(const Member& member, const FlaggedNode& flagged, const HypothesisContext&,
                               std::vector<Proposal>& proposals) {
  constexpr size_t kEnough = 4;  // elements for each number that is fitted
  constexpr double kFitted = 0.12, kOfFew = 0.25;
  const auto role = role_of(member);
  const Tensor* made = made_in_place(member, 0, flagged);
  if (!role || made == nullptr || !member.has(role->operand) || !member.is_constant(role->operand) ||
      !is_float(made->type()) || member.in(role->operand).size() < 2)
    return;
  const auto axis = channel_axis(member, role->operand);
  if (!axis || *axis >= member.out().dims().size()) return;
  const Lines lines(member.out(), *made, *axis);
  const bool is_line = role->scales && role->moves, are_few = lines.elements() < kEnough * (is_line ? 2 : 1);
  if (are_few && is_line) return;
  proposals.push_back({FailureClass(role->failure),
                       role->what,
                       [&member, values = lines.values(*role)] {
                         Tensors results = member.outputs();
                         results[0] = Tensor::from_doubles(results[0].type(), results[0].dims(), values);
                         return results;
                       },
                       {},
                       are_few ? kOfFew : kFitted});
}

}  // namespace vernier
