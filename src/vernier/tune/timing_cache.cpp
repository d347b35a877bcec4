#include "vernier/tune/timing_cache.h"

#include <nlohmann/json.hpp>

#include "vernier/base/error.h"
#include "vernier/base/file.h"

namespace vernier {

namespace {
using Json = nlohmann::ordered_json;
constexpr const char* kSchema = "vernier-timing/1";
}  // namespace

void TimingCache::load(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return;
  const std::lock_guard lock(mutex_);
  try {
    const Json root = Json::parse(read_file(path));
    if (root.at("schema") != kSchema) throw bad_input("is a timing cache of another version");
    for (const auto& [device, requests] : root.at("devices").items()) {
      for (const auto& [request, tactics] : requests.items()) {
        const Records*& known = records_[device][request];
        Records& records = all_.emplace_back(known == nullptr ? Records() : *known);
        for (const auto& [tactic, record] : tactics.items())
          records[tactic] = {record.at("seconds"), record.at("error"), record.at("quarantine")};
        known = &records;
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw bad_input("is no timing cache: {}", error.what())
        .in_file(path)
        .advise("remove the file; the next build writes it anew");
  } catch (Error& error) {
    throw error.in_file(path);
  }
}

void TimingCache::save(const std::filesystem::path& path) const {
  Json devices = Json::object();
  std::unique_lock lock(mutex_);
  for (const auto& [device, requests] : records_) {
    for (const auto& [request, records] : requests) {
      for (const auto& [tactic, record] : *records)
        devices[device][request][tactic] = {
            {"seconds", record.seconds}, {"error", record.error}, {"quarantine", record.quarantine}};
    }
  }
  lock.unlock();
  write_file(path, Json{{"schema", kSchema}, {"devices", devices}}.dump(1));
}

const TimingCache::Records* TimingCache::find(const std::string& request) const {
  const std::lock_guard lock(mutex_);
  const auto device = records_.find(device_);
  if (device == records_.end()) return nullptr;
  const auto found = device->second.find(request);
  return found == device->second.end() ? nullptr : found->second;
}

void TimingCache::put(const std::string& request, Records records) {
  const std::lock_guard lock(mutex_);
  records_[device_][request] = &all_.emplace_back(std::move(records));
}

size_t TimingCache::size() const {
  const std::lock_guard lock(mutex_);
  const auto device = records_.find(device_);
  return device == records_.end() ? 0 : device->second.size();
}

}  // namespace vernier
