// A plan that is probed once is not probed again, also by another process.
#include "vernier/search/probe_memory.h"

#include "search/fake_prober.h"
#include "vernier/base/file.h"

namespace vernier {
namespace {

std::vector<std::map<ElementType, FakeProber::Cost>> some_units() {
  std::vector<std::map<ElementType, FakeProber::Cost>> units(6, {{kHalf, {1, 0.01}}});
  units[2][kHalf].error = std::numeric_limits<double>::infinity();
  return units;
}

SearchResult search(
    PlanProber& prober, std::function<bool()> is_over = [] { return false; }) {
  SearchOptions options;
  options.limit = 0.02;
  options.is_over = std::move(is_over);
  return PlanSearch(prober, options).run();
}

class ProbeMemoryTest : public testing::Test {
 protected:
  std::filesystem::path file() const { return folder_.path() / "state.json"; }
  std::string refusal(const std::string& content, const std::string& subject = "this") {
    write_file(file(), content);
    FakeProber prober(some_units());
    try {
      const ProbeMemory memory(prober, file(), subject);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kBadInput);
      EXPECT_NE(std::string(error.what()).find("state.json"), std::string::npos);
      return error.what();
    }
    return "";
  }
  TemporaryFolder folder_;
};

TEST_F(ProbeMemoryTest, ASecondSearchGoesOnWhereTheFirstEnded) {
  FakeProber whole(some_units());
  const SearchResult expected = search(whole);

  FakeProber first(some_units());
  ProbeMemory memory(first, file(), "this");
  const SearchResult partial = search(memory, [&] { return first.scores >= 5; });
  EXPECT_FALSE(partial.finished);
  memory.save();

  FakeProber second(some_units());
  ProbeMemory again(second, file(), "this");
  EXPECT_EQ(again.remembered(), 5);
  const SearchResult result = search(again);
  EXPECT_TRUE(result.finished);
  EXPECT_EQ(result.raced[*result.chosen].types, expected.raced[*expected.chosen].types);
  const size_t in_races = 2 * result.raced.size();
  EXPECT_EQ(second.scores + 5, result.probes + in_races);
}

TEST_F(ProbeMemoryTest, InfiniteErrorsSurvive) {
  FakeProber prober(some_units());
  ProbeMemory memory(prober, file(), "this");
  const TypeAssignment bad{kWide, kWide, kHalf, kWide, kWide, kWide};
  memory.score(bad, DataPart::kScreening);
  memory.save();
  FakeProber other(some_units());
  ProbeMemory again(other, file(), "this");
  EXPECT_EQ(again.score(bad, DataPart::kScreening)->error, std::numeric_limits<double>::infinity());
  EXPECT_EQ(other.scores, 0);
}

TEST_F(ProbeMemoryTest, ADamagedFileIsRefused) {
  FakeProber prober(some_units());
  ProbeMemory memory(prober, file(), "this");
  search(memory);
  memory.save();
  const std::string sound = read_file(file());
  EXPECT_EQ(refusal(sound), "");
  EXPECT_NE(refusal(sound, "another"), "");
  EXPECT_NE(refusal("{}"), "");
  EXPECT_NE(refusal(sound.substr(0, sound.size() / 2)), "");
  EXPECT_NE(refusal(R"({"schema": "vernier-plan", "version": 1, "layers": {}})"), "");
  const std::string scores =
      R"({"schema": "vernier-tune-state", "version": 1, "subject": "this", "notes": [], )";
  EXPECT_NE(refusal(scores + R"("times": {}, "scores": {"selection bf16*6": {"error": "much"}}})"), "");
  EXPECT_NE(refusal(scores + R"("times": {"f32": {"whole_ms": 1, "units_ms": [1, 2]}}, "scores": {}})"), "");
  EXPECT_NE(refusal(scores + R"("times": {"f99": {"whole_ms": 1, "units_ms": []}}, "scores": {}})"), "");
}

}  // namespace
}  // namespace vernier
