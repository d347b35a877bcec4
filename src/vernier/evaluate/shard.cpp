#include "vernier/evaluate/shard.h"

#include <charconv>
#include <cstdlib>

#include "vernier/base/error.h"

namespace vernier {

namespace {

size_t number_of(const std::string& text, const std::string& what) {
  size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    throw usage_error("{} is '{}', which is no number", what, text);
  return value;
}

size_t slurm_number(const char* name) {
  const char* text = std::getenv(name);
  if (text == nullptr)
    throw usage_error("--shard slurm needs {}, which is not set", name)
        .advise("start it with sbatch --array, or give --shard I/N");
  return number_of(text, name);
}

}  // namespace

Shard parse_shard(const std::string& text) {
  Shard shard;
  if (text.empty()) return shard;
  if (text == "slurm") {
    shard.index = slurm_number("SLURM_ARRAY_TASK_ID") - slurm_number("SLURM_ARRAY_TASK_MIN") + 1;
    shard.count = slurm_number("SLURM_ARRAY_TASK_COUNT");
  } else {
    const size_t slash = text.find('/');
    if (slash == std::string::npos)
      throw usage_error("--shard '{}' is not I/N", text).advise("the second of seven is 2/7");
    shard.index = number_of(text.substr(0, slash), "--shard");
    shard.count = number_of(text.substr(slash + 1), "--shard");
  }
  if (shard.index < 1 || shard.index > shard.count)
    throw usage_error("--shard {}/{}: the first of N is 1/N, the last N/N", shard.index, shard.count)
        .advise("arrays of SLURM must have steps of 1");
  return shard;
}

}  // namespace vernier
