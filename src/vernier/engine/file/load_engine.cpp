#include "vernier/backends/installed/drivers.h"
#include "vernier/engine/file/engine_file.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/file/recorded_options.h"
#include "vernier/ir/text.h"

namespace vernier {

namespace {

// A constant that the file holds only as kernels packed it.
class PackedContent : public DeferredContent {
 public:
  PackedContent(std::shared_ptr<const Driver> holder, std::string form,
                std::shared_ptr<const PackedForm> packed, ElementType element, Dims dims)
      : holder_(std::move(holder)),
        form_(std::move(form)),
        packed_(std::move(packed)),
        element_(element),
        dims_(std::move(dims)) {}

  const void* get() const override {
    std::call_once(once_, [this] {
      auto tensor =
          holder_ == nullptr ? std::nullopt : holder_->unpack(form_, packed_->content(), element_, dims_);
      if (!tensor) throw bad_input("the engine file holds a constant only as '{}'", form_);
      tensor_ = std::move(*tensor);
    });
    return tensor_.raw();
  }

 private:
  std::shared_ptr<const Driver> holder_;  // null where none is known for the form
  std::string form_;
  std::shared_ptr<const PackedForm> packed_;
  ElementType element_;
  Dims dims_;
  mutable std::once_flag once_;
  mutable Tensor tensor_;
};

uint64_t parse_hash(const std::string& name) {
  char* end = nullptr;
  const uint64_t hash = std::strtoull(name.c_str(), &end, 16);
  if (name.size() != 16 || *end != '\0') throw bad_input("'{}' is no name of a constant", name);
  return hash;
}

// The constants of a file by name, and their packed forms.
class Constants {
 public:
  Constants(const EngineFile& file, const Manifest& manifest,
            const std::vector<std::shared_ptr<const Driver>>& accelerators)
      : accelerators_(accelerators) {
    size_t plain = 0, packed = 0;
    for (const Manifest::Constant& entry : manifest.constants) add(file, entry, plain, packed);
  }

  Tensor find(ElementType element, const Dims& dims, const std::string& name) const {
    const auto found = tensors_.find(name);
    if (found == tensors_.end()) throw bad_input("the engine file holds no constant {}", name);
    if (found->second.type() != element || found->second.dims() != dims)
      throw bad_input("the constant {} is of another type than the graph says", name);
    return found->second;
  }

  void give(PackedConstants& packed) const {
    for (const auto& [name, tensor] : tensors_) packed.know(tensor, parse_hash(name));
    for (const auto& [key, content] : forms_) packed.add(key, content);
  }

 private:
  void add(const EngineFile& file, const Manifest::Constant& entry, size_t& plain, size_t& packed) {
    const ValueType type = parse_value_type(entry.type);
    const auto dims = type.tensor.shape ? to_dims(*type.tensor.shape) : std::nullopt;
    if (!type.is_tensor() || !dims || type.tensor.element == ElementType::kString)
      throw bad_input("the constant {} has the type {}", entry.name, entry.type);
    const ElementType element = type.tensor.element;
    Tensor& tensor = tensors_[entry.name];
    if (entry.plain) {
      const auto bytes = file.section(SectionKind::kConstant, plain++);
      if (bytes.size() != static_cast<size_t>(element_count(*dims)) * element_size(element))
        throw bad_input("the constant {} has {} bytes, which is not {}", entry.name, bytes.size(),
                        entry.type);
      tensor = Tensor::borrow(element, *dims, bytes.data(), file.owner());
    }
    for (const std::string& form : entry.forms) {
      const auto content =
          std::make_shared<PackedForm>(file.section(SectionKind::kPacked, packed++), file.owner());
      forms_.emplace(PackedConstants::Key{parse_hash(entry.name), form}, content);
      if (!tensor.is_defined())
        tensor = Tensor::deferred(
            element, *dims,
            std::make_shared<PackedContent>(holder_of(form, accelerators_), form, content, element, *dims));
    }
    if (!tensor.is_defined()) throw bad_input("the engine file does not hold the constant {}", entry.name);
  }

  std::vector<std::shared_ptr<const Driver>> accelerators_;
  std::map<std::string, Tensor> tensors_;
  PackedConstants::Forms forms_;
};

void require_same_place(const Manifest& manifest) {
  const Fingerprint here = Fingerprint::here();
  const auto require = [](const char* what, const std::string& built, const std::string& have) {
    if (built == have) return;
    throw unsupported("the engine was built for {} '{}', but this is '{}'", what, built, have)
        .advise("build it here again, from the model");
  };
  require("version of Vernier", manifest.fingerprint.vernier, here.vernier);
  if (manifest.fingerprint.cpu != here.cpu)
    throw unsupported("the engine was built for processor '{}', but this is '{}'", manifest.fingerprint.cpu,
                      here.cpu)
        .advise("build it here again, from the model; or, if it was built with --isa, give that here, too");
  require("libraries", manifest.fingerprint.libraries, here.libraries);
  if (manifest.stripped)
    throw unsupported("the engine file has no weights")
        .advise("give it some: vernier build MODEL --refit FILE");
}

// Holds what graphs are read from, as long as one is to be read.
struct Graphs {
  EngineFile file;
  Constants constants;

  std::unique_ptr<Graph> parse(SectionKind kind, size_t index) const {
    return parse_model(file.text(kind, index),
                       [&](ElementType element, const Dims& dims, const std::string& name) {
                         return constants.find(element, dims, name);
                       })
        .graph;
  }
};

void give_payloads(const EngineFile& file, const Manifest& manifest, const EngineKernels& kernels) {
  std::vector<Payloads> payloads(manifest.devices.size());
  for (size_t i = 0; i < manifest.payloads.size(); ++i) {
    const auto& [name, device] = manifest.payloads[i];
    if (device >= payloads.size())
      throw bad_input("the engine file has '{}' for the device {}, and {} devices", name, device,
                      payloads.size());
    payloads[device].emplace(name, file.text(SectionKind::kPayload, i));
  }
  const auto accelerators = kernels.steered_accelerators();
  for (size_t i = 0; i < payloads.size(); ++i) accelerators.at(i)->take(payloads[i]);
}

LoadedEngine load(const EngineFile& file, const std::filesystem::path& path) {
  LoadedEngine loaded;
  loaded.manifest = Manifest::parse(file.text(SectionKind::kManifest));
  const Manifest& manifest = loaded.manifest;
  require_same_place(manifest);
  BuildOptions options = manifest.build;
  options.profiles = manifest.profiles;
  options.accelerators = drivers_of(manifest.devices);
  const auto graphs =
      std::make_shared<const Graphs>(Graphs{file, Constants(file, manifest, options.accelerators)});
  const auto planner =
      std::make_shared<Planner>(EngineContent{graphs->parse(SectionKind::kGraph, 0), manifest.passes,
                                              manifest.precision, manifest.nodes, manifest.structure},
                                options);
  planner->files().add(file.file());
  graphs->constants.give(planner->packed());
  give_payloads(file, manifest, planner->kernels());
  TunedChoices tuned;
  std::vector<RestoredPlan::Recipe> recorded;
  for (size_t i = 0; i < manifest.plans.size(); ++i) {
    const Manifest::Plan& plan = manifest.plans[i];
    TunedSizes sizes = plan.sizes();
    tuned.add(sizes);
    const auto in_file = [path](const auto& work) {
      try {
        return work();
      } catch (Error& error) {
        throw error.in_file(path);
      }
    };
    recorded.push_back({std::move(sizes.inputs), std::move(sizes.choices), plan.threads, plan.arena_bytes,
                        [=] { return in_file([&] { return graphs->parse(SectionKind::kPlan, i); }); },
                        [=](const Plan& made) { in_file([&] { plan.require_same_kernels(made); }); }});
  }
  for (const Manifest::Tuned& each : manifest.tuned) tuned.add(each.sizes());
  loaded.engine = std::make_shared<const Engine>(planner, std::vector<PreparedPlan>(), std::move(tuned),
                                                 Tuning(), std::move(recorded));
  return loaded;
}

}  // namespace

LoadedEngine load_engine(const std::filesystem::path& path) {
  try {
    const auto file = EngineFile::open(path, EngineFile::Constants::kComparedMeanwhile);
    LoadedEngine loaded;
    SourceFiles files;
    files.add(file.file());
    files.guard([&] {
      try {
        loaded = load(file, path);
      } catch (...) {
        file.compare_all();  // of damage comes anything
        throw;
      }
      file.compare_all();
    });
    return loaded;
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

Manifest read_manifest(const std::filesystem::path& path) {
  try {
    return Manifest::parse(EngineFile::open(path).text(SectionKind::kManifest));
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

}  // namespace vernier
