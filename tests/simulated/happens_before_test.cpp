#include "vernier/backends/simulated/happens_before.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "vernier/backends/simulated/simulated_device.h"
#include "vernier/base/error.h"

namespace vernier::simulated {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class Order : public ::testing::Test {
 protected:
  void use(size_t stream, const std::string& name, size_t first, size_t bytes, bool writes) {
    const Access access{memory_ + first, bytes, writes};
    order.enqueue(stream, name, {&access, 1});
  }
  void reads(size_t stream, size_t first = 0, size_t bytes = 8) {
    use(stream, "reader", first, bytes, false);
  }
  void writes(size_t stream, size_t first = 0, size_t bytes = 8) {
    use(stream, "writer", first, bytes, true);
  }

  HappensBefore order;
  size_t a = order.begin_stream(), b = order.begin_stream(), c = order.begin_stream();

 private:
  std::byte memory_[64];
};

TEST_F(Order, AMissingWaitIsARace) {
  writes(a, 0, 8);
  reads(b, 4, 8);
  EXPECT_THAT(order.findings(),
              ElementsAre(AllOf(HasSubstr("'reader' on stream 1, which reads 4 bytes at 0x"),
                                HasSubstr("behind 'writer' on stream 0, which writes them"))));
}

TEST_F(Order, AWaitOrders) {
  writes(a);
  order.record(a, 1);
  order.wait(b, a, 1);
  reads(b);
  EXPECT_THAT(order.findings(), IsEmpty());
}

TEST_F(Order, AWaitForAnEarlierEventDoesNot) {
  order.record(a, 1);
  writes(a);
  order.record(a, 2);
  order.wait(b, a, 1);
  reads(b);
  EXPECT_THAT(order.findings(), SizeIs(1));
}

TEST_F(Order, IsHandedOnByWaits) {
  writes(a);
  order.record(a, 1);
  order.wait(b, a, 1);
  order.record(b, 1);
  order.wait(c, b, 1);
  writes(c);
  EXPECT_THAT(order.findings(), IsEmpty());
}

// The host is behind event 1 of b, at which b was not behind a yet.
TEST_F(Order, AnEventBehindAWaitIsMoreThanTheOneBefore) {
  writes(a);
  order.record(a, 1);
  order.record(b, 1);
  order.wait(b, a, 1);
  order.record(b, 2);
  order.host_waits(b, 1);
  order.wait(c, b, 2);
  reads(c);
  EXPECT_THAT(order.findings(), IsEmpty());
}

TEST_F(Order, ReadsDoNotRaceWithReads) {
  reads(a);
  reads(b);
  EXPECT_THAT(order.findings(), IsEmpty());
  writes(c);
  EXPECT_THAT(order.findings(), SizeIs(2));
}

TEST_F(Order, ReadsOfPartsAreKeptBesideThoseOfTheWhole) {
  reads(a, 0, 16);
  reads(b, 4, 4);
  writes(c, 5, 1);
  EXPECT_THAT(order.findings(), SizeIs(2));
}

TEST_F(Order, NeighboursDoNotRace) {
  writes(a, 0, 8);
  writes(b, 8, 8);
  writes(c, 16, 0);
  EXPECT_THAT(order.findings(), IsEmpty());
}

TEST_F(Order, AUseIsOfItsBytesOnly) {
  writes(a, 0, 16);
  order.record(a, 1);
  order.wait(b, a, 1);
  writes(b, 4, 4);
  order.wait(c, a, 1);
  reads(c, 0, 4);
  reads(c, 8, 8);
  EXPECT_THAT(order.findings(), IsEmpty());
  reads(c, 7, 1);
  EXPECT_THAT(order.findings(), SizeIs(1));
}

TEST_F(Order, TwoCommandsAreOneFinding) {
  for (size_t at = 0; at < 64; at += 8) writes(a, at, 8);
  order.record(a, 1);
  order.wait(b, a, 1);
  reads(c, 0, 64);
  EXPECT_THAT(order.findings(), SizeIs(8));  // one for each writer
  reads(b, 0, 64);
  writes(a, 0, 64);
  EXPECT_THAT(order.findings(), SizeIs(10));  // reads of b and c, each once
}

TEST_F(Order, TheHostIsBehindWhatItWaitsFor) {
  writes(a);
  order.record(a, 1);
  std::byte mine[8];
  const Access access{mine, 8, true};
  order.enqueue(a, "copy", {&access, 1});
  order.record(a, 2);
  order.host_waits(a, 1);
  writes(b);  // enqueued behind the wait of the host
  EXPECT_THAT(order.findings(), IsEmpty());
  order.host_uses("a read", {mine, 4, false});
  EXPECT_THAT(order.findings(), ElementsAre(HasSubstr("a read by the host, which reads 4 bytes")));
  order.host_waits(a, 2);
  order.host_uses("a read", {mine, 4, false});
  EXPECT_THAT(order.findings(), SizeIs(1));
}

TEST_F(Order, FindingsAreTakenOnce) {
  writes(a);
  writes(b);
  EXPECT_THAT(order.take_findings(), SizeIs(1));
  EXPECT_THAT(order.take_findings(), IsEmpty());
  EXPECT_THAT(order.findings(), SizeIs(1));
}

TEST_F(Order, ANumberThatIsUsedAgainIsBehindWhatHadIt) {
  writes(b);
  order.end_stream(b);
  EXPECT_EQ(order.begin_stream(), b);
  writes(a);
  writes(b);
  EXPECT_THAT(order.findings(), SizeIs(1));
}

TEST_F(Order, ForgetsWhatTheHostIsBehind) {
  for (uint64_t run = 1; run <= 10000; ++run) {
    writes(a, run % 32, 16);
    reads(a, run % 7, 3);
    order.record(a, run);
    order.wait(b, a, run);
    writes(b, run % 48, 16);
    order.record(b, run);
    order.host_waits(b, run);
    ASSERT_EQ(order.remembered(), 0u);
  }
  EXPECT_THAT(order.findings(), IsEmpty());
}

// Memory that is released, or freed, while a stream still uses it.
TEST(Lifetimes, AReleaseThatNothingOrdersIsARace) {
  SimulatedDevice device;
  int32_t in = 0;
  const auto first = device.stream(), second = device.stream();
  auto buffer = device.allocate(4);
  void* address = buffer->address();
  first->copy(&in, address, 4);
  second->release(std::move(buffer));
  EXPECT_THAT(device.findings(), ElementsAre(HasSubstr("'release' on stream 1")));
  first->copy(&in, address, 4);
  EXPECT_THAT(device.findings(), ElementsAre(testing::_, HasSubstr("behind 'release' on stream 1")));
}

TEST(Lifetimes, FreeingWhatIsInUseIsARace) {
  SimulatedDevice device;
  int32_t in = 0;
  const auto stream = device.stream();
  auto buffer = device.allocate(4);
  stream->copy(&in, buffer->address(), 4);
  buffer.reset();
  EXPECT_THAT(device.findings(), ElementsAre(HasSubstr("freeing by the host")));
  EXPECT_THROW(stream->wait_on_host(stream->record()), Error);
}

TEST(Lifetimes, WritingWhatACopyStillReadsIsARace) {
  SimulatedDevice device;
  int32_t in = 0;
  const auto stream = device.stream();
  const auto buffer = device.allocate(4);
  device.host_writes(&in, 4);
  stream->copy(&in, buffer->address(), 4);
  device.host_reads(&in, 4);
  EXPECT_THAT(device.findings(), IsEmpty());
  device.host_writes(&in, 4);
  EXPECT_THAT(device.findings(), ElementsAre(HasSubstr("a write by the host")));
}

}  // namespace
}  // namespace vernier::simulated
