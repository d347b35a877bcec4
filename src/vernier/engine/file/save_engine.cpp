#include "vernier/base/hash.h"
#include "vernier/base/threads.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/ir/hash.h"
#include "vernier/ir/text.h"

namespace vernier {

namespace {

// Smaller constants are printed with the graph.
constexpr size_t kOutsideBytes = 256;
// Smaller constants are kept plain only: they are packed again in no time.
constexpr size_t kPackedBytes = 16 << 10;

bool is_outside(const Tensor& tensor) {
  return tensor.type() != ElementType::kString && tensor.byte_size() >= kOutsideBytes;
}

struct Constant {
  Tensor tensor;
  bool plain = false;
  std::vector<std::pair<std::string, std::shared_ptr<const PackedForm>>> forms;
};

class Saver {
 public:
  Saver(const Engine& engine, const SaveOptions& options) : engine_(engine), options_(options) {}

  void save(const std::filesystem::path& path) {
    Manifest manifest = describe();
    texts_.push_back(text(engine_.graph()));
    for (const auto& prepared : engine_.prepared()) {
      texts_.push_back(text(*prepared.plan->graph));
      keep_plain(*prepared.plan);
    }
    add_forms();
    std::vector<Section> sections(1);
    for (const std::string& text : texts_)
      sections.push_back({sections.size() == 1 ? SectionKind::kGraph : SectionKind::kPlan, bytes_of(text)});
    for (const auto& [hash, constant] : constants_) {
      manifest.constants.push_back(entry(hash, constant));
      if (options_.strip_weights) continue;
      if (constant.plain) sections.push_back({SectionKind::kConstant, constant.tensor.bytes()});
      for (const auto& [form, packed] : constant.forms)
        sections.push_back({SectionKind::kPacked, packed->content()});
    }
    const auto payloads = payloads_of_devices();
    for (size_t device = 0; device < payloads.size(); ++device) {
      for (const auto& [name, content] : payloads[device]) {
        manifest.payloads.push_back({name, device});
        sections.push_back({SectionKind::kPayload, bytes_of(content)});
      }
    }
    const std::string json = manifest.json();
    sections[0] = {SectionKind::kManifest, bytes_of(json)};
    engine_.files().require_unchanged();  // what was read of them is in the sections
    write_engine_file(path, sections);
  }

 private:
  static std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
  }

  Manifest describe() {
    Manifest manifest;
    manifest.fingerprint = Fingerprint::here();
    manifest.model_name = options_.model_name;
    manifest.model_hash = options_.model_hash;
    manifest.options = options_.options;
    manifest.passes = engine_.passes();
    manifest.precision = engine_.precision();
    manifest.nodes = engine_.content().nodes;
    manifest.profiles = engine_.options().profiles;
    manifest.build = engine_.options();
    manifest.devices = record_devices(engine_.options());
    manifest.structure = engine_.content().structure;
    manifest.stripped = options_.strip_weights;
    manifest.certificate = options_.certificate;
    std::set<std::vector<std::string>> with_plan;
    for (const auto& prepared : engine_.prepared()) {
      Manifest::Plan plan(Manifest::Tuned({prepared.inputs, prepared.plan->choices}));
      with_plan.insert(plan.inputs);
      plan.threads = prepared.threads;
      plan.steps = describe_steps(*prepared.plan);
      plan.arena_bytes = prepared.plan->arena_bytes;
      manifest.plans.push_back(std::move(plan));
    }
    for (const auto& sizes : engine_.tuned().all()) {
      Manifest::Tuned without_plan(*sizes);
      if (!with_plan.contains(without_plan.inputs)) manifest.tuned.push_back(std::move(without_plan));
    }
    return manifest;
  }

  uint64_t hash_of(const Tensor& tensor) {
    auto& known = hashes_[tensor.identity()];
    if (!known.first.is_defined() || known.first.dims() != tensor.dims() ||
        known.first.type() != tensor.type())
      known = {tensor, hash_tensor(tensor)};
    return known.second;
  }

  // The graph as text; its large constants are noted.
  std::string text(const Graph& graph) {
    TextOptions options;
    options.keep_outside = [&](const Tensor& tensor) -> std::string {
      if (!is_outside(tensor)) return "";
      const uint64_t hash = hash_of(tensor);
      constants_[hash].tensor = tensor;
      return hash_to_text(hash);
    };
    return "model ir=1 {\n" + print(graph, options) + "}\n";
  }

  // Keeps constants as they are if steps read them when they run.
  void keep_plain(const Plan& plan) {
    for (const Slot& slot : plan.slots) {
      if (slot.home == Slot::Home::kConstant && slot.constant.is_defined() && is_outside(slot.constant))
        constants_[hash_of(slot.constant)].plain = true;
    }
  }

  // Gives what kernels of each accelerator run by.
  std::vector<Payloads> payloads_of_devices() const {
    std::vector<Payloads> all(engine_.options().accelerators.size());
    for (const auto& prepared : engine_.prepared()) {
      for (const Step& step : prepared.plan->steps) {
        if (step.kernel != nullptr && step.device != kHost)
          step.kernel->add_payloads(all.at(static_cast<size_t>(step.device) - 1));
      }
    }
    return all;
  }

  // Forms that do not hold their constant are made again, from what is there of it.
  void add_forms() {
    for (auto& [key, packed] : engine_.packed().forms()) {
      const auto found = constants_.find(key.first);
      if (found != constants_.end() && found->second.tensor.byte_size() >= kPackedBytes &&
          holder_of(key.second, engine_.options().accelerators) != nullptr)
        found->second.forms.emplace_back(key.second, packed);
    }
    std::vector<Constant*> all;
    for (auto& [hash, constant] : constants_) all.push_back(&constant);
    parallel_for(static_cast<int64_t>(all.size()), 1, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        all[i]->plain = all[i]->plain || !is_held(*all[i]);
    });
  }

  // Whether the constant can be had back, bit for bit, from a packed form: tried, not assumed.
  bool is_held(const Constant& constant) const {
    const Tensor& tensor = constant.tensor;
    return std::any_of(constant.forms.begin(), constant.forms.end(), [&](const auto& form) {
      const auto holder = holder_of(form.first, engine_.options().accelerators);
      const auto back = holder->unpack(form.first, form.second->content(), tensor.type(), tensor.dims());
      return back && back->identical(tensor);
    });
  }

  static Manifest::Constant entry(uint64_t hash, const Constant& constant) {
    Manifest::Constant entry;
    entry.name = hash_to_text(hash);
    entry.type = ValueType::of(constant.tensor.type(), to_shape(constant.tensor.dims())).text();
    entry.plain = constant.plain;
    for (const auto& [form, packed] : constant.forms) entry.forms.push_back(form);
    return entry;
  }

  const Engine& engine_;
  const SaveOptions& options_;
  std::vector<std::string> texts_;
  std::map<uint64_t, Constant> constants_;
  std::map<const void*, std::pair<Tensor, uint64_t>> hashes_;  // by identity
};

}  // namespace

void save_engine(const Engine& engine, const std::filesystem::path& path, const SaveOptions& options) {
  const auto& accelerators = engine.options().accelerators;
  if (engine.options().fault || std::any_of(accelerators.begin(), accelerators.end(),
                                            [](const auto& driver) { return driver->is_faulty(); }))
    throw usage_error("an engine with a fault in it is not written to a file");
  engine.files().guard([&] { Saver(engine, options).save(path); });
}

}  // namespace vernier
