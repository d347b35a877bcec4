#include <atomic>

#include "vernier/exec/device/host_device.h"
#include "vernier/exec/planning/part_offsets.h"
#include "vernier/exec/planning/place_slots.h"
#include "vernier/exec/planning/plan_kernels.h"
#include "vernier/exec/planning/plan_slots.h"
#include "vernier/exec/planning/schedule.h"
#include "vernier/exec/program.h"
#include "vernier/ir/clone.h"
#include "vernier/ops/group.h"
#include "vernier/ops/op_def.h"

namespace vernier {

namespace {

class PlanMaker {
 public:
  PlanMaker(std::shared_ptr<const Graph> graph, const Backends& backends, const CompileRegion& compile_region,
            PackedConstants& packed, const PlanChoices& choices, const ChooseTactic& choose,
            KernelCache* cache)
      : backends_(backends),
        compile_region_(compile_region),
        packed_(packed),
        kernels_(backends_, plan_.choices, choose, cache),
        slots_(plan_, backends_) {
    plan_.graph = std::move(graph);
    plan_.choices = choices;
    plan_.devices = {&host_device()};
    for (const Backend* accelerator : backends.accelerators) plan_.devices.push_back(&accelerator->device());
  }

  Plan make() {
    const Graph& graph = *plan_.graph;
    for (size_t i = 0; i < graph.inputs.size(); ++i) plan_.inputs.push_back(input_slot(*graph.inputs[i], i));
    for (const auto& node : graph.nodes()) add_node(*node);
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      plan_.outputs.push_back(output_slot(*graph.outputs[i], i));
    // An output that was not made in its cache goes there when nothing reads the past any more.
    for (const MemoryBinding& cache : plan_.choices.bindings) {
      if (!cache.is_cache()) continue;
      SlotId& output = plan_.outputs[cache.output];
      if (slots_.at(output).operand.layout != Layout::kCache)
        output = slots_.copied_to_cache(*graph.outputs[cache.output], output, plan_.inputs[cache.input]);
    }
    own_device_outputs();
    copy_inputs_first();
    schedule(plan_);
    plan_.unplaced = plan_.slots;
    place_slots(plan_);
    return std::move(plan_);
  }

 private:
  // So that the steps of a device behind them are one piece (replay_segments.h).
  void copy_inputs_first() {
    std::stable_partition(plan_.steps.begin(), plan_.steps.end(), [&](const Step& step) {
      return step.copies && slots_.at(step.inputs[0]).home == Slot::Home::kInput;
    });
  }

  SlotId input_slot(const Value& input, size_t index) {
    for (const MemoryBinding& binding : plan_.choices.bindings) {
      if (binding.input == index && binding.is_cache()) return slots_.add_cache(input, binding);
    }
    return slots_.add(input, Slot::Home::kInput, Layout::kPlain, plan_.device_of_input(index));
  }

  SlotId output_slot(const Value& output, size_t index) {
    const MemoryBinding* cache = plan_.cache_of(output);
    const SlotId made = cache == nullptr ? kNoSlot : slots_.find_any(output);
    const bool is_there = made != kNoSlot && slots_.at(made).operand.layout == Layout::kCache &&
                          slots_.at(made).storage == slots_.at(plan_.inputs[cache->input]).storage;
    return is_there ? made : slots_.in(output, Layout::kPlain, plan_.device_of_output(index));
  }

  // The memory of an output on a device is the caller's: what lies in other memory, such as an input, a
  // constant or another output, is copied there.
  void own_device_outputs() {
    std::set<SlotId> taken;
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      SlotId& id = plan_.outputs[i];
      const Slot& lies = slots_.at(id);
      if (lies.device == kHost || lies.operand.layout == Layout::kCache) continue;
      if (!lies.known)
        throw unsupported("output '{}' cannot lie on a device: only running tells its sizes",
                          lies.value->name)
            .advise("bind memory of the CPU, or none");
      const bool owned = slots_.at(lies.storage).home == Slot::Home::kArena && plan_.fills_storage(id) &&
                         taken.insert(lies.storage).second;
      if (!owned) id = slots_.copied_within(*plan_.graph->outputs[i], id);
    }
  }

  void add_node(const Node& node) {
    if (add_view(node)) return;
    if (ops::is_group(node) && is_apart(node)) return add_members(node);
    Step step;
    step.node = &node;
    if (!node.regions.empty() && !ops::is_group(node)) {
      step.reason = "control flow";
      add_regions(node, step);
    } else if (const auto request = request_for(node, step.found)) {
      if (add_on_accelerator(step, *request)) return;
      KernelRequest laid_out = request_on(kHost, *request, step.found, plan_);
      step.kernel = kernels_.of_host(laid_out, step.reason);
      if (step.kernel) return add_kernel_step(std::move(step), laid_out);
      step.by_reference = laid_out.tactic == kReferenceTactic;
    } else {
      step.reason = "its sizes, or its type, are known only when it runs";
    }
    if (ops::is_group(node)) {
      plan_.separated.push_back({&node, step.found});
      return add_members(node);
    }
    for (const Value* input : node.inputs)
      step.inputs.push_back(input == nullptr ? kNoSlot : slots_.plain(*input));
    for (const Value* output : node.outputs)
      step.outputs.push_back(output == nullptr ? kNoSlot : slots_.add(*output, Slot::Home::kMade));
    plan_.steps.push_back(std::move(step));
  }

  bool add_on_accelerator(Step& step, const KernelRequest& request) {
    for (int device = kHost + 1; device < static_cast<int>(plan_.devices.size()); ++device) {
      KernelRequest asked = request_on(device, request, step.found, plan_);
      std::string refusal;
      step.kernel = kernels_.of_accelerator(device, asked, refusal);
      if (step.kernel) {
        step.device = device;
        add_kernel_step(std::move(step), asked);
        return true;
      }
      step.refusal += (step.refusal.empty() ? "" : "; ") + refusal;
    }
    return false;
  }

  bool is_apart(const Node& group) const {
    const auto found = plan_.choices.ungrouped.find(group.output(0)->name);
    return found != plan_.choices.ungrouped.end() && depth_ < found->second;
  }

  // A group that no kernel computes as one: its nodes, one by one.
  void add_members(const Node& group) {
    const Graph& body = ops::body(group);
    int& levels = plan_.choices.ungrouped[group.output(0)->name];
    levels = std::max(levels, depth_ + 1);
    for (size_t i = 0; i < body.inputs.size(); ++i) slots_.alias(*group.inputs[i], *body.inputs[i]);
    ++depth_;
    for (const auto& node : body.nodes()) add_node(*node);
    --depth_;
    for (size_t i = 0; i < body.outputs.size(); ++i) slots_.alias(*body.outputs[i], *group.outputs[i]);
  }

  void add_regions(const Node& node, Step& step) {
    for (const auto& [name, region] : node.regions) {
      plan_.regions[region.get()] = compile_region_(close_region(*region));
      auto& captured = step.captured[region.get()];
      for (const Value* value : captured_values(*region)) {
        if (!value->is_constant()) captured.push_back(slots_.plain(*value));
      }
    }
  }

  // A view of a plain tensor of known sizes takes no step: new sizes, or a part that lies together.
  bool add_view(const Node& node) {
    const auto* def = ops::OpRegistry::instance().find(node);
    if (def == nullptr || node.input(0) == nullptr) return false;
    const auto source = operand_of(*node.input(0));
    if (!source) return false;
    if ((def->traits & ops::kView) != 0 && node.outputs.size() == 1 && node.output(0) != nullptr) {
      const auto target = operand_of(*node.output(0));
      if (!target || source->element != target->element || source->size() != target->size()) return false;
      slots_.view(plain_where_it_lies(*node.input(0)), node, 0, 0);
      return true;
    }
    const auto offsets = part_offsets(node);
    // A part of an image in another layout is cut out of that.
    if (!offsets || slots_.at(slots_.any(*node.input(0))).operand.layout != Layout::kPlain) return false;
    const SlotId whole = slots_.any(*node.input(0));
    const auto bytes = [&](int64_t offset) {
      return static_cast<size_t>(offset) * element_size(source->element);
    };
    if (!std::all_of(offsets->begin(), offsets->end(), [&](int64_t offset) {
          return serves_where_it_lies(slots_.at(whole).device, bytes(offset));
        }))
      return false;
    for (size_t i = 0; i < offsets->size(); ++i) slots_.view(whole, node, i, bytes((*offsets)[i]));
    return true;
  }

  SlotId plain_where_it_lies(const Value& value) {
    return slots_.in(value, Layout::kPlain, slots_.at(slots_.any(value)).device);
  }

  std::optional<KernelRequest> request_for(const Node& node, std::vector<SlotId>& found) {
    for (const Value* input : node.inputs)
      found.push_back(input == nullptr ? kNoSlot : slots_.find_any(*input));
    return request_at(node, found, plan_, packed_);
  }

  void add_kernel_step(Step step, const KernelRequest& request) {
    const Node& node = *step.node;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const bool reads = node.inputs[i] != nullptr && step.kernel->reads(i);
      step.inputs.push_back(reads ? slots_.in(*node.inputs[i], request.in(i).layout, step.device) : kNoSlot);
    }
    for (size_t i = 0; i < node.outputs.size(); ++i)
      step.outputs.push_back(node.outputs[i] == nullptr
                                 ? kNoSlot
                                 : made_slot(*node.outputs[i], request.out(i).layout, step.device));
    plan_.steps.push_back(std::move(step));
  }

  SlotId made_slot(const Value& value, Layout layout, int device) {
    if (layout != Layout::kCache) return slots_.add(value, Slot::Home::kArena, layout, device);
    return slots_.add_in_cache(value, plan_.inputs[plan_.cache_of(value)->input]);
  }

  const Backends backends_;
  const CompileRegion& compile_region_;
  PackedConstants& packed_;
  Plan plan_;
  PlanKernels kernels_;
  PlanSlots slots_;
  int depth_ = 0;  // groups around the node at hand
};

}  // namespace

namespace {
std::atomic<uint64_t> plans_made{0};
}

Plan::Plan() : id(++plans_made) {}
void Plan::renew() {
  id = ++plans_made;
}
Plan::~Plan() = default;
Plan::Plan(Plan&&) noexcept = default;

const MemoryBinding* Plan::cache_of(const Value& output) const {
  const auto found = std::find_if(choices.bindings.begin(), choices.bindings.end(), [&](const auto& binding) {
    return binding.is_cache() && graph->outputs[binding.output]->name == output.name;
  });
  return found == choices.bindings.end() ? nullptr : &*found;
}

int Plan::device_of_input(size_t index) const {
  for (const MemoryBinding& binding : choices.bindings) {
    if (binding.input == index) return binding.device;
  }
  return kHost;
}

int Plan::device_of_output(size_t index) const {
  for (const MemoryBinding& binding : choices.bindings) {
    if (binding.output == index) return binding.device;
  }
  return kHost;
}

bool Plan::fills_storage(SlotId id) const {
  const Slot& slot = slots[static_cast<size_t>(id)];
  return slot.within == 0 && slot.bytes() == slots[static_cast<size_t>(slot.storage)].bytes();
}

size_t Slot::bytes() const {
  if (!known) return 0;
  return static_cast<size_t>(element_count(operand.memory_dims())) * element_size(operand.element);
}

Plan make_plan(std::shared_ptr<const Graph> graph, const Backends& backends,
               const CompileRegion& compile_region, PackedConstants& packed, const PlanChoices& choices,
               const ChooseTactic& choose, KernelCache* cache) {
  return PlanMaker(std::move(graph), backends, compile_region, packed, choices, choose, cache).make();
}

}  // namespace vernier
