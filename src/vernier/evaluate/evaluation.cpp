#include "vernier/evaluate/evaluation.h"

#include "vernier/base/error.h"
#include "vernier/base/hash.h"

namespace vernier {

namespace {

uint64_t hash_of_inputs(const NamedData& inputs) {
  uint64_t sum = 0;
  for (const auto& [name, datum] : inputs) {
    sum = hash_text(name, sum);
    if (!datum.is_tensor() || datum.tensor.type() == ElementType::kString) continue;
    sum = hash_text(element_type_short_name(datum.tensor.type()),
                    hash_text(dims_text(datum.tensor.dims()), sum));
    sum = hash_bytes(datum.tensor.raw(), datum.tensor.byte_size(), sum);
  }
  return sum;
}

NamedData outputs_of(Trace trace) {
  NamedData outputs;
  for (TraceEntry& entry : trace.entries) {
    if (entry.is_output) outputs[entry.value] = std::move(entry.datum);
  }
  return outputs;
}

class SampleRun {
 public:
  SampleRun(const EvaluationJob& job, size_t index, const LabelledSample& sample)
      : job_(job), sample_(sample) {
    result_.index = index;
    result_.origin = sample.sample.origin;
    result_.inputs_hash = hash_of_inputs(sample.sample.inputs);
    result_.failures.resize(job.runners.size());
    result_.scores.assign(job.metrics.size(), std::vector<RowScores>(job.runners.size()));
  }

  SampleScores run() {
    reference_ = made_by(job_.against);
    score(job_.against, reference_);
    for (size_t runner = 0; runner < job_.runners.size(); ++runner) {
      if (runner == job_.against) continue;
      try {
        score(runner, made_by(runner));
      } catch (const Error& error) {
        if (error.code() == ErrorCode::kInternal) throw;
        result_.failures[runner] = error.what();
        for (auto& of_metric : result_.scores) of_metric[runner].clear();
      }
    }
    return std::move(result_);
  }

 private:
  NamedData made_by(size_t runner) const {
    job_.progress(result_.index, job_.runners[runner]->name());
    return outputs_of(job_.runners[runner]->run(sample_.sample.inputs, {}));
  }

  void score(size_t runner, const NamedData& outputs) {
    for (size_t m = 0; m < job_.metrics.size(); ++m) {
      auto& rows = result_.scores[m][runner];
      rows = job_.metrics[m]->score({outputs, reference_, sample_.label});
      const size_t wanted = result_.scores[m][job_.against].size();
      if (rows.size() != wanted)
        throw bad_input("the outputs have {} rows, and those of the reference {}", rows.size(), wanted);
    }
  }

  const EvaluationJob& job_;
  const LabelledSample& sample_;
  SampleScores result_;
  NamedData reference_;
};

}  // namespace

void run_evaluation(const EvaluationJob& job, LabelledSource& data, EvaluationPart& part) {
  for (const TaskMetric* metric : job.metrics) require_labels(*metric, data.has_labels());
  size_t index = 0;
  for (;; ++index) {
    if (!job.shard.holds(index)) {
      if (!data.skip()) break;
      continue;
    }
    const auto sample = data.next();
    if (!sample) break;
    try {
      part.scores.push_back(SampleRun(job, index, *sample).run());
    } catch (Error& error) {
      throw error.in_file(sample->sample.origin);
    }
  }
  if (index == 0) throw bad_input("the data hold no sample");
  part.samples = index;
}

}  // namespace vernier
