#pragma once

#include "vernier/diagnose/under_test/engine_under_test.h"
#include "vernier/engine/engine_runner.h"

namespace vernier {

// An engine of ours: watched where its steps end, so that what it computes stays what it is.
class BuiltEngineUnderTest : public EngineUnderTest {
 public:
  // The runner outlives this.
  explicit BuiltEngineUnderTest(EngineRunner& runner, StartAgain again = nullptr)
      : runner_(runner), again_(std::move(again)) {}

  const std::string& name() const override { return runner_.name(); }
  NamedData run(const NamedData& inputs) override { return runner_.session(inputs).run(inputs); }
  ShownRun show(const NamedData& inputs, const ShowOptions& options = {}) override;
  std::unique_ptr<EngineUnderTest> fresh() override { return again_ ? again_() : nullptr; }
  // A step without a kernel in its plan gets one when its sizes are known, or runs by the reference, which is
  // better than that.
  NumericsContract assumed_contract(const Node& node) const override;

 private:
  // One run; `keep` is called with each inner value where it is made.
  NamedData watch(const NamedData& inputs,
                  const std::function<void(const Value& value, const Datum& datum)>& keep);

  EngineRunner& runner_;
  StartAgain again_;
};

}  // namespace vernier
