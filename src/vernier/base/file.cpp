#include "vernier/base/file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "vernier/base/descriptor.h"
#include "vernier/base/error.h"
#include "vernier/base/file_writer.h"
#include "vernier/base/leftovers.h"

namespace vernier {

namespace fs = std::filesystem;

std::string read_file(const fs::path& path) {
  const Descriptor fd = open_to_read(path);
  std::string content(static_cast<size_t>(status_of(fd, path).st_size), '\0');
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
  FileWriter file(path);
  for (const std::string_view part : parts) file.write(part);
  file.commit(durability);
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
  std::error_code error;
  const fs::path parent = fs::temp_directory_path(error);
  std::string name = (parent / "vernier-XXXXXX").string();
  const auto lock = lock_leftovers();
  const bool made = !error && ::mkdtemp(name.data()) != nullptr;
  if (!made) {
    const char* set = std::getenv("TMPDIR");
    throw bad_input("cannot create a temporary folder: {}", error ? error.message() : std::strerror(errno))
        .in_file(error && set != nullptr ? set : parent.string())
        .advise("set TMPDIR to a folder that can be written to");
  }
  path_ = name;
  note_leftover(path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
  const auto lock = lock_leftovers();
  forget_leftover(path_);
}

}  // namespace vernier
