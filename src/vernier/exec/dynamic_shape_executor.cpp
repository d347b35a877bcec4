#include "vernier/exec/dynamic_shape_executor.h"

#include <chrono>

#include "vernier/exec/node_request.h"
#include "vernier/exec/probing/observer.h"
#include "vernier/exec/program_run.h"
#include "vernier/ops/reference_context.h"

namespace vernier {

namespace {

// The node, with kinds, types and sizes of the inputs, and small contents if they are looked at.
void set_key(std::vector<int64_t>& key, const Plan& plan, const Node& node,
             const std::vector<const Datum*>& inputs, NodeContent content) {
  key.assign({static_cast<int64_t>(plan.id), static_cast<int64_t>(reinterpret_cast<intptr_t>(&node)),
              static_cast<int64_t>(content)});
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i] == nullptr || !inputs[i]->is_tensor()) {
      key.push_back(-1);
      continue;
    }
    const Tensor& tensor = inputs[i]->tensor;
    key.push_back(tensor.rank());
    key.push_back(static_cast<int64_t>(tensor.type()));
    key.insert(key.end(), tensor.dims().begin(), tensor.dims().end());
    if (content == NodeContent::kNone || node.inputs[i]->is_constant() || !is_small_content(tensor)) continue;
    const auto* bytes = static_cast<const uint8_t*>(tensor.raw());
    key.insert(key.end(), bytes, bytes + tensor.byte_size());
  }
}

void add_outputs(const KernelRequest& request, std::vector<int64_t>& key) {
  for (const auto& output : request.outputs) {
    if (output) key.insert(key.end(), output->dims.begin(), output->dims.end());
  }
}

}  // namespace

class DynamicShapeExecutor::Context : public ops::ReferenceContext {
 public:
  using ReferenceContext::ReferenceContext;
  std::function<std::vector<Datum>(const Graph&, std::vector<Datum>)> region;
  std::vector<Datum> run_region(const Graph& graph, std::vector<Datum> inputs) override {
    return region(graph, std::move(inputs));
  }
};

DynamicShapeExecutor::DynamicShapeExecutor(const Backend& kernels) : kernels_(kernels) {}
DynamicShapeExecutor::~DynamicShapeExecutor() = default;

size_t DynamicShapeExecutor::bytes() const {
  size_t total = scratch_.bytes() + region_memory_.bytes();
  for (const auto& region : regions_) total += region.second ? region.second->bytes() : 0;
  return total;
}

size_t DynamicShapeExecutor::HashKey::operator()(const Key& key) const {
  uint64_t hash = key.size();
  for (const int64_t part : key) {
    hash = (hash ^ static_cast<uint64_t>(part)) * 0x9e3779b97f4a7c15;
    hash ^= hash >> 32;
  }
  return hash;
}

template <class Make>
const DynamicShapeExecutor::Kept& DynamicShapeExecutor::kept(const Make& make) {
  if (const auto found = kept_.find(key_); found != kept_.end()) return found->second;
  if (kept_.size() >= kMaxKept) kept_.clear();
  return kept_.emplace(key_, make()).first->second;
}

DynamicShapeExecutor::Kept DynamicShapeExecutor::make_kept(KernelRequest request) const {
  std::string reason;
  Kept made;
  made.kernel = kernels_.make(request, reason);
  made.outputs = std::move(request.outputs);
  return made;
}

std::vector<Datum> DynamicShapeExecutor::run_kernel(const Kept& kept,
                                                    const std::vector<const Datum*>& inputs) {
  const Kernel& kernel = *kept.kernel;
  from_.clear();
  to_.clear();
  for (const Datum* input : inputs) from_.push_back(input == nullptr ? nullptr : input->tensor.raw());
  std::byte* scratch = scratch_.at_least(kernel.scratch_bytes);
  if (kernel.measures()) {
    sizes_.resize(kept.outputs.size());
    kernel.measure({from_.data(), nullptr, scratch}, sizes_);
  }
  std::vector<Datum> results(kept.outputs.size());
  for (size_t i = 0; i < results.size(); ++i) {
    const auto& output = kept.outputs[i];
    if (output) results[i] = Tensor(output->element, kernel.measures() ? sizes_[i] : output->dims);
    to_.push_back(output ? results[i].tensor.mutable_raw() : nullptr);
  }
  kernel.run({from_.data(), to_.data(), scratch});
  return results;
}

DynamicShapeExecutor::Made DynamicShapeExecutor::run_kept(const Kept& kept,
                                                          const std::vector<const Datum*>& inputs) {
  if (!kept.results.empty()) return {kept.results, kByInference};
  if (kept.is_view) return {{inputs[0]->tensor.reshaped(kept.outputs[0]->dims)}, kByView};
  return {run_kernel(kept, inputs), kept.kernel->name};
}

std::vector<Datum> DynamicShapeExecutor::run_region(const Plan& plan, const Graph& region,
                                                    std::vector<Datum> inputs, const RunOptions& options) {
  const auto program = plan.regions.find(&region);
  if (program == plan.regions.end()) throw internal_error("region '{}' was not compiled", region.name);
  auto& run = regions_[program->second];
  if (!run) run = std::make_unique<ProgramRun>(*program->second, region_memory_);
  Observer inside;
  if (options.observer != nullptr) {
    inside.made_when_run = options.observer->made_when_run;
    inside.after = inside.after_inside = options.observer->after_inside;
  }
  const bool is_watched = inside.made_when_run || inside.after;
  // Results that leave the node are detached from memory that lives only as long as its step.
  return run->run(inputs,
                  {.observer = is_watched ? &inside : nullptr, .stop = options.stop, .shares_inputs = true});
}

const DynamicShapeExecutor::Kept& DynamicShapeExecutor::kept_by(NodeContent content, const Plan& plan,
                                                                const Node& node, const ops::OpDef& def,
                                                                const std::vector<const Datum*>& inputs) {
  set_key(key_, plan, node, inputs, content);
  return kept([&] {
    auto inferred = std::make_shared<InferredNode>(node, def, inputs, content);
    Kept made;
    if (content == NodeContent::kNone) made.results = inferred->results(node);
    if (made.runs()) return made;
    auto request = request_for(node, inputs, *inferred, content);
    if (!request) return made;
    made.is_view = is_view(def, *request);
    if (made.is_view) {
      made.outputs = std::move(request->outputs);
      return made;
    }
    const bool open_sizes = request->open_sizes;
    made = make_kept(std::move(*request));
    if (!made.kernel && !open_sizes) made.inferred = std::move(inferred);
    return made;
  });
}

DynamicShapeExecutor::Made DynamicShapeExecutor::run_by_any(const Plan& plan, const Step& step,
                                                            const std::vector<const Datum*>& inputs,
                                                            const Captured& captured,
                                                            const RunOptions& options) {
  const Node& node = *step.node;
  const bool may_have_kernel = node.regions.empty() && !step.by_reference;
  const ops::OpDef& def = ops::OpRegistry::instance().require(node);
  std::shared_ptr<const InferredNode> inferred;
  if (may_have_kernel) {
    // Mostly sizes are enough; a kernel for each content that comes would be made in vain.
    const Kept& by_sizes = kept_by(NodeContent::kNone, plan, node, def, inputs);
    if (by_sizes.runs()) return run_kept(by_sizes, inputs);
    const Kept& by_content = kept_by(NodeContent::kSmall, plan, node, def, inputs);
    if (by_content.runs()) return run_kept(by_content, inputs);
    inferred = by_content.inferred;
  }
  if (!inferred) {
    // Sizes of outputs may follow from contents that are not small.
    inferred = std::make_shared<InferredNode>(node, def, inputs, NodeContent::kAll);
    auto request = request_for(node, inputs, *inferred, NodeContent::kSmall);
    if (request && !request->open_sizes && may_have_kernel) {
      set_key(key_, plan, node, inputs, NodeContent::kAll);
      add_outputs(*request, key_);
      const Kept& by_outputs = kept([&] { return make_kept(std::move(*request)); });
      if (by_outputs.kernel) return run_kept(by_outputs, inputs);
    }
  }
  Context context(node, ops::ReferenceMode::kDeclared, inputs, inferred->declared, inferred->outputs);
  context.region = [&](const Graph& region, std::vector<Datum> arguments) {
    if (const auto found = captured.find(&region); found != captured.end())
      arguments.insert(arguments.end(), found->second.begin(), found->second.end());
    return run_region(plan, region, std::move(arguments), options);
  };
  def.reference(context);
  return {std::move(context.results()), {}};
}

std::vector<Datum> DynamicShapeExecutor::run(const Plan& plan, const Step& step,
                                             const std::vector<const Datum*>& inputs,
                                             const Captured& captured, const RunOptions& options) {
  using Clock = std::chrono::steady_clock;
  const Node& node = *step.node;
  const bool watched = options.observer != nullptr && options.observer->made_when_run && node.regions.empty();
  try {
    const auto start = watched ? Clock::now() : Clock::time_point();
    Made made = run_by_any(plan, step, inputs, captured, options);
    if (watched) options.observer->made_when_run(step, made.by, (Clock::now() - start).count());
    return std::move(made.results);
  } catch (Error& error) {
    throw error.at_node(node.name);
  }
}

}  // namespace vernier
