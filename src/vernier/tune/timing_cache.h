// Keeps what tactics took, and which were found wrong, for each device: a JSON file that builds share. Times
// are of a request, whatever its constants hold; verdicts are of a request with these constants.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace vernier {

// Holds the result of verifying a tactic.
struct TacticVerdict {
  double error = 0;        // relative L2 distance from the reference
  double deviation = 0;    // the largest of an element, in units of its bound; more than 1 is a fault
  std::string fault = {};  // why the tactic must not be used; "" for nothing
  bool refused = false;    // the backend makes no kernel; `fault` says why

  bool may_be_used() const { return fault.empty() && !refused; }
};

// Thread-safe.
class TimingCache {
 public:
  // By the tactic's name; "" is the backend's own choice. Seconds of the shortest run.
  using Times = std::map<std::string, double>;
  using Verdicts = std::map<std::string, TacticVerdict>;

  // `device` names all that a time depends on besides the request: processor, libraries, threads.
  explicit TimingCache(std::string device) : device_(std::move(device)) {}
  // Adds what the file holds; a missing file holds nothing. Throws bad_input for one that is no timing cache.
  void load(const std::filesystem::path& path);
  // Atomic. Other devices' records in the file that was loaded are kept.
  void save(const std::filesystem::path& path) const;

  // Empty if nothing was timed, or verified, on this device.
  Times times(const std::string& request) const;
  Verdicts verdicts(const std::string& request, uint64_t content) const;
  void put(const std::string& request, Times times);
  void put(const std::string& request, uint64_t content, Verdicts verdicts);
  size_t size() const;  // requests of this device that have times

 private:
  struct OfDevice {
    std::map<std::string, Times> times;                               // by request
    std::map<std::string, std::map<std::string, Verdicts>> verdicts;  // by request and content
  };
  const OfDevice* of_this_device() const;

  std::string device_;
  mutable std::mutex mutex_;
  std::map<std::string, OfDevice> devices_;
};

// The timing cache of this process, for builds that are given none: what one of them timed, the next need
// not.

// One for each device, see TimingCache. Thread-safe.
std::shared_ptr<TimingCache> shared_timing_cache(const std::string& device);

// Verdicts of tactics as JSON: in the file of a timing cache, and on the way from a child process.
nlohmann::ordered_json json_of(const TacticVerdict& verdict);
// Throws nlohmann::json::exception for what is none.
TacticVerdict verdict_of(const nlohmann::ordered_json& json);

}  // namespace vernier
