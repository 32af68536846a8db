/* Unloads a plugin in which one of its threads has allocated, before the thread ends. Prints `lived`. */
#include <dlfcn.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>

static int (*plugin_allocates)(void);
static sem_t has_allocated;
static sem_t is_unloaded;

static void* allocate(void* has) {
  *(int*)has = plugin_allocates();
  sem_post(&has_allocated);
  sem_wait(&is_unloaded);
  return NULL;
}

int main(int argc, char** argv) {
  void* const plugin = argc == 2 ? dlopen(argv[1], RTLD_NOW) : NULL;
  void* const function = plugin != NULL ? dlsym(plugin, "plugin_allocates") : NULL;
  if (function == NULL) {
    const char* const why = dlerror();
    fprintf(stderr, "%s\n", why != NULL ? why : "usage: plugin_host PLUGIN");
    return 1;
  }
  *(void**)&plugin_allocates = function;
  sem_init(&has_allocated, 0, 0);
  sem_init(&is_unloaded, 0, 0);
  pthread_t thread;
  int has = 0;
  if (pthread_create(&thread, NULL, allocate, &has) != 0) return 1;
  sem_wait(&has_allocated);
  dlclose(plugin);
  sem_post(&is_unloaded);
  pthread_join(thread, NULL);
  puts(has ? "lived" : "refused");
  return 0;
}
