"""run_emacs.py: emacs -batch byte-compiles Lisp files; the .elc must be equal."""

from service import Trial, libraries_from_arguments, need


def lisp(number: int) -> str:
    """A file with macros, closures, cl-lib, pcase, strings and lists enough for the compiler to work on."""
    functions = "\n".join(f"""
(cl-defstruct job-{number}-s{i} (name "n{i}" :type string) (parts nil) weight)
(defmacro job-{number}-twice-{i} (form) "Evaluate FORM twice." `(progn ,form (list ,form {i})))
(defun job-{number}-f{i} (list &optional deep)
  "Work on LIST, DEEP or not: function {i} of file {number}."
  (let ((table (make-hash-table :test #'equal)) (sum {i}))
    (cl-loop for item in list for index from 0
             do (pcase item
                  ((pred stringp) (puthash item (concat item "{'-' * (i % 30)}") table))
                  (`(,head . ,tail) (setq sum (+ sum (length tail) (if (numberp head) head index))))
                  ((and number (guard (numberp number))) (cl-incf sum (* number {i + 1})))
                  (_ (job-{number}-twice-{i} (cl-incf sum))))
             when (and deep (> index {i})) collect (lambda (x) (+ x sum index)) into closures
             finally return (cons sum (mapcar (lambda (f) (funcall f 1)) closures)))))
""" for i in range(60))
    return f";;; job-{number}.el --- file {number} -*- lexical-binding: t -*-\n(require 'cl-lib)\n{functions}\n(provide 'job-{number})\n"


def main() -> None:
    trial = Trial(libraries_from_arguments())
    emacs = need("emacs")
    compiled = {}
    for allocator in trial.all:
        names = [f"job-{number}.el" for number in range(7)]
        for number, name in enumerate(names):
            (allocator.folder / name).write_text(lisp(number))
        # Ask for no native code: that would start compilers that may outlive the test.
        allocator.run(emacs, "-batch", "-Q", "--eval", "(setq native-comp-jit-compilation nil native-comp-deferred-compilation nil)",
                      "-f", "batch-byte-compile", *names)
        compiled[allocator.name] = b"".join((allocator.folder / f"{name}c").read_bytes() for name in names)
        if len(compiled[allocator.name]) < 100_000:
            raise SystemExit(f"only {len(compiled[allocator.name])} bytes compiled")
    trial.expect_equal("compiled Lisp", compiled)
    reported = {str(line["program"]) for line in trial.counted.reports().lines}
    trial.expect_service(tuple(reported))
    trial.close()


main()
