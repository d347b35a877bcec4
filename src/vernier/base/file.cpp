#include "vernier/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "vernier/base/error.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  operator int() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// The size of an opened file. Refuses what could not be opened and what is no file (a pipe, a device).
size_t check_regular(int fd, const fs::path& path) {
  if (fd < 0) throw bad_input("cannot open: {}", std::strerror(errno)).in_file(path);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode))
    throw bad_input("is not a regular file").in_file(path);
  return static_cast<size_t>(info.st_size);
}

constexpr int kReadFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK;

bool write_all(int fd, std::string_view content) {
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return true;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path) {
  const Descriptor fd(::open(path.c_str(), kReadFlags));
  const size_t size = check_regular(fd, path);
  std::shared_ptr<MappedFile> file(new MappedFile);
  if (size > 0) {
    void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) throw bad_input("cannot map: {}", std::strerror(errno)).in_file(path);
    file->data_ = static_cast<const std::byte*>(address);
    file->size_ = size;
  }
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_file(const fs::path& path) {
  const Descriptor fd(::open(path.c_str(), kReadFlags));
  std::string content(check_regular(fd, path), '\0');
  size_t done = 0;
  while (done < content.size()) {
    const ssize_t count = ::read(fd, content.data() + done, content.size() - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) throw bad_input("cannot read: {}", std::strerror(errno)).in_file(path);
    if (count == 0) break;  // the file was cut off in the meantime
    done += static_cast<size_t>(count);
  }
  content.resize(done);
  return content;
}

void write_file(const fs::path& path, std::string_view content) {
  write_file(path, std::span(&content, 1));
}

void write_file(const fs::path& path, std::span<const std::string_view> parts, Durability durability) {
  // Not made from the name of the file, which may be as long as a name can be.
  static std::atomic<uint64_t> count{0};
  const fs::path temporary = path.parent_path() / fmt::format(".vernier-{}-{}.tmp", ::getpid(), count++);
  const auto fail = [&](const char* what) {
    const int code = errno;
    ::unlink(temporary.c_str());
    return usage_error("cannot {}: {}", what, std::strerror(code)).in_file(path);
  };
  Descriptor fd(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd < 0) throw fail("create");
  for (const std::string_view part : parts) {
    if (!write_all(fd, part)) throw fail("write");
  }
  if (durability == Durability::kOnDisk && ::fsync(fd) != 0) throw fail("write");
  if (::close(fd.release()) != 0) throw fail("write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw fail("rename");
}

fs::path resolve_inside(const fs::path& folder, const std::string& relative, const fs::path& linked) {
  const auto refuse = [&](const char* why) {
    return bad_input("external data location '{}' {}", relative, why)
        .advise("external data must lie inside the folder of the model");
  };
  const fs::path wanted(relative);
  if (relative.empty() || relative.find('\0') != std::string::npos) throw refuse("is not a file name");
  if (wanted.is_absolute()) throw refuse("is an absolute path");
  for (const auto& part : wanted) {
    if (part == "..") throw refuse("leads out of the folder of the model");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) throw bad_input("cannot open folder '{}'", folder.string());
  const fs::path other = linked.empty() ? root : fs::canonical(linked, error);
  if (error) throw bad_input("cannot open folder '{}'", linked.string());
  fs::path full = fs::canonical(root / wanted, error);
  if (error) full = fs::canonical(other / wanted, error);
  if (error) throw refuse("does not exist");
  const auto holds_file = [&](const fs::path& parent) {
    return std::mismatch(parent.begin(), parent.end(), full.begin(), full.end()).first == parent.end();
  };
  if (!holds_file(root) && !holds_file(other))
    throw refuse("is a link that leads out of the folder of the model");
  return full;
}

fs::path linked_folder(const fs::path& path) {
  std::error_code error;
  if (!fs::is_symlink(path, error) || error) return {};
  const fs::path folder = fs::canonical(path.has_parent_path() ? path.parent_path() : ".", error);
  if (error) return {};
  const fs::path target = fs::canonical(path, error).parent_path();
  return error || target == folder ? fs::path() : target;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "vernier-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw internal_error("cannot create a temporary folder: {}", std::strerror(errno));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace vernier
