#include "vernier/backends/cpu/faults/fault.h"

#include "vernier/ops/group.h"

namespace vernier::cpu {

namespace {

constexpr std::pair<Fault, std::string_view> kNames[] = {
    {Fault::kClipBound, "clip-bound"},      {Fault::kChannelScale, "channel-scale"},
    {Fault::kZeroPoint, "zero-point"},      {Fault::kStride, "stride"},
    {Fault::kResidual, "residual"},         {Fault::kStaleBuffer, "stale-buffer"},
    {Fault::kSwappedAxis, "swapped-axis"},  {Fault::kMissedSync, "missed-sync"},
    {Fault::kAccumulation, "accumulation"}, {Fault::kFp16Accumulator, "fp16-accumulator"},
};

}  // namespace

std::string_view fault_name(Fault fault) {
  for (const auto& [kind, name] : kNames) {
    if (kind == fault) return name;
  }
  throw internal_error("a fault without a name");
}

FaultSpec parse_fault(std::string_view text) {
  const size_t colon = std::min(text.find(':'), text.size());
  std::string all;
  for (const auto& [kind, name] : kNames) {
    if (name == text.substr(0, colon) && colon + 1 != text.size())
      return {kind, colon == text.size() ? "" : std::string(text.substr(colon + 1))};
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  }
  throw usage_error("'{}' is not KIND or KIND:NODE of a fault", text).advise("the kinds are " + all);
}

std::string fault_text(const FaultSpec& spec) {
  const auto name = fault_name(spec.kind);
  return spec.node.empty() ? std::string(name) : fmt::format("{} at '{}'", name, spec.node);
}

std::vector<const Node*> members_of(const Node& node) {
  if (!ops::is_group(node)) return {&node};
  std::vector<const Node*> members;
  for (const auto& member : ops::body(node).nodes()) members.push_back(member.get());
  return members;
}

bool is_meant(const FaultSpec& spec, const Node& member) {
  return spec.node.empty() || member.name == spec.node || member.provenance.contains(spec.node);
}

std::string onnx_name(const FaultSpec& spec, const Node& member) {
  if (!spec.node.empty()) return spec.node;
  if (member.provenance.empty() || member.provenance.contains(member.name)) return member.name;
  return *member.provenance.begin();
}

}  // namespace vernier::cpu
