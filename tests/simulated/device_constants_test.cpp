// Constants on a device: copied there once for all who read them, and freed in time.
#include "vernier/exec/device/device_constants.h"

#include <gmock/gmock.h>

#include <cmath>
#include <thread>

#include "vernier/backends/simulated/simulated_device.h"

namespace vernier::simulated {
namespace {

const std::vector<float> kValues = {1, -2, 3};

Tensor values() {
  return Tensor::from<float>(ElementType::kFloat, {3}, kValues);
}

std::vector<float> read(Stream& stream, const std::byte* address) {
  std::vector<float> there(kValues.size());
  stream.copy(address, there.data(), there.size() * sizeof(float));
  stream.wait_on_host(stream.record());
  return there;
}

TEST(DeviceConstants, AreCopiedOnceWhenTheyAreFirstRead) {
  SimulatedDevice device;
  DeviceConstants constants;
  const Tensor content = values(), other = values();
  const auto a = constants.get(device, content), b = constants.get(device, content);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, constants.get(device, other));
  EXPECT_EQ(device.memory().bytes_in_use(), 0U);
  const auto stream = device.stream(), another = device.stream();
  const std::byte* address = a->address(*stream);
  EXPECT_EQ(b->address(*another), address);
  EXPECT_EQ(read(*another, address), kValues);
  EXPECT_EQ(a->bytes(), content.byte_size());
  EXPECT_EQ(device.memory().bytes_in_use(), content.byte_size());
}

TEST(DeviceConstants, EachDeviceHasItsOwn) {
  SimulatedDevice one, two;
  DeviceConstants constants;
  const Tensor content = values();
  const auto a = constants.get(one, content), b = constants.get(two, content);
  EXPECT_NE(a, b);
  a->address(*one.stream());
  EXPECT_EQ(two.memory().bytes_in_use(), 0U);
}

TEST(DeviceConstants, AreFreedWithTheLastWhoHasThem) {
  SimulatedDevice device;
  DeviceConstants constants;
  const Tensor content = values();
  auto a = constants.get(device, content), b = constants.get(device, content);
  a->address(*device.stream());
  a.reset();
  EXPECT_GT(device.memory().bytes_in_use(), 0U);
  b.reset();
  EXPECT_EQ(device.memory().bytes_in_use(), 0U);
  a = constants.get(device, content);
  const auto stream = device.stream();
  EXPECT_EQ(read(*stream, a->address(*stream)), kValues);
}

TEST(DeviceConstants, AreFreedWithTheStore) {
  std::shared_ptr<const DeviceConstant> kept;
  {
    SimulatedDevice device;
    {
      DeviceConstants constants;
      kept = constants.get(device, values());
      kept->address(*device.stream());
    }
    EXPECT_EQ(device.memory().bytes_in_use(), 0U);
  }
  EXPECT_EQ(kept->bytes(), 0U);  // and what is kept does not touch the device any more
}

// Constants that nobody has are forgotten, and none that somebody has.
TEST(DeviceConstants, ComeAndGo) {
  SimulatedDevice device;
  DeviceConstants constants;
  const auto stream = device.stream();
  const Tensor content = values();
  const auto kept = constants.get(device, content);
  const std::byte* address = kept->address(*stream);
  for (int i = 0; i < 1000; ++i) constants.get(device, values())->address(*stream);
  EXPECT_EQ(constants.get(device, content)->address(*stream), address);
  EXPECT_EQ(device.memory().bytes_in_use(), content.byte_size());
}

TEST(DeviceConstants, ManyThreadsGetOne) {
  SimulatedDevice device({.streams = 1, .threads = true});
  DeviceConstants constants;
  const Tensor content = values();
  std::vector<std::shared_ptr<const DeviceConstant>> found(8);
  std::vector<std::thread> threads;
  for (auto& each : found) {
    threads.emplace_back([&] {
      const auto stream = device.stream();
      each = constants.get(device, content);
      EXPECT_EQ(read(*stream, each->address(*stream)), kValues);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(found, testing::Each(found.front()));
  EXPECT_EQ(device.memory().bytes_in_use(), content.byte_size());
}

TEST(DeviceConstants, WhatIsNotCopiedIsPoison) {
  SimulatedDevice device({.fault = DeviceFault{DeviceFault::Kind::kDropCopy, 0}});
  DeviceConstants constants;
  const auto constant = constants.get(device, values());
  const auto stream = device.stream();
  EXPECT_TRUE(std::isnan(read(*stream, constant->address(*stream)).front()));
}

TEST(DeviceConstants, TheNextTriesAgainWhereMemoryRanOut) {
  SimulatedDevice device({.memory_limit = 300});
  DeviceConstants constants;
  const Tensor content = values();
  const auto constant = constants.get(device, content);
  const auto stream = device.stream();
  auto other = device.allocate(300);
  EXPECT_THROW(constant->address(*stream), std::exception);
  EXPECT_EQ(constant->bytes(), 0U);
  other.reset();
  EXPECT_EQ(read(*stream, constant->address(*stream)), kValues);
}

}  // namespace
}  // namespace vernier::simulated
