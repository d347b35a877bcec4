// Memory, copies, events and errors of a GPU, on a driver in software.
#include <gmock/gmock.h>

#include <numeric>

#include "cuda/fake_driver.h"
#include "vernier/backends/cuda/device/cuda_buffer.h"
#include "vernier/backends/cuda/device/cuda_stream.h"
#include "vernier/base/error.h"
#include "vernier/base/memory.h"
#include "vernier/exec/device/host_device.h"

namespace vernier::cuda {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Status kIllegalAddress = 700;

class StreamTest : public testing::Test {
 protected:
  template <class F>
  static std::string error_of(const F& work) {
    try {
      work();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  DriverApi api_ = reset_fake_driver();
  Context context_{api_, 0};
  CudaDevice device_{context_};
};

TEST_F(StreamTest, FactsOfTheGpuDecideWhatProgramsAreCompiledFor) {
  EXPECT_EQ(context_.facts().architecture(), "sm_90a");
  EXPECT_EQ((DeviceFacts{"", 8, 6, 0, 0}).architecture(), "sm_86");
}

TEST_F(StreamTest, WhatIsCopiedThereAndBackIsWhatItWas) {
  constexpr size_t kBytes = (size_t{20} << 20) + 3;  // more than a block of pinned memory holds
  std::vector<uint8_t> there(kBytes), back(kBytes, 0);
  std::iota(there.begin(), there.end(), uint8_t{1});
  const auto buffer = device_.allocate(kBytes);
  const auto stream = device_.stream();
  stream->copy(there.data(), buffer->address(), kBytes);
  std::vector<uint8_t> overwritten(kBytes, 0xff);  // the caller's memory may change when the event is reached
  stream->copy(buffer->address(), back.data(), kBytes);
  stream->wait_on_host(stream->record());
  EXPECT_EQ(back, there);
}

// docs/fault-injection.md: the worst that may follow does.
TEST_F(StreamTest, FaultsOfItsUse) {
  const std::vector<int> there{1, 2, 3};
  constexpr size_t kBytes = sizeof(int) * 3;
  // Gives what two runs read back, each of which copies there and back, and waits.
  const auto runs = [&](std::optional<DeviceFault> fault) {
    CudaDevice device(context_, true, fault);
    const auto buffer = device.allocate(kBytes);
    const auto stream = device.stream();
    std::vector<std::vector<int>> read;
    for (int i = 0; i < 2; ++i) {
      read.emplace_back(3, 0);
      stream->copy(there.data(), buffer->address(), kBytes);
      stream->copy(buffer->address(), read.back().data(), kBytes);
      stream->wait_on_host(stream->record());
    }
    device.injected_faults().require();
    return read;
  };
  const std::vector<int> nothing(3, 0);
  using Kind = DeviceFault::Kind;
  EXPECT_THAT(runs(std::nullopt), ElementsAre(there, there));
  EXPECT_THAT(runs(DeviceFault{Kind::kDropWait, 0}), ElementsAre(nothing, there));
  EXPECT_THAT(runs(DeviceFault{Kind::kDropWait, 1}), ElementsAre(there, nothing));
  EXPECT_THAT(runs(DeviceFault{Kind::kDropCopy, 3}), ElementsAre(there, nothing));
  EXPECT_THROW(runs(DeviceFault{Kind::kDropWait, 2}), Error);
}

TEST_F(StreamTest, WhatIsReadBackArrivesWhenTheHostHasWaited) {
  const std::vector<int> there{1, 2, 3};
  std::vector<int> back(3, 0);
  const auto buffer = device_.allocate(sizeof(int) * 3);
  const auto stream = device_.stream();
  stream->copy(there.data(), buffer->address(), sizeof(int) * 3);
  stream->copy(buffer->address(), back.data(), sizeof(int) * 3);
  const Event event = stream->record();
  EXPECT_THAT(back, ElementsAre(0, 0, 0));
  stream->wait_on_host(event);
  EXPECT_THAT(back, ElementsAre(1, 2, 3));
}

// No wait of the host lies between: what the second stream reads must be there.
TEST_F(StreamTest, CopiesFromWhereSomethingIsReadBackFindIt) {
  const std::vector<int> there{4, 5};
  std::vector<int> host(2, 0), back(2, 0);
  const auto one = device_.allocate(sizeof(int) * 2), other = device_.allocate(sizeof(int) * 2);
  const auto first = device_.stream(), second = device_.stream();
  first->copy(there.data(), one->address(), sizeof(int) * 2);
  first->copy(one->address(), host.data(), sizeof(int) * 2);
  second->wait(first->record());
  second->copy(host.data(), other->address(), sizeof(int) * 2);
  second->copy(other->address(), back.data(), sizeof(int) * 2);
  second->wait_on_host(second->record());
  EXPECT_THAT(back, ElementsAre(4, 5));
}

TEST_F(StreamTest, CopiesOnTheDeviceDoNotPassTheHost) {
  const auto one = device_.allocate(64), other = device_.allocate(64);
  const auto stream = device_.stream();
  fake_driver().calls.clear();
  stream->copy(one->address() + 16, other->address(), 32);
  stream->wait_on_host(stream->record());
  EXPECT_THAT(fake_driver().calls, ElementsAre("across 32"));
}

TEST_F(StreamTest, LargeCopiesGoInPartsSoThatHostAndDeviceCopyAtOnce) {
  const size_t bytes = 2 * Staging::kLargest + 5;
  std::vector<std::byte> from(bytes), to(bytes);
  for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i % 251);
  const auto there = device_.allocate(bytes);
  const auto stream = device_.stream();
  fake_driver().calls.clear();
  stream->copy(from.data(), there->address(), bytes);
  stream->copy(there->address(), to.data(), bytes);
  stream->wait_on_host(stream->record());
  EXPECT_THAT(fake_driver().calls,
              ElementsAre("up 1048576", "up 1048576", "up 5", "down 1048576", "down 1048576", "down 5"));
  EXPECT_EQ(to, from);
}

TEST_F(StreamTest, HostMemoryOfADeviceIsPinnedAndFreedWithItsLastOwner) {
  const size_t before = fake_driver().pinned.size();
  auto memory = device_.host_memory(64);
  EXPECT_EQ(device_.place_of(memory.get()), Context::Place::kPinned);
  memory = nullptr;
  EXPECT_EQ(fake_driver().pinned.size(), before);
  EXPECT_EQ(host_device().host_memory(64), nullptr);  // any memory is as good
}

// Memory that somebody else allocated with the driver, and pinned memory of the host, are copied without a
// detour.
TEST_F(StreamTest, MemoryOfOthersIsCopiedWhereItLies) {
  DevicePointer gpu = 0;
  void* pinned = nullptr;
  ASSERT_EQ(api_.allocate(&gpu, 64), kSuccess);
  ASSERT_EQ(api_.allocate_host(&pinned, 64, kPortableMemory), kSuccess);
  auto* const there = reinterpret_cast<std::byte*>(gpu);
  auto* const here = static_cast<std::byte*>(pinned);
  EXPECT_TRUE(device_.reaches(there + 16, 48));
  EXPECT_FALSE(device_.reaches(there + 16, 49));
  EXPECT_FALSE(device_.reaches(here, 1));
  EXPECT_FALSE(device_.reaches(&gpu, 1));
  const auto stream = device_.stream();
  const auto own = device_.allocate(64);
  std::fill_n(here, 32, std::byte{7});
  fake_driver().calls.clear();
  stream->copy(here, there, 16);
  stream->copy(there, own->address(), 16);
  stream->copy(own->address(), here + 32, 16);
  EXPECT_EQ(here[40], std::byte{7});  // no copy by the host is left to be done
  stream->wait_on_host(stream->record());
  EXPECT_THAT(fake_driver().calls, ElementsAre("up 16", "across 16", "down 16"));
  // Memory of another GPU is no memory of this one.
  fake_driver().ordinal_of_buffers = 1;
  EXPECT_FALSE(device_.reaches(there, 64));
  EXPECT_TRUE(device_.reaches(own->address(), 64));
  api_.free(gpu);
  api_.free_host(pinned);
}

TEST_F(StreamTest, StreamsOfTheCallerAreLeftToIt) {
  StreamHandle queue = nullptr;
  ASSERT_EQ(api_.create_stream(&queue, 0), kSuccess);
  const auto own = device_.stream();
  fake_driver().calls.clear();
  const size_t destroyed = fake_driver().destroyed_streams;
  {
    const auto caller = device_.adopt(queue);
    own->wait(caller->record());
    caller->wait(own->record());
    caller->wait_on_host(caller->record());
  }
  EXPECT_THAT(fake_driver().calls, ElementsAre("wait", "wait"));
  EXPECT_EQ(fake_driver().destroyed_streams, destroyed);
}

TEST_F(StreamTest, MemoryThatIsReleasedIsFreedInItsTurn) {
  const auto stream = device_.stream();
  const size_t before = fake_driver().live_buffers;
  stream->release(device_.allocate(64));
  EXPECT_EQ(fake_driver().live_buffers, before + 1);
  stream->wait_on_host(stream->record());
  EXPECT_EQ(fake_driver().live_buffers, before);
}

TEST_F(StreamTest, MoreMemoryThanThereIsIsOutOfMemory) {
  EXPECT_THROW(device_.allocate(size_t{2} << 30), OutOfMemory);
  EXPECT_FALSE(context_.is_lost());
}

TEST_F(StreamTest, EventsOfOtherStreamsAreWaitedForOnTheDevice) {
  const auto one = device_.stream(), other = device_.stream();
  const Event event = one->record();
  fake_driver().calls.clear();
  other->wait(event);
  one->wait(event);  // in order anyway
  EXPECT_THAT(fake_driver().calls, ElementsAre("wait"));
  EXPECT_TRUE(one->reached(event));
  other->wait({one.get(), event.value + 1});
  EXPECT_THAT(error_of([&] { other->wait_on_host(other->record()); }), HasSubstr("was not recorded before"));
}

TEST_F(StreamTest, WhatGoesWrongInALaunchIsToldWhenTheHostWaits) {
  CudaStream stream(device_);
  fake_driver().launch_fails = 1;
  std::vector<std::byte> parameters(8);
  stream.launch(nullptr, {}, parameters, "cuda:softmax");
  const Event event = stream.record();
  EXPECT_THAT(error_of([&] { stream.wait_on_host(event); }), HasSubstr("cuda:softmax"));
  fake_driver().launch_fails = kSuccess;
  EXPECT_EQ(error_of([&] { stream.wait_on_host(stream.record()); }), "");  // told once
}

TEST_F(StreamTest, ALostDeviceIsToldByEveryLaterCall) {
  CudaStream stream(device_);
  fake_driver().synchronize_fails = kIllegalAddress;
  EXPECT_THAT(error_of([&] { stream.wait_on_host(stream.record()); }),
              HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
  EXPECT_TRUE(context_.is_lost());
  fake_driver().synchronize_fails = kSuccess;
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(error_of([&] { device_.allocate(8); }),
                HasSubstr("is lost for this process: work on the GPU"));
    EXPECT_THAT(error_of([&] { stream.wait_on_host(stream.record()); }),
                HasSubstr("is lost for this process"));
  }
}

TEST_F(StreamTest, DataWithoutAResultAreToldWithTheNode) {
  CudaStream stream(device_);
  const int number = device_.faults().number_of("the node", "an index is outside of its axis");
  fake_driver().fault = number;
  std::vector<std::byte> parameters(8);
  stream.launch(nullptr, {}, parameters, "cuda:gather");
  const std::string text = error_of([&] { stream.wait_on_host(stream.record()); });
  EXPECT_THAT(text, HasSubstr("the node"));
  EXPECT_THAT(text, HasSubstr("an index is outside of its axis"));
  EXPECT_EQ(error_of([&] { stream.wait_on_host(stream.record()); }), "");
}

TEST(ContextTest, AMachineWithoutTheGpuIsToldSo) {
  const auto error_with = [](const DriverApi& api, int ordinal) -> std::string {
    try {
      const Context context(api, ordinal);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUnsupported);
      return error.what();
    }
    return "";
  };
  DriverApi api = reset_fake_driver();
  EXPECT_THAT(error_with(api, 3), HasSubstr("no GPU number 3: there are 1"));
  fake_driver().gpus = 0;
  EXPECT_THAT(error_with(api, 0), HasSubstr("there is none"));
  fake_driver().init = 100;
  EXPECT_THAT(error_with(api, 0), HasSubstr("CUDA_ERROR_NO_DEVICE"));
  api = reset_fake_driver();
  fake_driver().major = 7;
  EXPECT_THAT(error_with(api, 0), HasSubstr("compute capability 8.0 or newer"));
}

}  // namespace
}  // namespace vernier::cuda
