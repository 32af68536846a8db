/* A profiler of CPython 3.11 to 3.13 on snug's hooks (snug/profile.h): live bytes by Python stack, as lines that
 * flamegraph.pl and speedscope read. Built by one command, and used where snug is preloaded:
 *
 *   cc -O2 -fPIC -shared -I/usr/local/include $(python3-config --includes) snug_python_profile.c \
 *      -o snug_python_profile.so
 *   PYTHONMALLOC=malloc LD_PRELOAD=/usr/local/lib/libsnug.so python3 job.py
 *
 * where job.py has
 *
 *   import snug_python_profile
 *   snug_python_profile.start(64 << 10)      # a sample each 64 KiB on average
 *   ...
 *   snug_python_profile.write("job.stacks")  # "main (job.py:9);load (job.py:4) 52428800", what is live
 *
 * The hooks run in the middle of malloc and free, which the interpreter may have called from anywhere, and which
 * threads call that the interpreter does not know. So they allocate nothing, touch no object's count of references,
 * and look at frames only while this thread holds the GIL, which keeps these as they are. All that they share lies in
 * one mapping and is changed by atomics alone: no lock that a fork could leave held, no thread that waits.
 */
#define Py_BUILD_CORE_MODULE 1 /* for the frame's structure: the public functions allocate objects */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <internal/pycore_frame.h>
#include <snug/profile.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#if PY_VERSION_HEX < 0x030b0000 || PY_VERSION_HEX >= 0x030e0000
#error "frames of CPython 3.11 to 3.13 are known here"
#endif

/* Null where snug is not in the process. */
#pragma weak snug_profile_start
#pragma weak snug_profile_stop
#pragma weak snug_set_sampler

enum {
  kStacks = 1 << 14, /* slots of the table; a tag has 16 bits for one */
  kTextBytes = 64 << 20,
  kMostFrames = 64,
  kMostText = 6000 /* of one stack, on the stack of the thread that is inside of malloc */
};

/* What Python says of a sample's thread at that moment. Never changed but for its sum. */
struct stack {
  uint64_t hash;
  _Atomic int64_t live; /* estimated bytes */
  char text[];
};

static struct shared {
  _Atomic(struct stack*) stacks[kStacks];
  _Atomic size_t used; /* of text */
  _Alignas(16) char text[kTextBytes];
}* shared; /* zeros, of which the OS gives pages as they are written */

/* ---- texts, without an object ------------------------------------------------------------------------------ */

struct text {
  char bytes[kMostText];
  size_t length;
};

static void put(struct text* text, char byte) {
  if (text->length < kMostText - 1) text->bytes[text->length++] = byte;
}

/* UTF-8; what separates frames in the file becomes '_'. Reads the object's characters, which never change. */
static void put_string(struct text* text, PyObject* string) {
  if (string == NULL || !PyUnicode_Check(string)) {
    put(text, '?');
    return;
  }
  const int kind = PyUnicode_KIND(string);
  const void* const data = PyUnicode_DATA(string);
  for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(string); ++i) {
    const Py_UCS4 c = PyUnicode_READ(kind, data, i);
    if (c < 0x80) {
      put(text, c == ';' || c < ' ' ? '_' : (char)c);
      continue;
    }
    if (c >= 0x10000) put(text, (char)(0xf0 | c >> 18));
    if (c >= 0x800) put(text, (char)((c >= 0x10000 ? 0x80 : 0xe0) | (c >> 12 & (c >= 0x10000 ? 0x3f : 0x0f))));
    put(text, (char)((c >= 0x800 ? 0x80 : 0xc0) | (c >> 6 & (c >= 0x800 ? 0x3f : 0x1f))));
    put(text, (char)(0x80 | (c & 0x3f)));
  }
}

static void put_number(struct text* text, int number) {
  char digits[12];
  int count = 0;
  for (unsigned left = number > 0 ? (unsigned)number : 0; left != 0 || count == 0; left /= 10)
    digits[count++] = (char)('0' + left % 10);
  while (count != 0) put(text, digits[--count]);
}

/* ---- the interpreter's frames ------------------------------------------------------------------------------ */

/* The state of this thread if it holds the GIL, else null. PyGILState_Check() alone answers 1 before the interpreter
 * has begun, behind its end, and in each thread as soon as there are subinterpreters. */
static PyThreadState* state_of_holder(void) {
  if (!PyGILState_Check()) return NULL;
#if PY_VERSION_HEX >= 0x030d0000
  PyThreadState* const current = PyThreadState_GetUnchecked();
#else
  PyThreadState* const current = _PyThreadState_UncheckedGet();
#endif
  return current != NULL && current == PyGILState_GetThisThreadState() ? current : NULL;
}

static _PyInterpreterFrame* innermost_frame(PyThreadState* state) {
#if PY_VERSION_HEX >= 0x030d0000
  return state->current_frame;
#else
  return state->cframe != NULL ? state->cframe->current_frame : NULL;
#endif
}

/* Its code, borrowed; null of a frame that is no function's, or not begun yet. */
static PyCodeObject* code_of(_PyInterpreterFrame* frame) {
  if (_PyFrame_IsIncomplete(frame)) return NULL;
#if PY_VERSION_HEX >= 0x030d0000
  PyObject* const code = frame->f_executable;
#else
  PyObject* const code = (PyObject*)frame->f_code;
#endif
  return code != NULL && PyCode_Check(code) ? (PyCodeObject*)code : NULL;
}

/* The stack, outermost call first: "function (file:line);function (file:line)". */
static void put_python_stack(struct text* text) {
  _PyInterpreterFrame* frames[kMostFrames];
  int count = 0;
  PyThreadState* const state = state_of_holder();
  _PyInterpreterFrame* frame = state != NULL ? innermost_frame(state) : NULL;
  for (; frame != NULL && count < kMostFrames; frame = frame->previous)
    if (code_of(frame) != NULL) frames[count++] = frame;
  const char* const none = state != NULL ? "[no Python frame]" : "[without the GIL]";
  if (count == 0)
    for (const char* at = none; *at != '\0'; ++at) put(text, *at);
  while (count-- != 0) {
    PyCodeObject* const code = code_of(frames[count]);
    put_string(text, code->co_qualname);
    put(text, ' ');
    put(text, '(');
    put_string(text, code->co_filename);
    put(text, ':');
    put_number(text, PyCode_Addr2Line(code, _PyInterpreterFrame_LASTI(frames[count]) * (int)sizeof(_Py_CODEUNIT)));
    put(text, ')');
    if (count != 0) put(text, ';');
  }
  text->bytes[text->length] = '\0';
}

/* ---- the hooks --------------------------------------------------------------------------------------------- */

static struct stack* add_stack(const struct text* text, uint64_t hash) {
  const size_t bytes = (sizeof(struct stack) + text->length + 1 + 15) & ~(size_t)15;
  const size_t at = atomic_fetch_add(&shared->used, bytes);
  if (at > kTextBytes - bytes) return NULL; /* full: so it stays */
  struct stack* const stack = (struct stack*)(shared->text + at);
  stack->hash = hash;
  memcpy(stack->text, text->bytes, text->length + 1);
  return stack;
}

/* Its slot; kStacks if there is no room for one more. Two threads that add one stack at once: the second loses its
 * text's room. */
static unsigned slot_of(const struct text* text) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i != text->length; ++i) hash = (hash ^ (unsigned char)text->bytes[i]) * 0x100000001b3;
  struct stack* mine = NULL;
  for (unsigned tries = 0; tries != kStacks; ++tries) {
    const unsigned slot = (unsigned)((hash ^ hash >> 32) + tries) % kStacks;
    struct stack* there = atomic_load(&shared->stacks[slot]);
    if (there == NULL) {
      if (mine == NULL) mine = add_stack(text, hash);
      if (mine == NULL) break;
      if (atomic_compare_exchange_strong(&shared->stacks[slot], &there, mine)) return slot;
    }
    if (there->hash == hash && strcmp(there->text, text->bytes) == 0) return slot;
  }
  return kStacks;
}

/* The tag says all that freed() has to know: of 64 bits 16 for the slot, from 1 on, and 48 for the bytes. */
static uint64_t sampled(void* context, const struct snug_sample* sample) {
  (void)context;
  struct text text;
  text.length = 0;
  put_python_stack(&text);
  const unsigned slot = slot_of(&text);
  if (slot == kStacks) return 0;
  const uint64_t most = ((uint64_t)1 << 48) - 1;
  const double estimate = sample->weight * (double)sample->size;
  const uint64_t bytes = estimate < (double)most ? (uint64_t)estimate : most;
  atomic_fetch_add(&atomic_load(&shared->stacks[slot])->live, (int64_t)bytes);
  return (uint64_t)(slot + 1) << 48 | bytes;
}

/* By any thread, with the GIL or without. */
static void freed(void* context, uint64_t tag, void* block) {
  (void)context;
  (void)block;
  struct stack* const stack = atomic_load(&shared->stacks[(tag >> 48) - 1]);
  atomic_fetch_sub(&stack->live, (int64_t)(tag & (((uint64_t)1 << 48) - 1)));
}

/* It stays when the module is gone: blocks that it has tagged are freed later. */
static const struct snug_sampler sampler = {.context = NULL, .sampled = sampled, .freed = freed};

/* ---- the module -------------------------------------------------------------------------------------------- */

static void leave(void) { snug_set_sampler(NULL); }

static PyObject* start(PyObject* module, PyObject* arguments) {
  (void)module;
  Py_ssize_t distance = SNUG_PROFILE_DISTANCE;
  if (!PyArg_ParseTuple(arguments, "|n", &distance)) return NULL;
  if (snug_profile_start == NULL || snug_set_sampler == NULL) {
    PyErr_SetString(PyExc_RuntimeError, "this process does not run on snug: set LD_PRELOAD to libsnug.so");
    return NULL;
  }
  if (shared == NULL) {
    void* const memory =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return PyErr_SetFromErrno(PyExc_OSError);
    shared = memory;
    Py_AtExit(leave);
  }
  snug_set_sampler(&sampler);
  if (snug_profile_start((size_t)distance) != 0) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

static PyObject* stop(PyObject* module, PyObject* arguments) {
  (void)module;
  (void)arguments;
  if (shared != NULL) snug_profile_stop();
  Py_RETURN_NONE;
}

static PyObject* write_stacks(PyObject* module, PyObject* arguments) {
  (void)module;
  PyObject* path;
  if (!PyArg_ParseTuple(arguments, "O&", PyUnicode_FSConverter, &path)) return NULL;
  FILE* const file = fopen(PyBytes_AS_STRING(path), "w");
  PyObject* const failure = file == NULL ? PyErr_SetFromErrnoWithFilenameObject(PyExc_OSError, path) : NULL;
  Py_DECREF(path);
  if (file == NULL) return failure;
  for (unsigned slot = 0; shared != NULL && slot != kStacks; ++slot) {
    const struct stack* const stack = atomic_load(&shared->stacks[slot]);
    const int64_t live = stack != NULL ? atomic_load(&stack->live) : 0;
    if (live > 0) fprintf(file, "%s %lld\n", stack->text, (long long)live);
  }
  const int error = ferror(file) != 0;
  if (fclose(file) != 0 || error) return PyErr_SetFromErrno(PyExc_OSError);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, "start(distance=524288): samples from now on, one each so many bytes on average"},
    {"stop", stop, METH_NOARGS, "stop(): takes no more samples"},
    {"write", write_stacks, METH_VARARGS, "write(path): a line for each stack that has live bytes"},
    {NULL, NULL, 0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "snug_python_profile", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_snug_python_profile(void) { return PyModule_Create(&definition); }
