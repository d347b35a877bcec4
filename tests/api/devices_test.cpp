// Engines on devices beside the CPU.
#include <gmock/gmock.h>

#include <thread>

#include "api/models.h"
#include "vernier/vernier.h"

namespace vernier::test {
namespace {

using testing::HasSubstr;
using v1::Engine;
using v1::Session;
using v1::Verdict;

std::string refusal(const std::string& device) {
  try {
    Engine::build(kDigits, {.devices = {device}});
    return "built";
  } catch (const v1::Error& error) {
    return error.what();
  }
}

TEST(Devices, AreChosenByName) {
  const Engine engine = Engine::build(kDigits, {.devices = {"simulated"}});
  EXPECT_EQ(engine.report().verdict, Verdict::kPass);
  EXPECT_THAT(engine.report().notes,
              testing::Contains(testing::ContainsRegex("[0-9]+ steps run on simulated")));
  EXPECT_THAT(refusal("quantum"), HasSubstr("has no driver 'quantum'"));
  EXPECT_THAT(refusal("simulated:one"), HasSubstr("'one'"));
  EXPECT_THAT(refusal("cuda:-1"), HasSubstr("'-1' is no number of a GPU"));
}

TEST(Devices, SessionsOnTwoRunBesideEachOther) {
  const std::vector<float> pixels(64, 0.5F);
  const auto run = [&](const Engine& engine) {
    Session session(engine, {.threads = 1});
    session.bind_input("image", pixels, {1, 1, 8, 8});
    const v1::Outputs outputs = session.run();
    const auto values = outputs.at(0).values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<Engine> engines = {Engine::build(kDigits, {.devices = {"simulated:1"}}),
                                       Engine::build(kDigits, {.devices = {"simulated:2"}})};
  const std::vector<float> expected = run(engines[0]);
  std::vector<std::vector<float>> outputs(8);
  {
    std::vector<std::jthread> threads;
    for (size_t i = 0; i < outputs.size(); ++i)
      threads.emplace_back([&, i] { outputs[i] = run(engines[i % 2]); });
  }
  EXPECT_THAT(outputs, testing::Each(expected));
}

}  // namespace
}  // namespace vernier::test
