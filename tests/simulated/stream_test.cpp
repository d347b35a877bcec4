#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/base/error.h"

namespace vernier::simulated {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class SimulatedStreams : public ::testing::TestWithParam<bool> {
 protected:
  SimulatedOptions options() const {
    SimulatedOptions result;
    result.threads = GetParam();
    return result;
  }
  static std::unique_ptr<SimulatedStream> stream(SimulatedDevice& device) {
    return std::make_unique<SimulatedStream>(device);
  }
  static void wait(Stream& stream) { stream.wait_on_host(stream.record()); }
};

INSTANTIATE_TEST_SUITE_P(Executors, SimulatedStreams, ::testing::Bool(),
                         [](const auto& executor) { return executor.param ? "threads" : "lazy"; });

TEST_P(SimulatedStreams, CopiesThroughTheDevice) {
  SimulatedDevice device(options());
  const auto stream = device.stream();
  const auto one = device.allocate(12), two = device.allocate(12);
  const std::vector<int32_t> in = {1, 2, 3};
  std::vector<int32_t> out(3);
  stream->copy(in.data(), one->address(), 12);
  stream->copy(one->address() + 4, two->address(), 8);
  stream->copy(two->address(), out.data() + 1, 8);
  stream->copy(one->address(), out.data(), 0);
  wait(*stream);
  EXPECT_EQ(out, (std::vector<int32_t>{0, 2, 3}));
}

TEST_P(SimulatedStreams, WhatNobodyCopiedIsPoison) {
  auto faulty = options();
  faulty.fault = DeviceFault{DeviceFault::Kind::kDropCopy, 1};
  SimulatedDevice device(faulty);
  const auto stream = device.stream();
  const auto one = device.allocate(2), two = device.allocate(2);
  const uint16_t in = 1;
  uint16_t first = 0, second = 0;
  stream->copy(&in, one->address(), 2);
  stream->copy(&in, two->address(), 2);
  stream->copy(one->address(), &first, 2);
  stream->copy(two->address(), &second, 2);
  wait(*stream);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, kPoison);
}

TEST(LazyStream, DoesNothingBeforeTheHostWaits) {
  SimulatedDevice device;
  SimulatedStream stream(device);
  int32_t in = 1, out = 0;
  stream.copy(&in, &out, sizeof in);
  const Event event = stream.record();
  EXPECT_FALSE(stream.reached(event));
  EXPECT_EQ(out, 0);
  in = 2;  // too early: the copy reads what is there when it runs
  stream.wait_on_host(event);
  EXPECT_TRUE(stream.reached(event));
  EXPECT_EQ(out, 2);
}

TEST_P(SimulatedStreams, DoWhatIsEnqueuedBeforeTheyEnd) {
  SimulatedDevice device(options());
  auto first = stream(device), second = stream(device);
  int done = 0;
  first->enqueue("one", {}, [&] { done += 1; });
  second->wait(first->record());
  second->enqueue("two", {}, [&] { done *= 10; });
  second.reset();
  EXPECT_EQ(done, 10);
}

TEST_P(SimulatedStreams, AnErrorArrivesWhereTheHostWaitsAndOnce) {
  SimulatedDevice device(options());
  const auto stream = this->stream(device);
  bool skipped = true;
  const Event before = stream->record();
  stream->enqueue("bad", {}, [] { throw bad_input("no such thing"); });
  stream->enqueue("next", {}, [&] { skipped = false; });
  const Event behind = stream->record();
  EXPECT_NO_THROW(stream->wait_on_host(before));
  EXPECT_THAT([&] { stream->wait_on_host(behind); }, ThrowsMessage<Error>(HasSubstr("no such thing")));
  EXPECT_NO_THROW(stream->wait_on_host(behind));
  EXPECT_TRUE(skipped);
  stream->enqueue("later", {}, [&] { skipped = false; });
  EXPECT_NO_THROW(wait(*stream));
  EXPECT_FALSE(skipped);
}

TEST_P(SimulatedStreams, AnErrorTravelsWithWhoWaitsForIt) {
  SimulatedDevice device(options());
  const auto first = stream(device), second = stream(device), third = stream(device);
  bool skipped = true;
  first->enqueue("bad", {}, [] { throw bad_input("no such thing"); });
  second->wait(first->record());
  second->enqueue("next", {}, [&] { skipped = false; });
  EXPECT_NO_THROW(wait(*third));
  EXPECT_THAT([&] { wait(*second); }, ThrowsMessage<Error>(HasSubstr("no such thing")));
  EXPECT_TRUE(skipped);
  EXPECT_NO_THROW(wait(*first));  // told already
}

TEST_P(SimulatedStreams, WhatWasEnqueuedBeforeTheHostKnewIsSkipped) {
  SimulatedDevice device(options());
  const auto first = stream(device), second = stream(device);
  bool skipped = true;
  first->enqueue("bad", {}, [] { throw bad_input("no such thing"); });
  second->wait(first->record());
  first->enqueue("next", {}, [&] { skipped = false; });
  EXPECT_THROW(wait(*second), Error);
  EXPECT_NO_THROW(wait(*first));
  EXPECT_TRUE(skipped);
}

TEST_P(SimulatedStreams, AnErrorDoesNotReachWhoWaitsForSomethingBeforeIt) {
  SimulatedDevice device(options());
  const auto first = stream(device), second = stream(device);
  const Event before = first->record();
  first->enqueue("bad", {}, [] { throw bad_input("no such thing"); });
  second->wait(before);
  EXPECT_NO_THROW(wait(*second));
  EXPECT_THROW(wait(*first), Error);
}

TEST_P(SimulatedStreams, WhatCouldNeverBeReachedIsAnError) {
  SimulatedDevice device(options()), other(options());
  const auto first = stream(device), second = stream(device), strange = stream(other);
  // A cycle needs a wait for what is recorded only later.
  first->wait({second.get(), 1});
  second->wait(first->record());
  second->record();
  EXPECT_THAT([&] { wait(*first); },
              ThrowsMessage<Error>(AllOf(HasSubstr("stream 0 waits for event 1"), HasSubstr("of stream 1"))));
  first->wait({first.get(), 100});
  EXPECT_THROW(wait(*first), Error);
  first->wait(strange->record());
  EXPECT_THAT([&] { wait(*first); },
              ThrowsMessage<Error>(HasSubstr("a stream that the device does not have")));
  EXPECT_THROW(first->wait_on_host({first.get(), 100}), Error);
  EXPECT_THROW(first->wait_on_host(second->record()), Error);
  EXPECT_FALSE(first->reached({first.get(), 100}));
}

TEST_P(SimulatedStreams, FreeInOrder) {
  SimulatedDevice device(options());
  const auto stream = this->stream(device);
  auto buffer = device.allocate(4);
  const std::byte* address = buffer->address();
  int32_t in = 1, out = 0;
  stream->copy(&in, buffer->address(), 4);
  stream->copy(address, &out, 4);
  stream->release(std::move(buffer));
  wait(*stream);
  EXPECT_EQ(out, 1);
  EXPECT_EQ(device.memory().bytes_in_use(), 0u);
  EXPECT_TRUE(device.findings().empty());
  // Behind the release, and in the next run: the address of a buffer that was there.
  stream->copy(address, &out, 4);
  EXPECT_THAT([&] { wait(*stream); }, ThrowsMessage<Error>(HasSubstr("use of freed memory")));
}

TEST_P(SimulatedStreams, FreeMemoryBehindAnError) {
  SimulatedDevice device(options());
  const auto stream = this->stream(device);
  stream->enqueue("bad", {}, [] { throw bad_input("no such thing"); });
  stream->release(device.allocate(4));
  EXPECT_THROW(wait(*stream), Error);
  EXPECT_EQ(device.memory().bytes_in_use(), 0u);
}

TEST_P(SimulatedStreams, ACopyOutOfBoundsIsAnError) {
  SimulatedDevice device(options());
  const auto stream = this->stream(device);
  const auto buffer = device.allocate(4);
  int64_t host = 1;
  stream->copy(&host, buffer->address(), 8);
  EXPECT_THAT([&] { wait(*stream); }, ThrowsMessage<Error>(HasSubstr("out of bounds")));
}

}  // namespace
}  // namespace vernier::simulated
