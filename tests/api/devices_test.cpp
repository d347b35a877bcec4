// Engines on devices beside the CPU.
#include <gmock/gmock.h>

#include <thread>

#include "api/models.h"
#include "vernier/device_memory.h"
#include "vernier/vernier_c.h"

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

// The digits in memory of the device, and where their scores are to be.
class BoundOnDevice : public testing::Test {
 protected:
  static constexpr const char* kDevice = "simulated:7";
  static constexpr size_t kPixels = 64, kBytes = kPixels * sizeof(float), kScores = 10;

  std::vector<float> scores() const {
    std::vector<float> read(kScores);
    scores_.read(read.data(), kScores * sizeof(float));
    return read;
  }
  std::string refusal_of(const void* data, const char* device) {
    try {
      session_.bind_input("image", v1::ElementType::kFloat, {1, 1, 8, 8}, data, {}, device);
      return "bound";
    } catch (const v1::Error& error) {
      return error.what();
    }
  }

  const std::vector<float> pixels_ = std::vector<float>(kPixels, 0.5F);
  Engine engine_ = Engine::build(kDigits, {.devices = {kDevice}});
  v1::DeviceMemory image_{engine_, kDevice, kBytes + 4},
      scores_{engine_, "simulated", kScores * sizeof(float)};
  Session session_{engine_};
};

TEST_F(BoundOnDevice, AnswersAreThoseOfMemoryOfTheCpu) {
  session_.bind_input("image", pixels_, {1, 1, 8, 8});
  const v1::Outputs expected = session_.run();
  image_.write(pixels_.data(), kBytes);
  session_.bind_input("image", v1::ElementType::kFloat, {1, 1, 8, 8}, image_.data(), {}, kDevice);
  session_.bind_output("probabilities", v1::ElementType::kFloat, {1, 10}, scores_.data(), {}, kDevice);
  const v1::Outputs outputs = session_.run();
  const auto values = expected["probabilities"].values<float>();
  EXPECT_THAT(scores(), testing::ElementsAreArray(values.begin(), values.end()));
  EXPECT_STREQ(outputs["probabilities"].device(), kDevice);
  EXPECT_EQ(outputs["probabilities"].data(), scores_.data());
  EXPECT_THROW(outputs["probabilities"].values<float>(), v1::Error);
  EXPECT_FALSE(session_.profile(1).empty());  // reads copies
  session_.unbind("probabilities");
  const v1::Outputs unbound = session_.run();
  EXPECT_THAT(unbound["probabilities"].values<float>(),
              testing::ElementsAreArray(values.begin(), values.end()));
}

TEST_F(BoundOnDevice, WhatIsNotThereIsRefused) {
  EXPECT_THAT(refusal_of(pixels_.data(), kDevice),
              HasSubstr("256 bytes of memory that simulated:7 does not reach"));
  EXPECT_THAT(refusal_of(static_cast<std::byte*>(image_.data()) + 16, kDevice), HasSubstr("does not reach"));
  EXPECT_THAT(refusal_of(image_.data(), "cpu"), HasSubstr("memory of simulated:7, as if it were of the CPU"));
  EXPECT_THAT(refusal_of(static_cast<std::byte*>(image_.data()) + 4, kDevice),
              HasSubstr("not aligned to 16 bytes"));
  EXPECT_THAT(refusal_of(image_.data(), "cuda:0"), HasSubstr("has no device 'cuda:0'"));
  EXPECT_THAT(refusal_of(image_.data(), "cuda:0"), HasSubstr("it has: cpu, simulated:7"));
  EXPECT_EQ(refusal_of(image_.data(), kDevice), "bound");
  EXPECT_THROW(image_.write(pixels_.data(), kBytes, 5), v1::Error);
  EXPECT_THROW(session_.use_stream(kDevice, nullptr), v1::Error);  // it has no queues of others
  session_.synchronize();
}

TEST_F(BoundOnDevice, CBindsTheSame) {
  vernier_build_options* options = nullptr;
  vernier_engine* engine = nullptr;
  vernier_session* session = nullptr;
  ASSERT_EQ(vernier_build_options_create(&options), VERNIER_OK);
  ASSERT_EQ(vernier_build_options_set(options, "devices", kDevice), VERNIER_OK);
  ASSERT_EQ(vernier_engine_build_with(kDigits.c_str(), options, &engine), VERNIER_OK) << vernier_last_error();
  ASSERT_EQ(vernier_session_create(engine, 1, &session), VERNIER_OK);
  const int64_t sizes[] = {1, 1, 8, 8};
  EXPECT_EQ(vernier_session_bind_input_on(session, "cuda", "image", VERNIER_FLOAT, sizes, 4, image_.data()),
            VERNIER_ERROR_USAGE);
  // Memory of another engine's device, which this one does not reach.
  EXPECT_EQ(vernier_session_bind_input_on(session, kDevice, "image", VERNIER_FLOAT, sizes, 4, image_.data()),
            VERNIER_ERROR_BAD_INPUT);
  EXPECT_EQ(vernier_session_bind_input_on(session, "cpu", "image", VERNIER_FLOAT, sizes, 4, pixels_.data()),
            VERNIER_OK);
  EXPECT_EQ(vernier_session_use_stream(session, kDevice, nullptr), VERNIER_ERROR_UNSUPPORTED);
  EXPECT_EQ(vernier_session_run(session), VERNIER_OK) << vernier_last_error();
  EXPECT_EQ(vernier_session_synchronize(session), VERNIER_OK);
  vernier_tensor tensor;
  ASSERT_EQ(vernier_session_output(session, "probabilities", &tensor), VERNIER_OK);
  EXPECT_STREQ(tensor.device, "cpu");
  vernier_session_release(session);
  vernier_engine_release(engine);
  vernier_build_options_release(options);
}

}  // namespace
}  // namespace vernier::test
