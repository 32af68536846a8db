// compress_job DOCUMENTS THREADS: threads compress made-up documents of 2 to 60 KiB with Zstandard, hand them to the
// next thread, and that one unpacks them and compares. Each document has a context of its own, as a request of a server
// has.
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

enum { kWords = 997, kLevel = 1, kMaxThreads = 64 };

typedef struct {
  size_t plain_length, length;
  uint64_t seed;
  char* packed;
} Document;

static Document* documents;
static long document_count;
static long thread_count;
static pthread_barrier_t half_way;

static uint64_t next(uint64_t* state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  return *state ^= *state << 17;
}

static char* write_document(uint64_t seed, size_t* length) {
  uint64_t state = seed * 2654435761u + 1;
  *length = 2048 + next(&state) % (58 << 10);
  char* const text = malloc(*length + 32);
  if (text == NULL) return NULL;
  for (size_t at = 0; at < *length;)
    at += (size_t)snprintf(text + at, 32, "word-%u ", (unsigned)(next(&state) % kWords));
  return text;
}

static const char* pack(Document* document) {
  char* const text = write_document(document->seed, &document->plain_length);
  const size_t most = ZSTD_compressBound(document->plain_length);
  char* const packed = malloc(most);
  ZSTD_CCtx* const context = ZSTD_createCCtx();
  if (text == NULL || packed == NULL || context == NULL) return "no memory";
  document->length = ZSTD_compressCCtx(context, packed, most, text, document->plain_length, kLevel);
  if (ZSTD_isError(document->length)) return ZSTD_getErrorName(document->length);
  document->packed = realloc(packed, document->length);
  ZSTD_freeCCtx(context);
  free(text);
  return document->packed == NULL ? "no memory" : NULL;
}

static const char* unpack(Document* document) {
  size_t length;
  char* const text = write_document(document->seed, &length);
  char* const plain = malloc(document->plain_length);
  ZSTD_DCtx* const context = ZSTD_createDCtx();
  if (text == NULL || plain == NULL || context == NULL) return "no memory";
  if (ZSTD_decompressDCtx(context, plain, document->plain_length, document->packed, document->length) != length ||
      memcmp(plain, text, length) != 0)
    return "a document came back as another";
  ZSTD_freeDCtx(context);
  free(document->packed);
  free(plain);
  free(text);
  return NULL;
}

static void* work(void* argument) {
  const long number = (long)argument;
  const char* wrong = NULL;
  for (long i = number; i < document_count && wrong == NULL; i += thread_count) wrong = pack(&documents[i]);
  pthread_barrier_wait(&half_way);
  for (long i = (number + 1) % thread_count; i < document_count && wrong == NULL; i += thread_count)
    wrong = unpack(&documents[i]);
  return (void*)wrong;
}

int main(int count, char** words) {
  document_count = count == 3 ? atol(words[1]) : 0;
  thread_count = count == 3 ? atol(words[2]) : 0;
  if (document_count < 1 || thread_count < 1 || thread_count > kMaxThreads) {
    fprintf(stderr, "usage: compress_job DOCUMENTS THREADS (1 to %d)\n", kMaxThreads);
    return 2;
  }
  documents = calloc((size_t)document_count, sizeof *documents);
  if (documents == NULL) return 1;
  for (long i = 0; i != document_count; ++i) documents[i].seed = (uint64_t)i + 1;
  pthread_barrier_init(&half_way, NULL, (unsigned)thread_count);
  pthread_t threads[kMaxThreads];
  for (long i = 0; i != thread_count; ++i)
    if (pthread_create(&threads[i], NULL, work, (void*)i) != 0) return 1;
  int status = 0;
  for (long i = 0; i != thread_count; ++i) {
    void* wrong;
    pthread_join(threads[i], &wrong);
    if (wrong != NULL) fprintf(stderr, "compress_job: %s\n", (const char*)wrong), status = 1;
  }
  free(documents);
  return status;
}
