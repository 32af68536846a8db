// symbolic: computes with expressions and long numbers, each intermediate result in blocks of its own. `derive` builds
// random expressions, differentiates and simplifies them as trees that share parts by reference counts; `fractions`
// develops square roots into continued fractions with convergents of growing length. Stresses short-lived small blocks
// of one thread, freed nearly in the order of a stack. Resembles cfrac and the symbolic algebra of GiNaC.
#include "workload.h"

#include <cmath>

namespace workload {
namespace {

constexpr uint64_t kPrime = 1'000'000'007;  // what results are checked modulo

uint64_t sum(uint64_t a, uint64_t b) { return (a + b) % kPrime; }
uint64_t product(uint64_t a, uint64_t b) { return a * b % kPrime; }

// ---- derive

enum class Kind : uint32_t { kNumber, kVariable, kSum, kProduct };

struct Expression {
  Kind kind;
  uint32_t references;
  uint64_t value;  // of a number
  Expression* left;
  Expression* right;
};

struct Algebra {
  size_t allocated = 0;

  Expression* make(Kind kind, uint64_t value, Expression* left = nullptr, Expression* right = nullptr) {
    auto* const made = static_cast<Expression*>(std::malloc(sizeof(Expression)));
    if (made == nullptr) fail("out of memory");
    *made = {kind, 1, value, left, right};
    ++allocated;
    return made;
  }

  static Expression* share(Expression* e) {
    ++e->references;
    return e;
  }

  static void drop(Expression* e) {
    while (e != nullptr && --e->references == 0) {
      if (e->left != nullptr) drop(e->left);
      Expression* const right = e->right;
      std::free(e);
      e = right;
    }
  }

  static bool is_number(const Expression* e, uint64_t value) { return e->kind == Kind::kNumber && e->value == value; }

  // Both take over what they are given, and simplify as they build.
  Expression* add(Expression* a, Expression* b) {
    if (is_number(a, 0)) return drop(a), b;
    if (is_number(b, 0)) return drop(b), a;
    if (a->kind == Kind::kNumber && b->kind == Kind::kNumber) return fold(sum(a->value, b->value), a, b);
    return make(Kind::kSum, 0, a, b);
  }
  Expression* multiply(Expression* a, Expression* b) {
    if (is_number(a, 0)) return drop(b), a;
    if (is_number(b, 0)) return drop(a), b;
    if (is_number(a, 1)) return drop(a), b;
    if (is_number(b, 1)) return drop(b), a;
    if (a->kind == Kind::kNumber && b->kind == Kind::kNumber) return fold(product(a->value, b->value), a, b);
    return make(Kind::kProduct, 0, a, b);
  }
  Expression* fold(uint64_t value, Expression* a, Expression* b) {
    drop(a);
    drop(b);
    return make(Kind::kNumber, value);
  }

  Expression* draw(Random& random, unsigned depth) {
    if (depth == 0 || random.below(8) == 0)
      return random.below(2) == 0 ? make(Kind::kNumber, random.below(100)) : make(Kind::kVariable, 0);
    Expression* const left = draw(random, depth - 1);
    Expression* const right = draw(random, depth - 1);
    return random.below(2) == 0 ? add(left, right) : multiply(left, right);
  }

  Expression* derive(const Expression* e) {
    if (e->kind == Kind::kNumber) return make(Kind::kNumber, 0);
    if (e->kind == Kind::kVariable) return make(Kind::kNumber, 1);
    Expression* const left = derive(e->left);
    Expression* const right = derive(e->right);
    if (e->kind == Kind::kSum) return add(left, right);
    return add(multiply(left, share(e->right)), multiply(share(e->left), right));
  }
};

// An expression's value and its derivative's, found without the derivative's expression.
struct Dual {
  uint64_t value;
  uint64_t slope;
};
Dual evaluate(const Expression* e, uint64_t x) {
  if (e->kind == Kind::kNumber) return {e->value, 0};
  if (e->kind == Kind::kVariable) return {x, 1};
  const Dual a = evaluate(e->left, x);
  const Dual b = evaluate(e->right, x);
  if (e->kind == Kind::kSum) return {sum(a.value, b.value), sum(a.slope, b.slope)};
  return {product(a.value, b.value), sum(product(a.slope, b.value), product(a.value, b.slope))};
}

// Blocks allocated and freed.
size_t derive_expressions(const Options& options, uint64_t seed) {
  Random random(seed);
  Algebra algebra;
  for (size_t left = scaled(options, 1500); left > 0; --left) {
    Expression* const f = algebra.draw(random, 9);
    Expression* const slope = algebra.derive(f);
    const uint64_t x = random.below(1000);
    if (evaluate(f, x).slope != evaluate(slope, x).value) fail("a derivative is wrong: a block was damaged");
    Algebra::drop(slope);
    Algebra::drop(f);
  }
  return algebra.allocated;
}

// ---- fractions

// A natural number of any length, the lowest digit first. Every result is a block of its own, of just its length.
struct Number {
  uint32_t length;
  uint32_t digits[];
};

Number* make_number(uint32_t length, size_t& allocated) {
  auto* const made = static_cast<Number*>(std::malloc(sizeof(Number) + length * sizeof(uint32_t)));
  if (made == nullptr) fail("out of memory");
  made->length = length;
  ++allocated;
  return made;
}

Number* scale_number(const Number* number, uint32_t factor, size_t& allocated) {
  Number* const result = make_number(number->length + 1, allocated);
  uint64_t carry = 0;
  for (uint32_t i = 0; i < number->length; ++i) {
    carry += uint64_t{number->digits[i]} * factor;
    result->digits[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  result->digits[number->length] = static_cast<uint32_t>(carry);
  if (carry == 0) --result->length;
  return result;
}

Number* add_numbers(const Number* longer, const Number* shorter, size_t& allocated) {
  if (longer->length < shorter->length) std::swap(longer, shorter);
  Number* const result = make_number(longer->length + 1, allocated);
  uint64_t carry = 0;
  for (uint32_t i = 0; i < longer->length; ++i) {
    carry += uint64_t{longer->digits[i]} + (i < shorter->length ? shorter->digits[i] : 0);
    result->digits[i] = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
  result->digits[longer->length] = static_cast<uint32_t>(carry);
  if (carry == 0) --result->length;
  return result;
}

uint64_t remainder_of(const Number* number) {
  uint64_t result = 0;
  for (uint32_t i = number->length; i-- > 0;) result = ((result << 32) + number->digits[i]) % kPrime;
  return result;
}

// Two neighbouring convergents' numerators, or denominators.
struct Neighbours {
  Number* before;
  Number* last;

  Neighbours(uint32_t first, uint32_t second, size_t& allocated)
      : before(make_number(1, allocated)), last(make_number(1, allocated)) {
    before->digits[0] = first;
    last->digits[0] = second;
  }
  ~Neighbours() {
    std::free(before);
    std::free(last);
  }
  Neighbours(const Neighbours&) = delete;
  Neighbours& operator=(const Neighbours&) = delete;

  void advance(uint32_t term, size_t& allocated) {
    Number* const scaled_last = scale_number(last, term, allocated);
    Number* const next = add_numbers(scaled_last, before, allocated);
    std::free(scaled_last);
    std::free(before);
    before = last;
    last = next;
  }
};

size_t develop_fractions(const Options& options, uint64_t seed) {
  constexpr unsigned kTerms = 300;
  Random random(seed);
  size_t allocated = 0;
  for (size_t left = scaled(options, 700); left > 0; --left) {
    const uint64_t radicand = random.between(1'000'000, 2'000'000'000);
    const auto root = static_cast<uint64_t>(std::sqrt(static_cast<double>(radicand)));
    if (root * root == radicand) continue;
    Neighbours numerators(1, static_cast<uint32_t>(root), allocated);
    Neighbours denominators(0, 1, allocated);
    uint64_t m = 0;
    uint64_t d = 1;
    uint64_t term = root;
    for (unsigned i = 0; i < kTerms; ++i) {
      m = d * term - m;
      d = (radicand - m * m) / d;
      term = (root + m) / d;
      numerators.advance(static_cast<uint32_t>(term), allocated);
      denominators.advance(static_cast<uint32_t>(term), allocated);
    }
    // Neighbouring convergents differ by 1 over the product of their denominators.
    const uint64_t difference = (product(remainder_of(numerators.last), remainder_of(denominators.before)) + kPrime -
                                 product(remainder_of(numerators.before), remainder_of(denominators.last))) %
                                kPrime;
    if (difference != 1 && difference != kPrime - 1) fail("a fraction is wrong: a block was damaged");
  }
  return allocated;
}

double rate(const Options& options, uint64_t seed, size_t (*compute)(const Options&, uint64_t)) {
  std::vector<size_t> allocated(options.threads);
  const double ns = run_threads(options.threads, [&](unsigned t) { allocated[t] = compute(options, seed * 100 + t); });
  size_t total = 0;
  for (const size_t each : allocated) total += each;
  return static_cast<double>(total) / ns * 1e3;
}

}  // namespace

const Program kProgram = {
    .name = "symbolic",
    .what =
        R"(Computes with expressions and long numbers, each intermediate result in blocks of its own. derive: random
expressions are differentiated as trees that share parts; fractions: square roots are developed into continued
fractions, of numbers up to 160 B. Both check their results. Shows short-lived small blocks.)",
    .figures = "derive, fractions: millions of blocks a second, allocated and freed, over all threads.",
    .threads = "threads that do the same, each with blocks of its own"};

void measure_all(const Options& options, Report& report) {
  report.measure("derive", "M/s", [&](uint64_t seed) { return rate(options, seed, derive_expressions); });
  report.measure("fractions", "M/s", [&](uint64_t seed) { return rate(options, seed, develop_fractions); });
}

}  // namespace workload
