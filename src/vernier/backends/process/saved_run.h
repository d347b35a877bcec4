// Recorded runs: what a runner yielded on several samples, in one safetensors file (docs/saved-runs.md).
#pragma once

#include <vector>

#include "vernier/base/file.h"
#include "vernier/data/formats/safetensors.h"
#include "vernier/exec/runner.h"

namespace vernier {

// Equal for equal names, kinds, types, sizes and bits.
uint64_t hash_of(const NamedData& data);

// Records traces one by one; memory does not grow with their number. Nothing is at `path` before finish().
class RunRecorder {
 public:
  RunRecorder(std::filesystem::path path, std::string runner, std::map<std::string, std::string> description);
  // The trace of the next sample. Throws bad_input when a value occurs twice in it.
  void add(const NamedData& inputs, const Trace& trace);
  void finish();

 private:
  std::filesystem::path path_;
  std::string runner_;
  std::map<std::string, std::string> description_;
  TemporaryFolder folder_;
  std::vector<std::string> samples_;  // their JSON
};

// Yields recorded traces in their order, provided that the inputs are those of the recording.
class LoadedRun : public Runner {
 public:
  // Throws bad_input when the file is damaged or no recorded run.
  explicit LoadedRun(const std::filesystem::path& path);

  // "onnxruntime from a.run"
  const std::string& name() const override { return name_; }
  std::map<std::string, std::string> description() override { return description_; }
  size_t sample_count() const { return samples_.size(); }
  // Sample `index` as it was recorded, without regard to any inputs. Throws bad_input behind the last.
  Trace trace(size_t index) const;
  // The first sample whose inputs are these, in whatever order they are asked for. Throws bad_input if none.
  Trace trace_on(const NamedData& inputs) const;
  // Throws bad_input when the inputs of this sample were others, usage_error when there are no more samples.
  // Inner values that were not recorded are left out with a note.
  Trace run(const NamedData& inputs, const std::vector<std::string>& taps) override;
  bool can_repeat() const override { return false; }  // the next sample follows

 private:
  struct Sample {
    uint64_t inputs_hash = 0;
    Trace trace;                    // entries without data
    std::vector<std::string> keys;  // where the data of each entry is in the file
  };
  static Sample parse_sample(const std::string& text);

  SafetensorsFile file_;
  std::string name_;
  std::map<std::string, std::string> description_;
  std::vector<Sample> samples_;
  size_t next_ = 0;
};

}  // namespace vernier
