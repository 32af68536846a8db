;;; emacs_job.el --- an allocation-heavy job for emacs in batch  -*- lexical-binding: t; -*-

;; emacs --batch -Q -l bench/loads/programs/emacs_job.el
;;
;; Buffers that grow and are searched and replaced, source code that is fontified and indented, lists, strings and hash
;; tables until the collector has run many times, Lisp that is compiled.  Emacs takes cons cells and short strings from
;; blocks of malloc, and vectors, buffers' texts and intervals each as they are.  Ends with an error if a result is wrong.
;; What it does depends on nothing.  The milliseconds of each part go to the file $SNUG_FIGURES, if that is set.

(require 'cl-lib)

(defvar job-scale 1)
(defvar job-state 1)

(defun job-random (bound)
  (setq job-state (% (+ (* job-state 1103515245) 12345) 2147483648))
  (% (/ job-state 65536) bound))

(defun job-expect (what found wanted)
  (unless (equal found wanted)
    (error "%s: found %S, wanted %S" what found wanted)))

(defun job-lists ()
  (let ((table (make-hash-table :test 'equal)) (lists nil))
    (dotimes (i (* 60000 job-scale))
      (let ((key (format "key-%d" (job-random 9000))))
        (puthash key (cons i (gethash key table)) table))
      (when (zerop (% i 7)) (push (make-list (1+ (job-random 30)) i) lists)))
    (let ((total 0))
      (maphash (lambda (_ values) (setq total (+ total (length values)))) table)
      (job-expect "values" total (* 60000 job-scale)))
    (setq lists (sort lists (lambda (a b) (< (length a) (length b)))))
    (job-expect "lists" (cl-every #'<= (mapcar #'length lists) (mapcar #'length (cdr lists))) t)))

(defun job-text ()
  (with-temp-buffer
    (buffer-enable-undo)
    (dotimes (i (* 15000 job-scale))
      (insert (format "line %d of %s\n" i (make-string (job-random 40) ?x))))
    (goto-char (point-min))
    (let ((count 0))
      (while (re-search-forward "^line \\([0-9]+\\) of \\(x*\\)$" nil t)
        (replace-match "\\2 is of line \\1" t)
        (put-text-property (match-beginning 0) (match-end 0) 'face 'bold)
        (setq count (1+ count)))
      (job-expect "lines" count (* 15000 job-scale)))
    (sort-lines nil (point-min) (point-max))
    (job-expect "sorted" (count-lines (point-min) (point-max)) (* 15000 job-scale))))

(defun job-source ()
  (dotimes (_ job-scale)
    (with-temp-buffer
      (dotimes (i 50)
        (insert (format "int f%d(const char *text, int n)\n{\nfor (int i = 0; i < n; i++) {\nif (text[i] == '%c') {\n" i
                        (+ ?a (job-random 26)))
                "return i * 2; /* found */\n}\n}\nreturn -1;\n}\n\n"))
      (let ((before (count-lines (point-min) (point-max))))
        (c-mode)
        (font-lock-ensure)
        (indent-region (point-min) (point-max))
        (job-expect "source lines" (count-lines (point-min) (point-max)) before)
        (goto-char (point-min))
        (job-expect "indented" (re-search-forward "^      return i \\* 2;" nil t) (point))))))

(defun job-compile ()
  (dotimes (i (* 60 job-scale))
    (let ((compiled (byte-compile
                     `(lambda (n)
                        (let ((sum ,i) (list nil))
                          (dotimes (k n) (push (cons k (* k k)) list) (cl-incf sum (cdar list)))
                          (dolist (pair list) (cl-decf sum (cdr pair)))
                          (pcase sum ((pred zerop) 'zero) ((guard (> sum 1000)) 'large) (_ sum)))))))
      (job-expect "compiled" (funcall compiled 50) (if (zerop i) 'zero i)))))

(defun job-json ()
  (dotimes (i (* 1500 job-scale))
    (let* ((object (list :id i :tags (make-vector (job-random 20) "a tag") :text (make-string (job-random 300) ?t)))
           (text (json-encode object)))
      (job-expect "json" (plist-get (json-parse-string text :object-type 'plist) :id) i))))

(require 'json)
(condition-case problem
    (let ((figures nil))
      (dolist (part '(job-lists job-text job-source job-compile job-json))
        (let ((start (float-time)) (inhibit-message t))
          (funcall part)
          (let ((ms (* 1000 (- (float-time) start))) (name (substring (symbol-name part) 4)))
            (princ (format "%-12s %8.1f ms\n" name ms))
            (push (format "\"%s\": {\"value\": %.3f, \"unit\": \"ms\", \"better\": \"lower\"}" name ms) figures))))
      (princ (format "collections  %8d\n" gcs-done))
      (let ((path (getenv "SNUG_FIGURES")))
        (when path
          (write-region (concat "{" (mapconcat #'identity figures ",\n") "}\n") nil path nil 'silent))))
  (error (message "emacs_job.el: %s" (error-message-string problem)) (kill-emacs 1)))
