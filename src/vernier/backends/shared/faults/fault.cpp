#include "vernier/backends/shared/faults/fault.h"

#include <fmt/ranges.h>

#include <optional>

#include "vernier/ops/group.h"

namespace vernier {

namespace {

constexpr std::pair<Fault, std::string_view> kNames[] = {
    {Fault::kClipBound, "clip-bound"},
    {Fault::kChannelScale, "channel-scale"},
    {Fault::kZeroPoint, "zero-point"},
    {Fault::kStride, "stride"},
    {Fault::kResidual, "residual"},
    {Fault::kStaleBuffer, "stale-buffer"},
    {Fault::kSwappedAxis, "swapped-axis"},
    {Fault::kMissedSync, "missed-sync"},
    {Fault::kAccumulation, "accumulation"},
    {Fault::kFp16Accumulator, "fp16-accumulator"},
    {Fault::kTf32, "tf32"},
    {Fault::kCrash, "crash"},
    {Fault::kHang, "hang"},
};

// Splits the text at the separator; the second part is nothing if there is none.
std::pair<std::string, std::optional<std::string>> split(const std::string& text, char separator) {
  const size_t at = text.find(separator);
  if (at == std::string::npos) return {text, std::nullopt};
  return {text.substr(0, at), text.substr(at + 1)};
}

void require_tactic(Fault kind, const std::string& tactic, const std::set<std::string>& tactics) {
  if (!stops_process(kind)) throw usage_error("the fault {} is not one of a tactic", fault_name(kind));
  if (!tactics.contains(tactic))
    throw usage_error("the fault is of '{}', which is no tactic", tactic)
        .advise(fmt::format("there are: {}", fmt::join(tactics, ", ")));
}

}  // namespace

std::string_view fault_name(Fault fault) {
  for (const auto& [kind, name] : kNames) {
    if (kind == fault) return name;
  }
  throw internal_error("a fault without a name");
}

bool stops_process(Fault fault) {
  return fault == Fault::kCrash || fault == Fault::kHang;
}

FaultSpec parse_fault(std::string_view text, const std::set<std::string>& tactics) {
  const auto [before, node] = split(std::string(text), ':');
  const auto [kind_name, tactic] = split(before, '@');
  const bool complete = node != "" && tactic != "";
  std::string all;
  for (const auto& [kind, name] : kNames) {
    if (name == kind_name && complete) {
      if (tactic) require_tactic(kind, *tactic, tactics);
      return {kind, node.value_or(""), tactic.value_or("")};
    }
    all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  }
  throw usage_error("'{}' is not KIND, KIND:NODE or KIND@TACTIC of a fault", text)
      .advise("the kinds are " + all);
}

std::string fault_text(const FaultSpec& spec) {
  const auto name = fault_name(spec.kind);
  return fmt::format("{}{}{}", name, spec.tactic.empty() ? "" : " of " + spec.tactic,
                     spec.node.empty() ? "" : fmt::format(" at '{}'", spec.node));
}

std::vector<const Node*> members_of(const Node& node) {
  if (!ops::is_group(node)) return {&node};
  std::vector<const Node*> members;
  for (const auto& member : ops::body(node).nodes()) members.push_back(member.get());
  return members;
}

// A conversion that a precision plan put behind the node is no part of it: an axis that is swapped twice lies
// right.
bool is_meant(const FaultSpec& spec, const Node& member) {
  return spec.node.empty() || member.name == spec.node ||
         (member.provenance.contains(spec.node) && member.op != "Cast");
}

std::string onnx_name(const FaultSpec& spec, const Node& member) {
  if (!spec.node.empty()) return spec.node;
  if (member.provenance.empty() || member.provenance.contains(member.name)) return member.name;
  return *member.provenance.begin();
}

}  // namespace vernier
