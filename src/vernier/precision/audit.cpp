#include "vernier/precision/audit.h"

#include "vernier/numeric/operand_format.h"

namespace vernier {

namespace {

constexpr size_t kNamed = 3;

}  // namespace

std::string_view compute_name(const ExecutedPrecision& executed) {
  return executed.tf32 ? OperandFormat::tf32().text() : element_type_short_name(executed.compute);
}

std::string difference(const LayerPrecision& requested, const ExecutedPrecision& executed) {
  using How = ExecutedPrecision::How;
  if (executed.how != How::kKernel && executed.how != How::kReference) return "";
  if (!is_float(requested.store)) return "";
  const auto name = [](ElementType type) { return element_type_short_name(type); };
  const bool exact = requested.by == LayerPrecision::By::kUser;
  // Moving bits loses none, wherever a transpose went and whatever the bits are codes of.
  if (!exact && executed.compute == ElementType::kUndefined && executed.said == ElementType::kUndefined)
    return "";
  const ElementType stored = executed.store;
  if (stored != ElementType::kUndefined &&
      (exact ? stored != requested.store : !holds(stored, requested.store)))
    return fmt::format("stored {}, not {}", name(stored), name(requested.store));
  const bool lies = executed.said != ElementType::kUndefined && is_float(stored) && executed.said != stored;
  if (lies)
    return fmt::format("the kernel says that it stores {}, and stores {}", name(executed.said), name(stored));
  if (executed.compute != ElementType::kUndefined && !holds(executed.compute, requested.compute))
    return fmt::format("computed {}, not {}", name(executed.compute), name(requested.compute));
  if (executed.tf32 && !requested.tf32 && holds(requested.compute, ElementType::kFloat))
    return fmt::format("computed {}, not {}", compute_name(executed), name(requested.compute));
  // Sums of integers lose nothing.
  if (executed.accumulate != ElementType::kUndefined && !is_integer(executed.accumulate) &&
      !holds(executed.accumulate, requested.accumulate))
    return fmt::format("accumulated {}, not {}", name(executed.accumulate), name(requested.accumulate));
  return "";
}

size_t PrecisionAudit::differences() const {
  return static_cast<size_t>(
      std::count_if(rows.begin(), rows.end(), [](const AuditRow& row) { return !row.difference.empty(); }));
}

std::string PrecisionAudit::first_differences(size_t count) const {
  std::string text;
  for (const AuditRow& row : rows) {
    if (row.difference.empty()) continue;
    if (count-- == 0) return text + "; …";
    text += fmt::format("{}{} '{}' ({}): {}", text.empty() ? "" : "; ", row.op, row.node, row.executed.kernel,
                        row.difference);
  }
  return text;
}

PrecisionDifference::PrecisionDifference(const PrecisionAudit& audit)
    : Error(ErrorCode::kUnsupported, fmt::format("{} nodes are not executed in the types of the plan: {}",
                                                 audit.differences(), audit.first_differences(kNamed))) {
  advise("change the plan, or let the engine differ with --precision-constraints prefer");
}

}  // namespace vernier
