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
  try {
    const Json root = Json::parse(read_file(path));
    if (root.at("schema") != kSchema) throw bad_input("is a timing cache of another version");
    for (const auto& [device, requests] : root.at("devices").items()) {
      for (const auto& [request, tactics] : requests.items()) {
        for (const auto& [tactic, record] : tactics.items())
          records_[device][request][tactic] = {record.at("seconds"), record.at("error"),
                                               record.at("quarantine")};
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
  for (const auto& [device, requests] : records_) {
    for (const auto& [request, records] : requests) {
      for (const auto& [tactic, record] : records)
        devices[device][request][tactic] = {
            {"seconds", record.seconds}, {"error", record.error}, {"quarantine", record.quarantine}};
    }
  }
  write_file(path, Json{{"schema", kSchema}, {"devices", devices}}.dump(1, ' ', false,
                                                                        Json::error_handler_t::replace));
}

const TimingCache::Records* TimingCache::find(const std::string& request) const {
  const auto device = records_.find(device_);
  if (device == records_.end()) return nullptr;
  const auto found = device->second.find(request);
  return found == device->second.end() ? nullptr : &found->second;
}

void TimingCache::put(const std::string& request, Records records) {
  records_[device_][request] = std::move(records);
}

size_t TimingCache::size() const {
  const auto device = records_.find(device_);
  return device == records_.end() ? 0 : device->second.size();
}

}  // namespace vernier
