// What tactics took, and which were found wrong, for each device and request: a JSON file that builds share.
#pragma once

#include <filesystem>
#include <list>
#include <map>
#include <mutex>
#include <string>

namespace vernier {

// Of one tactic for one request.
struct TacticRecord {
  double seconds = 0;      // the shortest run; 0 where it is in quarantine, or was not timed
  double error = 0;        // relative L2 distance from the reference
  std::string quarantine;  // why it must not be used; "" for nothing
};

// Thread-safe.
class TimingCache {
 public:
  // By the tactic's name; "" is the backend's own choice.
  using Records = std::map<std::string, TacticRecord>;

  // `device` names all that a time depends on besides the request: processor, libraries, threads.
  explicit TimingCache(std::string device) : device_(std::move(device)) {}
  // Adds what the file holds; a missing file holds nothing. Throws bad_input for one that is no timing cache.
  void load(const std::filesystem::path& path);
  // Atomic. Other devices' records in the file that was loaded are kept.
  void save(const std::filesystem::path& path) const;

  // Null if the request was never tried on this device. Valid as long as the cache, whatever is put.
  const Records* find(const std::string& request) const;
  void put(const std::string& request, Records records);
  size_t size() const;  // requests of this device

 private:
  std::string device_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, const Records*>> records_;  // by device and request
  std::list<Records> all_;  // what was put, the records that others have replaced included
};

}  // namespace vernier
