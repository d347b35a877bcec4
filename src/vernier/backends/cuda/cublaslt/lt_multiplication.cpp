#include "vernier/backends/cuda/cublaslt/lt_multiplication.h"

#include <array>

namespace vernier::cuda {

int lt_type(ElementType element) {
  if (element == ElementType::kFloat) return kLtFloat;
  return element == ElementType::kFloat16 ? kLtFloat16 : kLtBFloat16;
}

LtMultiplication::LtMultiplication(const LtProduct& asked, const LtTypes& types, CublasLt& library,
                                   LtHandle handle)
    : library_(library),
      api_(library.api()),
      handle_(handle),
      adds_bias_(asked.addend == Addend::kEpilogue),
      tf32_(asked.tf32),
      operation_(make_operation(asked, types)),
      left_(make_layout(asked.left, types.factors, asked.batch)),
      right_(make_layout(asked.right, types.factors, asked.batch)),
      result_(make_layout(asked.result, types.result, asked.batch)) {}

LtMultiplication::Held<LtOperation> LtMultiplication::make_operation(const LtProduct& asked,
                                                                     const LtTypes& types) const {
  LtOperation made = nullptr;
  library_.check(api_.create_operation(&made, types.compute, types.scale), "a product");
  Held<LtOperation> operation(made, api_.destroy_operation);
  const auto set = [&](int attribute, const auto& value) {
    library_.check(api_.set_operation(made, attribute, &value, sizeof(value)), "a product");
  };
  set(kLtTransposeA, asked.transpose_left ? kLtTransposed : kLtPlain);
  set(kLtTransposeB, asked.transpose_right ? kLtTransposed : kLtPlain);
  set(kLtEpilogue, adds_bias_ ? kLtAddBias : kLtNoEpilogue);
  return operation;
}

LtMultiplication::Held<LtLayout> LtMultiplication::make_layout(const LtMatrix& matrix, int type,
                                                               int64_t batch) const {
  LtLayout made = nullptr;
  library_.check(api_.create_layout(&made, type, static_cast<uint64_t>(matrix.rows),
                                    static_cast<uint64_t>(matrix.columns), matrix.leading),
                 "a matrix");
  Held<LtLayout> layout(made, api_.destroy_layout);
  if (batch == 1) return layout;
  const auto count = static_cast<int32_t>(batch);
  library_.check(api_.set_layout(made, kLtBatchCount, &count, sizeof(count)), "a batch");
  library_.check(api_.set_layout(made, kLtBatchStep, &matrix.step, sizeof(matrix.step)), "a batch");
  return layout;
}

LtMultiplication::Held<LtPreference> LtMultiplication::make_preference() const {
  LtPreference made = nullptr;
  library_.check(api_.create_preference(&made), "a preference");
  Held<LtPreference> preference(made, api_.destroy_preference);
  const auto set = [&](int attribute, const auto& value) {
    library_.check(api_.set_preference(made, attribute, &value, sizeof(value)), "a preference");
  };
  set(kLtMostWorkspace, kMostWorkspace);
  set(kLtReductionSchemes, kLtInComputeType);
  for (const int attribute : kLtAlignments) set(attribute, kOperandAlignment);
  return preference;
}

std::string LtMultiplication::tactic_of(const LtFound& way) const {
  constexpr std::pair<std::string_view, int> kKnobs[] = {
      {"algorithm", kLtAlgorithmId}, {"tile", kLtTile},
      {"stages", kLtStages},         {"split", kLtSplitK},
      {"swizzle", kLtSwizzle},       {"custom", kLtCustom},
      {"inner", kLtInnerShape},      {"cluster", kLtClusterShape},
      {"scheme", kLtReductionScheme}};
  std::string name = tf32_ ? "cublaslt:tf32" : "cublaslt:";
  for (const auto& [knob, attribute] : kKnobs) {
    const size_t bytes =
        attribute == kLtInnerShape || attribute == kLtClusterShape ? sizeof(uint16_t) : sizeof(uint32_t);
    uint32_t value = 0;
    size_t written = 0;
    // Libraries before 12 do not know the last ones.
    if (api_.configuration(&way.algorithm, attribute, &value, bytes, &written) != kLtSuccess || value == 0)
      continue;
    name += fmt::format("{}{}{}", name.back() == ':' ? "" : ",", knob, value);
  }
  return name;
}

std::optional<uint32_t> LtMultiplication::scheme_of(const LtFound& way) const {
  size_t written = 0;
  uint32_t scheme = 0;
  const LtStatus status =
      api_.configuration(&way.algorithm, kLtReductionScheme, &scheme, sizeof(scheme), &written);
  return status == kLtSuccess ? std::optional(scheme) : std::nullopt;
}

bool LtMultiplication::sums_in_float(const LtFound& way, ElementType factors) const {
  size_t written = 0;
  uint64_t flags = 0;
  const auto scheme = scheme_of(way);
  if (!scheme ||
      api_.capability(&way.algorithm, kLtNumericalFlags, &flags, sizeof(flags), &written) != kLtSuccess)
    return false;
  const uint64_t instructions = flags & kLtByte, accumulators = flags >> 8 & kLtByte,
                 multiplied = flags >> 16 & kLtByte;
  const bool as_asked =
      factors != ElementType::kFloat ||
      (tf32_ ? multiplied == kLtFactorsTf32 : instructions == kLtFma && multiplied == kLtFactors32F);
  return as_asked && accumulators == kLtAccumulators32F &&
         (*scheme == kLtOneSequence || *scheme == kLtInComputeType);
}

std::vector<LtFound> LtMultiplication::ways(const std::function<bool(const LtFound&)>& keeps,
                                            std::string& reason) const {
  constexpr int kMostWays = 16;
  if (adds_bias_)
    set_bias(reinterpret_cast<const void*>(uintptr_t{kOperandAlignment}));  // as aligned as it will be
  library_.context().use();
  std::array<LtFound, kMostWays> found{};
  int count = 0;
  const auto preference = make_preference();
  const LtStatus status = api_.find(handle_, operation_.get(), left_.get(), right_.get(), result_.get(),
                                    result_.get(), preference.get(), kMostWays, found.data(), &count);
  std::vector<LtFound> sound;
  std::copy_if(found.begin(), found.begin() + (status == kLtSuccess ? count : 0), std::back_inserter(sound),
               [&](const LtFound& way) {
                 return way.state == kLtSuccess && way.workspace <= kMostWorkspace && keeps(way);
               });
  if (sound.empty())
    reason = status == kLtSuccess
                 ? fmt::format("of {} ways of cuBLASLt none keeps to {}", count,
                               tf32_ ? "TF32 and sums in float" : "strict sums")
                 : fmt::format("cuBLASLt has no way to compute it: {}", api_.status_name(status));
  return sound;
}

bool LtMultiplication::take(const std::vector<LtFound>& ways, std::string_view tactic, std::string& reason) {
  const auto found = std::find_if(ways.begin(), ways.end(), [&](const LtFound& way) {
    return tactic.empty() || tactic_of(way) == tactic;
  });
  if (found == ways.end()) {
    if (!ways.empty()) reason = fmt::format("cuBLASLt names no way '{}' here", tactic);
    return false;
  }
  algorithm_ = found->algorithm;
  workspace_ = found->workspace;
  return true;
}

void LtMultiplication::set_bias(const void* address) const {
  library_.check(api_.set_operation(operation_.get(), kLtBiasPointer, &address, sizeof(address)),
                 "an addend");
}

void LtMultiplication::enqueue(const void* alpha, const void* beta, const Operands& operands,
                               StreamHandle stream, std::string_view what) const {
  void* workspace = nullptr;
  if (workspace_ > 0) {
    const auto at = reinterpret_cast<uintptr_t>(operands.scratch);
    workspace = operands.scratch + (kWorkspaceAlignment - at % kWorkspaceAlignment) % kWorkspaceAlignment;
  }
  library_.check(api_.multiply(handle_, operation_.get(), alpha, operands.left, left_.get(), operands.right,
                               right_.get(), beta, operands.addend, result_.get(), operands.result,
                               result_.get(), &algorithm_, workspace, workspace_, stream),
                 what);
}

}  // namespace vernier::cuda
