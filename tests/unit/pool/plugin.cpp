// plugin.cpp: a plugin with a class that has a pool of its own with a cache for each thread, for plugin_host.
#include <snug/pool_thread_cache.h>
#include <snug/pooled.h>

#include <memory>
#include <vector>

namespace {

struct Message : snug::Pooled<Message, snug::ThreadCached> {
  long body[PLUGIN_WORDS] = {};
};

}  // namespace

// Makes and deletes messages; whether each was its own.
extern "C" [[gnu::visibility("default")]] bool use_messages(long count) {
  std::vector<std::unique_ptr<Message>> messages;
  for (long i = 0; i < count; ++i) {
    messages.push_back(std::make_unique<Message>());
    for (long& word : messages.back()->body) word = i;
  }
  for (long i = 0; i < count; ++i) {
    for (const long word : messages[static_cast<size_t>(i)]->body) {
      if (word != i) return false;
    }
  }
  return true;
}
