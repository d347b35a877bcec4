#include "vernier/engine/engine_device.h"

#include <algorithm>

#include "vernier/exec/device/host_device.h"

namespace vernier {

namespace {

std::vector<EngineDevice> accelerators_of(const Engine& engine) {
  std::vector<EngineDevice> all;
  const auto backends = engine.accelerators();
  for (size_t i = 0; i < backends.size(); ++i) {
    const Driver& driver = *engine.options().accelerators[i];
    all.push_back({kHost + 1 + static_cast<int>(i), &backends[i]->device(),
                   fmt::format("{}:{}", driver.name(), driver.number())});
  }
  return all;
}

}  // namespace

EngineDevice host_of_engine() {
  return {kHost, &host_device(), host_device().name()};
}

EngineDevice preferred_device(const Engine& engine) {
  const auto accelerators = accelerators_of(engine);
  return accelerators.empty() ? host_of_engine() : accelerators.front();
}

EngineDevice find_device(const Engine& engine, std::string_view name) {
  if (name == host_device().name()) return host_of_engine();
  std::string known = host_device().name();
  for (const EngineDevice& each : accelerators_of(engine)) {
    if (each.name == name || each.device->name() == name) return each;
    known += ", " + each.name;
  }
  throw usage_error("the engine has no device '{}'", name).advise(fmt::format("it has: {}", known));
}

std::optional<EngineDevice> device_reaching(const Engine& engine, const void* address) {
  for (const EngineDevice& each : accelerators_of(engine)) {
    if (each.device->reaches(address, 1)) return each;
  }
  return std::nullopt;
}

std::vector<Datum> in_host_memory(const Engine& engine, std::vector<Datum> inputs) {
  Device& device = *preferred_device(engine).device;
  for (Datum& each : inputs) {
    if (!each.is_tensor() || each.tensor.type() == ElementType::kString) continue;
    const auto memory = device.host_memory(each.tensor.byte_size());
    if (memory == nullptr) continue;
    std::ranges::copy(each.tensor.bytes(), memory.get());
    each.tensor = Tensor::borrow(each.tensor.type(), each.tensor.dims(), memory.get(), memory);
  }
  return inputs;
}

}  // namespace vernier
