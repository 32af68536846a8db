#include "live/live_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/futex.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <climits>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "text/printable.h"
#include "text/user_error.h"

namespace snug::tool {

namespace {

using std::chrono::steady_clock;
constexpr auto kPatienceWithStopped = std::chrono::milliseconds(300);
constexpr auto kStep = std::chrono::milliseconds(50);

std::string folder_of(pid_t pid) { return fmt::format("/proc/{}", pid); }

// The value of a field of /proc/PID/status, empty if there is none.
std::string status_field(pid_t pid, const std::string& name) {
  std::ifstream status(folder_of(pid) + "/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return line.substr(std::min(line.size(), name.size() + 2));
  return "";
}

bool exists(pid_t pid) { return std::filesystem::exists(folder_of(pid)); }

// A number of the process itself: as we see it, or as it does in a container.
bool is_number_of(pid_t pid, std::uint32_t number) {
  std::istringstream numbers(status_field(pid, "NSpid"));
  for (std::uint32_t its = 0; numbers >> its;)
    if (its == number) return true;
  return number == static_cast<std::uint32_t>(pid);
}

bool maps(pid_t pid, const std::string& name) {
  std::ifstream file(folder_of(pid) + "/maps");
  for (std::string line; std::getline(file, line);)
    if (line.find(name) != std::string::npos) return true;
  return false;
}

// Of /proc/PID/status: the process has ended, or its main thread has, and with it what it can be asked by.
bool has_lost_main(const std::string& state) { return state.starts_with("Z") || state.starts_with("X"); }
constexpr const char* kEnded = "it has ended, or its main thread has";

// So that it stays as long as it is.
bool is_sealed(int file) {
  const int seals = fcntl(file, F_GET_SEALS);
  return seals >= 0 && (seals & F_SEAL_SHRINK) != 0;
}

// The open file of the process that is its own page; -1 if there is none. Children inherit that of their parents.
int find_page(pid_t pid) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder_of(pid) + "/fd", error)) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!target.starts_with(fmt::format("/memfd:{} ", ControlPage::kName))) continue;
    const int file = open(entry.path().c_str(), O_RDWR | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) continue;
    struct stat status{};
    ControlPage head{};
    const bool is_page = is_sealed(file) && fstat(file, &status) == 0 &&
                         status.st_size >= static_cast<off_t>(ControlPage::kBytes) &&
                         pread(file, static_cast<void*>(&head), sizeof head, 0) == sizeof head &&
                         head.magic == ControlPage::kMagic && is_number_of(pid, head.pid);
    if (is_page) return file;
    close(file);
  }
  return -1;
}

}  // namespace

pid_t process_number(const std::string& word) {
  pid_t pid = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), pid);
  if (error != std::errc() || end != word.data() + word.size() || pid <= 0)
    throw UserError(fmt::format("'{}' is no number of a process", printable(word)));
  return pid;
}

UserError damaged_answer(pid_t pid) {
  return UserError(fmt::format("process {}: its answer is damaged", pid), EXIT_FAILURE);
}

LiveProcess::LiveProcess(pid_t pid, std::chrono::seconds patience) : pid_(pid), patience_(patience) {
  open_page();
  try {
    lock_page();
  } catch (...) {
    close(file_);
    throw;
  }
  void* const start = mmap(nullptr, ControlPage::kBytes, PROT_READ | PROT_WRITE, MAP_SHARED, file_, 0);
  if (start == MAP_FAILED) {
    close(file_);
    refuse("its page cannot be mapped");
  }
  page_ = static_cast<ControlPage*>(start);
}

LiveProcess::~LiveProcess() {
  munmap(page_, ControlPage::kBytes);
  close(file_);  // and with it goes the lock
}

void LiveProcess::refuse(const std::string& why) const {
  throw UserError(fmt::format("process {}: {}", pid_, why), EXIT_FAILURE);
}

void LiveProcess::open_page() {
  if (!exists(pid_)) refuse("there is no such process");
  if (has_lost_main(status_field(pid_, "State"))) refuse(kEnded);
  if (access((folder_of(pid_) + "/fd").c_str(), R_OK | X_OK) != 0)
    refuse("it is another user's, or has rights that its files do not show: run this as that user, or as root");
  file_ = find_page(pid_);
  if (file_ < 0) {
    if (maps(pid_, ControlPage::kName))
      refuse("it has closed snug's file, as programs do that close all of theirs, and cannot be asked");
    if (maps(pid_, "libsnug"))
      refuse("it runs on snug, but does not publish: start it with SNUG_CONF=publish:on, and let it allocate");
    refuse("it does not publish: start it on snug, with SNUG_CONF=publish:on (`snug doctor " + std::to_string(pid_) +
           "` tells which malloc it has)");
  }
  ControlPage head{};
  if (pread(file_, static_cast<void*>(&head), sizeof head, 0) != sizeof head || head.version != ControlPage::kVersion) {
    const std::uint32_t version = head.version;
    close(file_);
    refuse(fmt::format("its snug speaks version {} of the page, this tool version {}", version, ControlPage::kVersion));
  }
}

void LiveProcess::lock_page() const {
  for (const auto begin = steady_clock::now(); flock(file_, LOCK_EX | LOCK_NB) != 0;) {
    if (steady_clock::now() - begin > patience_)
      refuse(fmt::format("another tool has been asking it for {} seconds", patience_.count()));
    std::this_thread::sleep_for(kStep);
  }
}

std::string LiveProcess::ask(ControlCommand command, const std::string& words) {
  if (words.size() >= sizeof page_->words) refuse(fmt::format("'{}' is too long", printable(words)));
  std::memset(page_->words, 0, sizeof page_->words);
  std::memcpy(page_->words, words.data(), words.size());
  page_->command.store(static_cast<std::uint32_t>(command), kRelaxed);
  const std::uint32_t request = ControlPage::count_of(page_->requests.fetch_add(1) + 1);
  syscall(SYS_futex, &page_->requests, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
  await_answer(request);
  const std::uint32_t length = page_->length.load(kRelaxed);
  const std::uint32_t error = page_->error.load(kRelaxed);
  if (length > ControlPage::kMostAnswer) throw damaged_answer(pid_);
  std::string answer(reinterpret_cast<const char*>(page_) + ControlPage::kHeaderBytes, length);
  if (error == 0) return answer;
  constexpr std::string_view kPrefix = "snug: SNUG_CONF: ";
  if (answer.starts_with(kPrefix)) answer.erase(0, kPrefix.size());
  answer.erase(std::min(answer.size(), answer.find('\n')));
  refuse(error == ENOSPC  ? "its answer is longer than its page"
         : answer.empty() ? std::strerror(static_cast<int>(error))
                          : printable(answer));
}

void LiveProcess::await_answer(std::uint32_t request) {
  const auto begin = steady_clock::now();
  for (;;) {
    const std::uint32_t answers = page_->answers.load(kAcquire);
    if (answers == request) return;
    constexpr timespec kLooks{0, 50'000'000};
    syscall(SYS_futex, &page_->answers, FUTEX_WAIT, answers, &kLooks, nullptr, 0);
    if (page_->answers.load(kAcquire) == request) return;
    const std::string state = status_field(pid_, "State");
    if (!exists(pid_) || has_lost_main(state)) refuse(kEnded);
    const auto waited = steady_clock::now() - begin;
    const bool is_stopped = (state.starts_with("T") || state.starts_with("t")) && waited > kPatienceWithStopped;
    if (!is_stopped && waited <= patience_) continue;
    // Withdrawn: it is not to be carried out later, when no tool waits for it.
    page_->command.store(UINT32_MAX, kRelaxed);
    refuse(is_stopped ? "it is stopped" : fmt::format("it has not answered for {} seconds", patience_.count()));
  }
}

double resident_bytes(pid_t pid) {
  std::ifstream statm(fmt::format("/proc/{}/statm", pid));
  double all = 0;
  double resident = 0;
  statm >> all >> resident;
  return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
}

std::vector<pid_t> published_processes() {
  std::vector<pid_t> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    const std::string name = entry.path().filename().string();
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const pid_t pid = process_number(name);
    const int file = find_page(pid);
    if (file < 0) continue;
    close(file);
    found.push_back(pid);
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace snug::tool
