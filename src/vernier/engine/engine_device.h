// The devices of an engine, as memory of its callers is bound to them.
#pragma once

#include <string_view>

#include "vernier/engine/engine.h"

namespace vernier {

struct EngineDevice {
  int number;  // MemoryBinding::device
  Device* device;
  std::string name;  // "cpu", "cuda:1"
};

// These live as long as the engine.

// Where caches that a session keeps lie best: the accelerator that the engine prefers, since the attention
// that reads caches runs there; the host where there is none.
EngineDevice preferred_device(const Engine& engine);
EngineDevice host_of_engine();
// By its name as build options have it: "cpu", "cuda" for the first of this name, "cuda:1". Throws
// usage_error for a device that the engine does not have.
EngineDevice find_device(const Engine& engine, std::string_view name);
// The accelerator that reaches this address; nothing if none does.
std::optional<EngineDevice> device_reaching(const Engine& engine, const void* address);
// For a program that runs an engine again and again: gives the same values, those of tensors in memory of
// the host from which the preferred device copies at once (Device::host_memory).
std::vector<Datum> in_host_memory(const Engine& engine, std::vector<Datum> inputs);

}  // namespace vernier
