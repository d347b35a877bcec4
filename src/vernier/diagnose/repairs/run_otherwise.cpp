// Ways to run a sample that keep an engine from mixing up runs, or rows of a batch.
#include <algorithm>

#include "vernier/diagnose/repairs/candidate.h"

namespace vernier {

namespace {

// The run before is then one of the same sample.
Trace second_of_two(Runner& runner, const NamedData& inputs) {
  runner.run(inputs, {});
  return runner.run(inputs, {});
}

// Row `row` of the first axis, as a batch of one.
Tensor row_of(const Tensor& tensor, int64_t row) {
  const size_t bytes = tensor.byte_size() / static_cast<size_t>(tensor.dims()[0]);
  Dims dims = tensor.dims();
  dims[0] = 1;
  Tensor result(tensor.type(), dims);
  std::copy_n(tensor.bytes().begin() + static_cast<ptrdiff_t>(static_cast<size_t>(row) * bytes), bytes,
              static_cast<std::byte*>(result.mutable_raw()));
  return result;
}

void append(Tensor& all, const Tensor& row) {
  if (!all.is_defined()) {
    all = row;
    return;
  }
  Dims dims = all.dims();
  dims[0] += row.dims().at(0);
  Tensor joined(all.type(), dims);
  auto* to = static_cast<std::byte*>(joined.mutable_raw());
  to = std::copy(all.bytes().begin(), all.bytes().end(), to);
  std::copy(row.bytes().begin(), row.bytes().end(), to);
  all = std::move(joined);
}

Trace row_by_row(Runner& runner, const NamedData& inputs) {
  const auto& first = inputs.begin()->second.as_tensor();
  const int64_t rows = first.rank() > 0 ? first.dims()[0] : 0;
  for (const auto& [name, datum] : inputs) {
    const Tensor& tensor = datum.as_tensor();
    if (tensor.rank() == 0 || tensor.dims()[0] != rows || rows < 2 || tensor.type() == ElementType::kString)
      throw unsupported("'{}' is no batch of {} rows", name, rows);
  }
  Trace all;
  for (int64_t i = 0; i < rows; ++i) {
    NamedData row;
    for (const auto& [name, datum] : inputs) row[name] = row_of(datum.tensor, i);
    Trace one = runner.run(row, {});
    if (i == 0) {
      all = std::move(one);
      continue;
    }
    for (size_t k = 0; k < all.entries.size(); ++k)
      append(all.entries[k].datum.tensor, one.entries.at(k).datum.as_tensor());
  }
  return all;
}

}  // namespace

void run_otherwise(const RepairContext& context, std::vector<RepairCandidate>& candidates) {
  const std::string code = context.failure.code();
  if (code == "B43") {
    RepairCandidate candidate{Repair::Kind::kCaller, "row-by-row", "run the rows of a batch one by one"};
    candidate.run = row_by_row;
    candidates.push_back(std::move(candidate));
  }
  if (code != "B44" && code != "B46") return;
  RepairCandidate candidate{Repair::Kind::kCaller, "second-of-two",
                            code == "B44"
                                ? "wait for the stream before results are read; until then, run each sample "
                                  "twice and take the second answer"
                                : "clear or own the buffers between runs; until then, run each sample twice "
                                  "and take the second answer"};
  candidate.run = second_of_two;
  // A race is lost now and then: that the second of two runs was right once says little.
  constexpr size_t kOften = 8;
  if (code == "B44") candidate.times = kOften;
  candidates.push_back(std::move(candidate));
  if (code != "B46") return;
  RepairCandidate fresh{Repair::Kind::kCaller, "started-anew",
                        "clear the buffers between runs; until then, start the engine anew for each run"};
  fresh.starts_anew = true;
  candidates.push_back(std::move(fresh));
}

}  // namespace vernier
