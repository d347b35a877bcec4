// The host as a device: what is enqueued has ended when the call returns.
#include "vernier/exec/device/host_device.h"

#include <gtest/gtest.h>

namespace vernier {
namespace {

TEST(HostDevice, WorkHasEndedWhenACallReturns) {
  Device& host = host_device();
  EXPECT_TRUE(host.host_visible());
  const auto memory = host.allocate(100);
  EXPECT_GE(memory->bytes(), 100U);
  const auto stream = host.stream();
  char text[] = "to the device", back[sizeof text] = "";
  stream->copy(text, memory->address(), sizeof text);
  stream->copy(memory->address(), back, sizeof text);
  EXPECT_STREQ(back, text);
  const Event first = stream->record(), second = stream->record();
  EXPECT_LT(first.value, second.value);
  EXPECT_TRUE(stream->reached(second));
  stream->wait_on_host(second);
}

}  // namespace
}  // namespace vernier
