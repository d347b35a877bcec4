// Descriptors of files that are read. Internal to the room.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <utility>

namespace vernier {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }

 private:
  int fd_;
};

// Throws bad_input when the file is missing, unreadable or no regular file (a pipe, a device).
Descriptor open_to_read(const std::filesystem::path& path);
// Size and times of an opened file. Throws bad_input when the system does not say.
struct stat status_of(int fd, const std::filesystem::path& path);

}  // namespace vernier
