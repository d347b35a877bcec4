#include "vernier/backends/simulated/device_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/base/memory.h"
#include "vernier/tensor/tensor.h"

namespace vernier::simulated {
namespace {

using ::testing::HasSubstr;
using ::testing::Throws;
using ::testing::ThrowsMessage;

Tensor as(const std::shared_ptr<std::byte>& content, size_t bytes, ElementType type) {
  const auto count = static_cast<int64_t>(bytes / element_size(type));
  return Tensor::borrow(type, {count}, content.get(), content);
}

void expect_poison(const std::shared_ptr<std::byte>& content, size_t bytes) {
  for (const auto type :
       {ElementType::kFloat, ElementType::kDouble, ElementType::kFloat16, ElementType::kBFloat16}) {
    for (const double value : as(content, bytes, type).to_doubles()) EXPECT_TRUE(std::isnan(value));
  }
  for (const auto type : {ElementType::kInt8, ElementType::kUint8, ElementType::kInt16, ElementType::kInt32,
                          ElementType::kInt64}) {
    for (const int64_t value : as(content, bytes, type).to_ints()) EXPECT_NE(value % 2, 0);
  }
}

TEST(DeviceMemory, FaultsWhereTheHostTouchesIt) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  DeviceMemory memory;
  volatile std::byte* address = memory.allocate(64);
  EXPECT_DEATH(static_cast<void>(address[0]), "");
  EXPECT_DEATH(address[63] = std::byte{1}, "");
}

TEST(DeviceMemory, IsPoisonedWhenAllocatedAndWhenFreed) {
  DeviceMemory memory;
  std::byte* address = memory.allocate(64);
  const auto content = memory.at(address, 64);
  expect_poison(content, 64);
  std::memset(content.get(), 0, 64);
  memory.free(address);
  expect_poison(content, 64);
}

TEST(DeviceMemory, NoAddressComesTwice) {
  DeviceMemory memory;
  std::set<std::byte*> seen;
  for (int i = 0; i < 1000; ++i) {
    std::byte* address = memory.allocate(static_cast<size_t>(i) << 12);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % 256, 0u);
    EXPECT_TRUE(seen.insert(address).second);
    memory.free(address);
  }
  EXPECT_EQ(memory.bytes_in_use(), 0u);
}

TEST(DeviceMemory, OnlyRangesInOneLivingBufferHaveContent) {
  DeviceMemory memory;
  std::byte* first = memory.allocate(100);
  std::byte* second = memory.allocate(100);
  EXPECT_NO_THROW(memory.at(first + 40, 60));
  EXPECT_NO_THROW(memory.at(first + 100, 0));
  EXPECT_THAT([&] { memory.at(first + 40, 61); },
              ThrowsMessage<Error>(HasSubstr("out of bounds: 61 bytes from byte 40 of a buffer of 100")));
  EXPECT_THAT([&] { memory.at(first, static_cast<size_t>(second - first) + 1); },
              ThrowsMessage<Error>(HasSubstr("out of bounds")));
  memory.free(first);
  EXPECT_THAT([&] { memory.at(first, 1); }, ThrowsMessage<Error>(HasSubstr("use of freed memory")));
  int host = 0;
  EXPECT_THAT([&] { memory.at(&host, 1); }, ThrowsMessage<Error>(HasSubstr("no address of the device")));
  EXPECT_FALSE(memory.owns(&host));
  EXPECT_TRUE(memory.owns(first) && memory.owns(second));
}

TEST(DeviceMemory, EndsAtItsLimit) {
  SimulatedOptions options;
  options.memory_limit = 1000;
  SimulatedDevice device(options);
  auto half = device.allocate(600);
  EXPECT_THAT([&] { device.allocate(401); }, Throws<OutOfMemory>());
  EXPECT_NO_THROW(device.allocate(400));
  half.reset();
  EXPECT_NO_THROW(device.allocate(1000));
}

}  // namespace
}  // namespace vernier::simulated
