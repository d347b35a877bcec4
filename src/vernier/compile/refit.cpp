#include "vernier/compile/refit.h"

#include "vernier/base/thread_limit.h"
#include "vernier/engine/file/engine_io.h"
#include "vernier/engine/file/recorded_devices.h"
#include "vernier/engine/file/recorded_options.h"

namespace vernier {

std::shared_ptr<const Engine> refit_engine(const std::filesystem::path& path, const Model& model,
                                           const BuildOptions& options) {
  const Manifest manifest = read_manifest(path);
  require_structure(*model.graph, manifest.structure, manifest.nodes);
  BuildOptions recorded = manifest.build;
  recorded.profiles = manifest.profiles;
  recorded.accelerators = drivers_of(manifest.devices);
  recorded.timing_cache = options.timing_cache;
  recorded.fault = options.fault;
  Compiler compiler(model, recorded);
  for (const Manifest::Plan& plan : manifest.plans) {
    const ThreadLimit scope(plan.threads);
    const TunedSizes sizes = plan.sizes();
    if (sizes.inputs.size() != compiler.graph().inputs.size())
      throw bad_input("the model has {} inputs, the engine {}", compiler.graph().inputs.size(),
                      sizes.inputs.size());
    compiler.prepare(sizes.inputs, sizes.choices);
    plan.require_same_kernels(*compiler.prepared().back().plan);
  }
  for (const Manifest::Tuned& tuned : manifest.tuned) compiler.keep_choices(tuned.sizes());
  return compiler.engine();
}

}  // namespace vernier
