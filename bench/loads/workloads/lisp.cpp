// lisp: a small interpreter with reference-counted cells: reads programs, binds arguments in association lists, builds
// and sorts lists, searches for queens. Each cell, number and binding is a block. Stresses short-lived blocks of one
// small size from deep recursion, beside a growing and shrinking set of live ones. Resembles interpreters of the kind
// of gawk and xlisp, which classic studies of allocators used.
#include "workload.h"

#include <utility>

namespace workload {
namespace {

enum class Kind : uint32_t { kNumber, kSymbol, kPair, kClosure };

// A closure is a pair of (parameters . body) and its environment.
struct Cell {
  Kind kind;
  uint32_t references;
  int64_t number;  // or a symbol's index
  Cell* head;
  Cell* tail;
};

struct Counter {
  size_t allocated = 0;
  size_t freed = 0;
};
thread_local Counter counter;  // of this thread's cells

// The empty list is null. A list's tail is dropped in a loop, or long lists would overflow the stack.
void drop(Cell* cell) {
  while (cell != nullptr && --cell->references == 0) {
    drop(cell->head);
    Cell* const tail = cell->tail;
    std::free(cell);
    ++counter.freed;
    cell = tail;
  }
}

// A counted reference.
class Value {
 public:
  Value() = default;
  explicit Value(Cell* owned) : cell_(owned) {}
  Value(const Value& other) : cell_(other.cell_) {
    if (cell_ != nullptr) ++cell_->references;
  }
  Value(Value&& other) noexcept : cell_(std::exchange(other.cell_, nullptr)) {}
  Value& operator=(Value other) noexcept {
    std::swap(cell_, other.cell_);
    return *this;
  }
  ~Value() { drop(cell_); }

  explicit operator bool() const { return cell_ != nullptr; }
  Kind kind() const { return cell_->kind; }
  int64_t number() const { return cell_->number; }
  Value head() const { return share(cell_->head); }
  Value tail() const { return share(cell_->tail); }
  const Cell* cell() const { return cell_; }
  Cell* release() { return std::exchange(cell_, nullptr); }

  static Value share(Cell* cell) {
    if (cell != nullptr) ++cell->references;
    return Value(cell);
  }

 private:
  Cell* cell_ = nullptr;
};

Value make(Kind kind, int64_t number, Value head = {}, Value tail = {}) {
  auto* const cell = static_cast<Cell*>(std::malloc(sizeof(Cell)));
  if (cell == nullptr) fail("out of memory");
  *cell = {kind, 1, number, head.release(), tail.release()};
  ++counter.allocated;
  return Value(cell);
}
Value number(int64_t n) { return make(Kind::kNumber, n); }
Value pair(Value head, Value tail) { return make(Kind::kPair, 0, std::move(head), std::move(tail)); }

// The built-in words, in the order of kWords.
enum Word : int64_t { kIf, kLambda, kQuote, kAdd, kSubtract, kLess, kEqual, kCons, kHead, kTail, kIsNull, kRemainder };
constexpr const char* kWords[] = {"if", "lambda", "quote", "+", "-", "<", "=", "cons", "car", "cdr", "null?", "rem"};

class Interpreter {
 public:
  Interpreter() {
    for (const char* word : kWords) symbols_.emplace_back(word);
  }

  // Defines a global function or value.
  void define(const char* name, const char* text) {
    const int64_t symbol = intern(name);
    const Value value = evaluate(read(text), {});
    globals_.resize(symbols_.size());
    globals_[static_cast<size_t>(symbol)] = value;
  }

  int64_t run(const std::string& text) {
    const char* at = text.c_str();
    const Value result = evaluate(read(at), {});
    if (!result || result.kind() != Kind::kNumber) fail("the interpreter's result is no number: a cell was damaged");
    return result.number();
  }

 private:
  int64_t intern(const std::string& name) {
    const auto found = std::find(symbols_.begin(), symbols_.end(), name);
    if (found == symbols_.end()) symbols_.push_back(name);
    return std::find(symbols_.begin(), symbols_.end(), name) - symbols_.begin();
  }

  Value read(const char*&& text) {
    const char* at = text;
    return read(at);
  }
  Value read(const char*& at) {
    at += std::strspn(at, " \n");
    if (*at == '(') return read_rest(++at);
    const size_t length = std::strcspn(at, " \n()");
    const std::string word(at, length);
    at += length;
    const bool is_number = word.find_first_not_of("0123456789") == std::string::npos;
    return is_number ? number(std::atoll(word.c_str())) : make(Kind::kSymbol, intern(word));
  }
  Value read_rest(const char*& at) {
    at += std::strspn(at, " \n");
    if (*at == ')') return ++at, Value();
    Value head = read(at);
    Value tail = read_rest(at);
    return pair(std::move(head), std::move(tail));
  }

  Value look_up(int64_t symbol, const Value& environment) const {
    for (const Cell* at = environment.cell(); at != nullptr; at = at->tail) {
      if (at->head->head->number == symbol) return Value::share(at->head->tail);
    }
    return globals_[static_cast<size_t>(symbol)];
  }

  // A call in tail position goes on in the loop.
  Value evaluate(Value expression, Value environment) {
    for (;;) {
      if (!expression || expression.kind() == Kind::kNumber) return expression;
      if (expression.kind() == Kind::kSymbol) return look_up(expression.number(), environment);
      const Value operation = expression.head();
      const Value arguments = expression.tail();
      if (operation.kind() == Kind::kSymbol && operation.number() <= kRemainder) {
        if (operation.number() == kIf) {
          const Value condition = evaluate(arguments.head(), environment);
          const Value branches = arguments.tail();
          expression = condition ? branches.head() : branches.tail().head();
          continue;
        }
        return apply_word(static_cast<Word>(operation.number()), arguments, environment);
      }
      const Value closure = evaluate(operation, environment);
      if (!closure || closure.kind() != Kind::kClosure) fail("the interpreter calls no function: a cell was damaged");
      Value bindings = closure.tail();
      Value parameters = closure.head().head();
      for (Value rest = arguments; rest; rest = rest.tail(), parameters = parameters.tail())
        bindings = pair(pair(parameters.head(), evaluate(rest.head(), environment)), std::move(bindings));
      expression = closure.head().tail().head();
      environment = std::move(bindings);
    }
  }

  static Value truth(bool holds) { return holds ? number(1) : Value(); }

  Value apply_word(Word word, const Value& arguments, const Value& environment) {
    if (word == kQuote) return arguments.head();
    if (word == kLambda) return make(Kind::kClosure, 0, arguments, environment);
    const Value a = evaluate(arguments.head(), environment);
    if (word == kHead) return a.head();
    if (word == kTail) return a.tail();
    if (word == kIsNull) return truth(!a);
    const Value b = evaluate(arguments.tail().head(), environment);
    if (word == kCons) return pair(a, b);
    if (word == kAdd) return number(a.number() + b.number());
    if (word == kSubtract) return number(a.number() - b.number());
    if (word == kRemainder) return number(a.number() % b.number());
    return truth(word == kLess ? a.number() < b.number() : a.number() == b.number());
  }

  std::vector<std::string> symbols_;
  std::vector<Value> globals_;
};

// The programs, and what they must answer.
void define_library(Interpreter& lisp) {
  lisp.define("not", "(lambda (x) (if x (quote ()) 1))");
  lisp.define("fib", "(lambda (n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))");
  lisp.define("numbers",
              "(lambda (n seed) (if (= n 0) (quote ()) (cons seed (numbers (- n 1) (rem (+ seed 7919) 10007)))))");
  lisp.define("below",
              "(lambda (p l) (if (null? l) l (if (< (car l) p) (cons (car l) (below p (cdr l))) (below p (cdr l)))))");
  lisp.define("from",
              "(lambda (p l) (if (null? l) l (if (< (car l) p) (from p (cdr l)) (cons (car l) (from p (cdr l))))))");
  lisp.define("append", "(lambda (a b) (if (null? a) b (cons (car a) (append (cdr a) b))))");
  lisp.define("sort", R"((lambda (l) (if (null? l) l
      (append (sort (below (car l) (cdr l))) (cons (car l) (sort (from (car l) (cdr l))))))))");
  lisp.define("fold", "(lambda (f start l) (if (null? l) start (fold f (f start (car l)) (cdr l))))");
  lisp.define("disorder", R"((lambda (l) (if (null? (cdr l)) 0
      (+ (if (< (car (cdr l)) (car l)) 1 0) (disorder (cdr l))))))");
  lisp.define("safe", R"((lambda (row distance rest) (if (null? rest) 1 (if (= (car rest) row) (quote ())
      (if (= (car rest) (+ row distance)) (quote ()) (if (= (car rest) (- row distance)) (quote ())
      (safe row (+ distance 1) (cdr rest))))))))");
  lisp.define("try", R"((lambda (row size placed left) (if (= row size) 0
      (+ (if (safe row 1 placed) (queens size (cons row placed) (- left 1)) 0) (try (+ row 1) size placed left)))))");
  lisp.define("queens", "(lambda (size placed left) (if (= left 0) 1 (try 0 size placed left)))");
}

void expect(Interpreter& lisp, const std::string& program, int64_t answer) {
  if (lisp.run(program) != answer) fail("the interpreter's answer is wrong: a cell was damaged");
}

// Cells allocated and freed.
size_t interpret(const Options& options, uint64_t seed) {
  counter = {};
  {
    Interpreter lisp;
    define_library(lisp);
    for (size_t left = scaled(options, 8); left > 0; --left) {
      const std::string list = "(numbers 600 " + std::to_string((seed * 31 + left) % 10007) + ")";
      expect(lisp, "(fib 15)", 610);
      expect(lisp, "(queens 5 (quote ()) 5)", 10);
      expect(lisp, "(disorder (sort " + list + "))", 0);
      expect(lisp, "(fold (lambda (n x) (+ n 1)) 0 (sort " + list + "))", 600);
    }
  }
  if (counter.freed != counter.allocated) fail("cells were lost");
  return counter.allocated;
}

}  // namespace

const Program kProgram = {
    .name = "lisp",
    .what =
        R"(Interprets small programs of a Lisp: cells, numbers and bindings are blocks of 32 B with reference counts:
recursion, sorting of lists, a search for queens. Shows short-lived small blocks from deep recursion.)",
    .figures = "cells: millions of blocks a second, allocated and freed, over all threads.",
    .threads = "threads, each with an interpreter of its own"};

void measure_all(const Options& options, Report& report) {
  report.measure("cells", "M/s", [&](uint64_t seed) {
    std::vector<size_t> cells(options.threads);
    const double ns = run_threads(options.threads, [&](unsigned t) { cells[t] = interpret(options, seed * 100 + t); });
    size_t total = 0;
    for (const size_t each : cells) total += each;
    return static_cast<double>(total) / ns * 1e3;
  });
}

}  // namespace workload
