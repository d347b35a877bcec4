#include "vernier/exec/group_members.h"

#include <algorithm>

#include "vernier/ops/group.h"

namespace vernier {

namespace {

size_t bytes_of(const Operand& operand) {
  constexpr size_t kLine = 64;
  const auto bytes =
      static_cast<size_t>(element_count(operand.memory_dims())) * element_size(operand.element);
  return (bytes + kLine - 1) / kLine * kLine;
}

// Where a value of the body is: an input of the group, an output, or in the working memory.
struct Place {
  enum class Kind : uint8_t { kNone, kInput, kOutput, kBetween } kind = Kind::kNone;
  size_t at = 0;  // which, or the offset
};

class SequentialKernel : public Kernel {
 public:
  struct Member {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs, outputs;
  };

  SequentialKernel(std::vector<Member> members, size_t bytes_between)
      : members_(std::move(members)), bytes_between_(bytes_between) {
    for (const Member& member : members_) {
      name += (name.empty() ? "" : " + ") + member.kernel->name;
      scratch_bytes = std::max(scratch_bytes, bytes_between + member.kernel->scratch_bytes);
    }
    std::vector<NumericsContract> contracts;
    for (const Member& member : members_) contracts.push_back(member.kernel->contract);
    contract = sequence_contract(contracts);
  }

  void run(const KernelArguments& arguments) const override {
    for (const Member& member : members_) {
      std::vector<const void*> inputs;
      std::vector<void*> outputs;
      for (const Place& place : member.inputs) inputs.push_back(address(place, arguments));
      // Nobody writes what is an input of the group.
      for (const Place& place : member.outputs)
        outputs.push_back(const_cast<void*>(address(place, arguments)));
      member.kernel->run(
          {inputs.data(), outputs.data(), arguments.scratch + bytes_between_, arguments.stream});
    }
  }

  bool reads(size_t input) const override {
    return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
      for (size_t i = 0; i < member.inputs.size(); ++i) {
        const Place& place = member.inputs[i];
        if (place.kind == Place::Kind::kInput && place.at == input && member.kernel->reads(i)) return true;
      }
      return false;
    });
  }

  void prepare() const override {
    for (const Member& member : members_) member.kernel->prepare();
  }
  bool is_prepared() const override {
    return std::all_of(members_.begin(), members_.end(),
                       [](const Member& member) { return member.kernel->is_prepared(); });
  }
  void add_payloads(Payloads& to) const override {
    for (const Member& member : members_) member.kernel->add_payloads(to);
  }

 private:
  static const void* address(const Place& place, const KernelArguments& arguments) {
    switch (place.kind) {
      case Place::Kind::kInput: return arguments.inputs[place.at];
      case Place::Kind::kOutput: return arguments.outputs[place.at];
      case Place::Kind::kBetween: return arguments.scratch + place.at;
      default: return nullptr;
    }
  }

  std::vector<Member> members_;
  size_t bytes_between_;
};

std::optional<size_t> index_of(const std::vector<Value*>& values, const Value* value) {
  const auto found = std::find(values.begin(), values.end(), value);
  return found == values.end() ? std::nullopt : std::optional(static_cast<size_t>(found - values.begin()));
}

}  // namespace

std::vector<KernelRequest> member_requests(const KernelRequest& group) {
  const Graph& body = ops::body(group.node);
  const auto is_known = [](const Value* value) {
    return value == nullptr ||
           (value->type.is_tensor() && value->type.tensor.shape && to_dims(*value->type.tensor.shape));
  };
  for (const auto& node : body.nodes()) {
    if (!std::all_of(node->outputs.begin(), node->outputs.end(), is_known)) return {};
  }
  const auto operand = [&](const Value* value) -> std::optional<Operand> {
    if (value == nullptr) return std::nullopt;
    if (const auto at = index_of(body.inputs, value)) return group.inputs[*at];
    if (const auto at = index_of(body.outputs, value)) return group.outputs[*at];
    const TensorType& between = value->type.tensor;
    return Operand{between.element, *to_dims(*between.shape), group.out().layout, nullptr};
  };
  std::vector<KernelRequest> requests;
  for (const auto& node : body.nodes()) {
    KernelRequest& request = requests.emplace_back(KernelRequest{*node, {}, {}, group.packed, group.images});
    for (const Value* input : node->inputs) request.inputs.push_back(operand(input));
    for (const Value* output : node->outputs) request.outputs.push_back(operand(output));
  }
  return requests;
}

std::unique_ptr<Kernel> make_sequential(const KernelRequest& group, const MakeMember& make) {
  const Graph& body = ops::body(group.node);
  std::map<const Value*, size_t> between;
  size_t bytes = 0;
  const auto place = [&](const Value* value) -> Place {
    if (value == nullptr) return {};
    if (const auto at = index_of(body.inputs, value)) return {Place::Kind::kInput, *at};
    if (const auto at = index_of(body.outputs, value)) return {Place::Kind::kOutput, *at};
    return {Place::Kind::kBetween, between.at(value)};
  };
  std::vector<SequentialKernel::Member> members;
  for (const KernelRequest& request : member_requests(group)) {
    SequentialKernel::Member member{make(request), {}, {}};
    if (!member.kernel) return nullptr;
    for (size_t i = 0; i < request.outputs.size(); ++i) {
      if (request.wants(i) && between.emplace(request.node.output(i), bytes).second)
        bytes += bytes_of(request.out(i));
    }
    for (const Value* input : request.node.inputs) member.inputs.push_back(place(input));
    for (const Value* output : request.node.outputs) member.outputs.push_back(place(output));
    members.push_back(std::move(member));
  }
  return members.empty() ? nullptr : std::make_unique<SequentialKernel>(std::move(members), bytes);
}

}  // namespace vernier
