#include "vernier/tune/timing_cache.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/base/hash.h"

namespace vernier {

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kSchema = "vernier-timing/3";
// This is the version of the bounds that verdicts come from. It counts up with every change of error_analysis
// that could change a verdict: those that are older are forgotten, and times stay.
constexpr int kBounds = 3;

}  // namespace

void TimingCache::load(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return;
  const std::lock_guard lock(mutex_);
  try {
    const Json root = Json::parse(read_file(path));
    if (root.at("schema") != kSchema) throw bad_input("is a timing cache of another version");
    const bool verdicts_hold = root.value("bounds", 1) == kBounds;
    for (const auto& [device, content] : root.at("devices").items()) {
      OfDevice& known = devices_[device];
      for (const auto& [request, times] : content.at("times").items()) {
        for (const auto& [tactic, seconds] : times.items()) known.times[request][tactic] = seconds;
      }
      const Json& verdicts_of_device = content.at("verdicts");
      if (!verdicts_hold) continue;
      for (const auto& [request, contents] : verdicts_of_device.items()) {
        for (const auto& [hash, verdicts] : contents.items()) {
          for (const auto& [tactic, verdict] : verdicts.items())
            known.verdicts[request][hash][tactic] = verdict_of(verdict);
        }
      }
    }
  } catch (const nlohmann::json::exception& error) {
    throw bad_input("is no timing cache: {}", error.what())
        .in_file(path)
        .advise("remove the file; the next build writes it anew");
  } catch (Error& error) {
    throw error.in_file(path).advise("remove the file; the next build writes it anew");
  }
}

void TimingCache::save(const std::filesystem::path& path) const {
  Json devices = Json::object();
  std::unique_lock lock(mutex_);
  for (const auto& [device, content] : devices_) {
    Json times = Json::object(), verdicts = Json::object();
    for (const auto& [request, each] : content.times) times[request] = each;
    for (const auto& [request, contents] : content.verdicts) {
      for (const auto& [hash, tactics] : contents) {
        for (const auto& [tactic, verdict] : tactics) verdicts[request][hash][tactic] = json_of(verdict);
      }
    }
    devices[device] = {{"times", times}, {"verdicts", verdicts}};
  }
  lock.unlock();
  write_file(path, Json{{"schema", kSchema}, {"bounds", kBounds}, {"devices", devices}}.dump(
                       1, ' ', false, Json::error_handler_t::replace));
}

const TimingCache::OfDevice* TimingCache::of_this_device() const {
  const auto found = devices_.find(device_);
  return found == devices_.end() ? nullptr : &found->second;
}

TimingCache::Times TimingCache::times(const std::string& request) const {
  const std::lock_guard lock(mutex_);
  const OfDevice* known = of_this_device();
  if (known == nullptr) return {};
  const auto found = known->times.find(request);
  return found == known->times.end() ? Times() : found->second;
}

TimingCache::Verdicts TimingCache::verdicts(const std::string& request, uint64_t content) const {
  const std::lock_guard lock(mutex_);
  const OfDevice* known = of_this_device();
  if (known == nullptr) return {};
  const auto of_request = known->verdicts.find(request);
  if (of_request == known->verdicts.end()) return {};
  const auto found = of_request->second.find(hash_to_text(content));
  return found == of_request->second.end() ? Verdicts() : found->second;
}

void TimingCache::put(const std::string& request, Times times) {
  const std::lock_guard lock(mutex_);
  devices_[device_].times[request] = std::move(times);
}

void TimingCache::put(const std::string& request, uint64_t content, Verdicts verdicts) {
  const std::lock_guard lock(mutex_);
  devices_[device_].verdicts[request][hash_to_text(content)] = std::move(verdicts);
}

size_t TimingCache::size() const {
  const std::lock_guard lock(mutex_);
  const OfDevice* known = of_this_device();
  return known == nullptr ? 0 : known->times.size();
}

std::shared_ptr<TimingCache> shared_timing_cache(const std::string& device) {
  static std::mutex mutex;
  static std::map<std::string, std::shared_ptr<TimingCache>> caches;
  const std::lock_guard lock(mutex);
  auto& cache = caches[device];
  if (!cache) cache = std::make_shared<TimingCache>(device);
  return cache;
}

namespace {

using Json = nlohmann::ordered_json;

// JSON has no number for what is infinite or none.
double number_of(const Json& json) {
  return json.is_null() ? HUGE_VAL : json.get<double>();
}

}  // namespace

Json json_of(const TacticVerdict& verdict) {
  const auto number = [](double value) { return std::isfinite(value) ? Json(value) : Json(); };
  return {{"error", number(verdict.error)},
          {"deviation", number(verdict.deviation)},
          {"fault", verdict.fault},
          {"refused", verdict.refused}};
}

TacticVerdict verdict_of(const Json& json) {
  return {number_of(json.at("error")), number_of(json.at("deviation")), json.at("fault"), json.at("refused")};
}

}  // namespace vernier
