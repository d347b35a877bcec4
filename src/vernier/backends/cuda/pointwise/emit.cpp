#include "vernier/backends/cuda/pointwise/emit.h"

#include <bit>

#include "vernier/backends/cuda/kernels/parameters.h"
#include "vernier/backends/cuda/movement/strided_copy.h"
#include "vernier/backends/cuda/pointwise/operators.h"
#include "vernier/backends/cuda/pointwise/walk.h"
#include "vernier/backends/cuda/programs/kernel_texts.h"
#include "vernier/ops/support/movement/strides.h"

namespace vernier::cuda {

namespace {

using pointwise::Instruction;
using pointwise::Refused;
using Kind = Instruction::Kind;
using Access = PointwiseAccess::Kind;

std::string_view type_text(ElementType type) {
  const auto text = device_type(type);
  if (text.empty()) throw Refused{fmt::format("kernels do not know {}", element_type_short_name(type))};
  return text;
}

// Any number, exactly.
std::string number(ElementType type, double value) {
  return fmt::format("({})of_bits({:#x}ull)", type_text(type), std::bit_cast<uint64_t>(value));
}

std::string value(size_t id) {
  return fmt::format("v{}", id);
}

class Emitter {
 public:
  Emitter(const KernelRequest& request, const pointwise::Program& program, const GivenSteps& given,
          std::optional<size_t> returned = {})
      : request_(request), program_(program), given_(given), returned_(returned) {}

  EmittedPointwise run() {
    find_accesses();
    for (const Instruction& each : program_) {
      if (each.kind == Kind::kStore && each.index != returned_) result_.outputs.push_back(each.index);
    }
    result_.walk = settle_walk(result_.accesses, in_order(request_.out().dims));
    if (result_.walk.size() > kMaxRank || result_.accesses.size() > kMaxOperands ||
        request_.outputs.size() > kMaxOperands)
      throw Refused{"too many operands or axes"};
    choose_width();
    take_packs();
    for (size_t id = 0; id < program_.size(); ++id) {
      lines_ += line(id);
      result_.approximate = result_.approximate || is_approximate(program_[id]);
      result_.faults = result_.faults || (may_fault(program_[id]) && !is_float(program_[id].type));
    }
    result_.source = {"pointwise", std::string(kernel_text("functions")) + elements()};
    if (!returned_) result_.source.body += kernel();
    return std::move(result_);
  }

 private:
  void find_accesses() {
    for (const Instruction& each : program_) {
      if (each.kind != Kind::kLoad) continue;
      const Operand& operand = request_.in(each.index);
      type_text(operand.element);
      const Dims& out = request_.out().dims;
      if (each.dims.size() > out.size()) throw Refused{"an operand of more axes than the result"};
      const auto given = given_.find(each.index);
      auto steps = given == given_.end() ? steps_of(each.dims, operand) : in_order(given->second);
      result_.accesses.push_back({each.index, operand.element, std::move(steps)});
    }
  }

  // Gives the steps of the axes of the result through an operand whose sizes are aligned as `dims`.
  std::vector<int64_t> steps_of(const Dims& dims, const Operand& operand) const {
    const Dims& out = request_.out().dims;
    if (operand.layout == Layout::kPlain) return in_order(ops::broadcast_strides(dims, out));
    if (dims != operand.dims || dims.size() != out.size())
      throw Refused{"an image that is aligned with more axes than it has"};
    auto steps = element_steps(operand);
    for (size_t i = 0; i < steps.size(); ++i) {
      if (dims[i] == 1) steps[i] = 0;
    }
    return in_order(std::move(steps));
  }

  // Puts what belongs to the axes of the result into the order in which they lie in memory.
  std::vector<int64_t> in_order(std::vector<int64_t> of_axes) const {
    if (request_.out().layout == Layout::kChannelsLast && of_axes.size() >= 3)
      std::rotate(of_axes.begin() + 1, of_axes.begin() + 2, of_axes.end());
    return of_axes;
  }

  // 16 bytes of the widest operand, if one lies as the result does.
  void choose_width() {
    size_t widest = 1;
    for (const size_t output : result_.outputs)
      widest = std::max(widest, element_size(request_.out(output).element));
    if (returned_) widest = std::max(widest, element_size(request_.out(*returned_).element));
    for (const PointwiseAccess& access : result_.accesses) {
      if (access.kind == Access::kDirect) widest = std::max(widest, element_size(access.element));
    }
    constexpr size_t kBytes = 16, kMost = 8;
    result_.width = static_cast<int>(std::min(kMost, kBytes / widest));
  }

  // Where no pack goes beyond the end of a row of the walk, operands are found once for each.
  void take_packs() {
    whole_rows_ = !result_.walk.empty() && result_.walk.back() % result_.width == 0;
    if (!whole_rows_) return;
    for (PointwiseAccess& access : result_.accesses) {
      if (access.kind != Access::kStrided) continue;
      // An operand in larger memory may begin anywhere in it.
      const bool begins_packs = !given_.contains(access.input) &&
                                std::all_of(access.steps.begin(), access.steps.end() - 1,
                                            [&](int64_t step) { return step % result_.width == 0; });
      if (access.steps.back() == 0) access.kind = Access::kRepeated;
      if (access.steps.back() == 1 && begins_packs) access.kind = Access::kPacked;
    }
  }

  static bool is_found(const PointwiseAccess& access) {
    return access.kind != Access::kDirect && access.kind != Access::kUniform;
  }

  std::string made(size_t id, const std::string& expression) const {
    return fmt::format("    const {} {} = {};\n", type_text(program_[id].type), value(id), expression);
  }

  std::string load(size_t id) {
    const size_t access = loads_++;
    switch (result_.accesses[access].kind) {
      case Access::kDirect:
      case Access::kPacked: return made(id, fmt::format("wide(x{}.at[j])", access));
      case Access::kUniform:
      case Access::kRepeated: return made(id, fmt::format("x{}", access));
      case Access::kStrided:
        return made(
            id, fmt::format("wide((({0}*)p.x[{1}])[o{1}{2}])", type_text(result_.accesses[access].element),
                            access, whole_rows_ ? along_row(access) : ""));
    }
    return {};
  }

  std::string apply(size_t id) const {
    const Instruction& each = program_[id];
    const PointwiseOperator& known = operator_of(each);
    std::string arguments;
    for (const size_t from : each.from) arguments += (arguments.empty() ? "" : ", ") + value(from);
    if (known.attributes > 0) arguments += ", " + number(each.type, each.alpha);
    if (known.attributes > 1) arguments += ", " + number(each.type, each.beta);
    if (may_fault(each)) arguments += ", fault";
    const bool is_quick = is_quick_in_16_bits(each) && is_rounded_next(id);
    return made(id, fmt::format("op_{}{}({})", each.op, is_quick ? "16" : "", arguments));
  }

  // Whether all that reads a value rounds it to 16 bits.
  bool is_rounded_next(size_t id) const {
    return std::all_of(program_.begin(), program_.end(), [&](const Instruction& each) {
      const bool reads = std::find(each.from.begin(), each.from.end(), id) != each.from.end();
      const bool rounds = each.kind == Kind::kRound || each.kind == Kind::kCast ||
                          (each.kind == Kind::kStore && each.index != returned_);
      return !reads || (rounds && (each.to == ElementType::kFloat16 || each.to == ElementType::kBFloat16));
    });
  }

  std::string predicate(size_t id) const {
    const Instruction& each = program_[id];
    if (each.op == "IsInf" || each.op == "IsNaN") {
      if (!is_float(each.operand_type)) throw Refused{each.op + " of no floats"};
      const std::string which =
          each.op == "IsInf" ? fmt::format(", {}, {}", each.alpha != 0, each.beta != 0) : std::string();
      return made(id, fmt::format("is_{}({}{})", each.op, value(each.from[0]), which));
    }
    return made(id, fmt::format("is_{}({}, {})", each.op, value(each.from[0]), value(each.from[1])));
  }

  // The nearest of a 16-bit type, as f32.
  static std::string rounded(const std::string& what, ElementType to) {
    return fmt::format("wide(narrow<{}>({}))", type_text(to), what);
  }

  std::string cast(size_t id) const {
    const Instruction& each = program_[id];
    const std::string from = value(each.from[0]);
    if (each.to == ElementType::kBool) return made(id, fmt::format("(b8)({} != 0)", from));
    if (each.to != each.type) {
      // 64-bit integers would be rounded twice on their way through double.
      if (element_size(each.operand_type) == 8 && each.operand_type != ElementType::kDouble)
        throw Refused{"64-bit integers to floats of 16 bits"};
      return made(id, rounded("(f64)" + from, each.to));
    }
    return made(id, fmt::format("converted<{}>({})", type_text(each.to), from));
  }

  std::string saturated(ElementType to, const std::string& what) const {
    if (!is_integer(to) || element_size(to) > 2 || element_bits(to) < 8)
      throw Refused{"no saturation to its type"};
    return fmt::format("saturated<{}>({}, {}, {})", type_text(to), what,
                       number(ElementType::kFloat, static_cast<double>(integer_min(to))),
                       number(ElementType::kFloat, static_cast<double>(integer_max(to))));
  }

  std::string store(size_t id) const {
    const Instruction& each = program_[id];
    const std::string from = value(each.from[0]);
    if (each.index == returned_) return fmt::format("    y{}.at[j] = {};\n", each.index, from);
    std::string stored = from;
    if (each.to != each.type && pointwise::register_type(each.to) != each.type)
      throw Refused{"a result of another type than what is computed"};
    if (each.to != each.type) stored = fmt::format("narrow<{}>({})", type_text(each.to), from);
    return fmt::format("    y{}.at[j] = {};\n", each.index, stored);
  }

  std::string line(size_t id) {
    const Instruction& each = program_[id];
    const std::string from = each.from.empty() ? "" : value(each.from[0]);
    switch (each.kind) {
      case Kind::kLoad: return load(id);
      case Kind::kImmediate: return made(id, number(each.type, each.alpha));
      case Kind::kApply: return apply(id);
      case Kind::kPredicate: return predicate(id);
      case Kind::kSelect:
        return made(id, fmt::format("{} ? {} : {}", from, value(each.from[1]), value(each.from[2])));
      case Kind::kCast: return cast(id);
      case Kind::kRound: return made(id, rounded(from, each.to));
      case Kind::kSaturate: return made(id, saturated(each.to, from));
      case Kind::kQuantize:
        return made(id, saturated(each.to, fmt::format("rintf({} / {}) + {}", from,
                                                       number(ElementType::kFloat, each.alpha),
                                                       number(ElementType::kFloat, each.beta))));
      case Kind::kDequantize:
        return made(id, fmt::format("((f32){} - {}) * {}", from, number(ElementType::kFloat, each.beta),
                                    number(ElementType::kFloat, each.alpha)));
      case Kind::kStore: return store(id);
    }
    return {};
  }

  std::string along_row(size_t access) const {
    return fmt::format(" + j * (IDX)p.steps[{}][{}]", access, result_.walk.size() - 1);
  }

  // Where operands that lie otherwise than the output are read, from the index of an element, or of a pack's
  // first.
  std::string offsets() const {
    std::string text;
    for (size_t i = 0; i < result_.accesses.size(); ++i) {
      if (is_found(result_.accesses[i])) text += fmt::format("    IDX o{} = 0;\n", i);
    }
    if (text.empty()) return text;
    text += whole_rows_ ? "    IDX rest = first;\n" : "    IDX rest = first + j;\n";
    for (size_t axis = result_.walk.size(); axis-- > 0;) {
      text += axis == 0
                  ? "    { const IDX at = rest;\n"
                  : fmt::format(
                        "    {{ const IDX at = rest % (IDX)p.sizes[{0}]; rest /= (IDX)p.sizes[{0}];\n", axis);
      for (size_t i = 0; i < result_.accesses.size(); ++i) {
        if (is_found(result_.accesses[i]))
          text += fmt::format("      o{0} += at * (IDX)p.steps[{0}][{1}];\n", i, axis);
      }
      text += "    }\n";
    }
    return text;
  }

  // Reads operands before the elements of a pack are computed one by one.
  std::string loads() const {
    std::string text, found;
    for (size_t i = 0; i < result_.accesses.size(); ++i) {
      const PointwiseAccess& access = result_.accesses[i];
      const auto type = type_text(access.element);
      const auto held = type_text(pointwise::register_type(access.element));
      if (access.kind == Access::kDirect)
        text += fmt::format(
            "  const Pack<{0}, N> x{1} = *(const Pack<{0}, N>*)((const {0}*)p.x[{1}] + first);\n", type, i);
      if (access.kind == Access::kUniform)
        text += fmt::format("  const {0} x{1} = wide(*(const {2}*)p.x[{1}]);\n", held, i, type);
      if (access.kind == Access::kPacked)
        found += fmt::format(
            "  const Pack<{0}, N> x{1} = *(const Pack<{0}, N>*)((const {0}*)p.x[{1}] + o{1});\n", type, i);
      if (access.kind == Access::kRepeated)
        found += fmt::format("  const {0} x{1} = wide(((const {2}*)p.x[{1}])[o{1}]);\n", held, i, type);
    }
    return whole_rows_ ? text + offsets() + found : text;
  }

  // The function that computes a pack.
  std::string elements() const {
    std::string results, stores, given = "void";
    for (const size_t i : result_.outputs) {
      const auto type = type_text(request_.out(i).element);
      results += fmt::format("  Pack<{}, N> y{};\n", type, i);
      stores += fmt::format("  *(Pack<{0}, N>*)(({0}*)p.y[{1}] + first) = y{1};\n", type, i);
    }
    if (returned_) {
      given =
          fmt::format("Pack<{}, N>", type_text(pointwise::register_type(request_.out(*returned_).element)));
      results += fmt::format("  {} y{};\n", given, *returned_);
      stores += fmt::format("  return y{};\n", *returned_);
    }
    return fmt::format(
        "typedef {} IDX;\n"
        "template <int N> __device__ inline {} elements(const PointwiseParameters& p, IDX first, bool& "
        "fault) "
        "{{\n{}{}#pragma unroll\n  for (int j = 0; j < N; ++j) {{\n{}{}  }}\n{}}}\n",
        request_.out().size() < INT32_MAX ? "i32" : "i64", given, loads(), results,
        whole_rows_ ? "" : offsets(), lines_, stores);
  }

  std::string kernel() const {
    return fmt::format(
        "extern \"C\" __global__ void run(const PointwiseParameters p) {{\n"
        "  const IDX thread = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;\n"
        "  const IDX packs = (IDX)(p.count / {0});\n"
        "  bool fault = false;\n"
        "  for (i64 i = thread; i < packs; i += step) elements<{0}>(p, (IDX)i * {0}, fault);\n"
        "  for (i64 i = (i64)packs * {0} + thread; i < p.count; i += step) elements<1>(p, (IDX)i, fault);\n"
        "  if (fault) *(volatile int*)p.faults = p.fault;\n}}\n",
        result_.width);
  }

  const KernelRequest& request_;
  const pointwise::Program& program_;
  const GivenSteps& given_;
  const std::optional<size_t> returned_;
  EmittedPointwise result_;
  bool whole_rows_ = false;
  std::string lines_;
  size_t loads_ = 0;
};

}  // namespace

EmittedPointwise emit_pointwise(const KernelRequest& request, const pointwise::Program& program,
                                const GivenSteps& given) {
  return Emitter(request, program, given).run();
}

EmittedPointwise emit_elements(const KernelRequest& request, const pointwise::Program& program,
                               size_t returned) {
  const GivenSteps none;
  return Emitter(request, program, none, returned).run();
}

PointwiseParameters parameters_of(const EmittedPointwise& emitted, const KernelRequest& request) {
  PointwiseParameters parameters{};
  parameters.count = request.out().size();
  std::copy(emitted.walk.begin(), emitted.walk.end(), parameters.sizes);
  for (size_t i = 0; i < emitted.accesses.size(); ++i)
    std::copy(emitted.accesses[i].steps.begin(), emitted.accesses[i].steps.end(), parameters.steps[i]);
  return parameters;
}

}  // namespace vernier::cuda
