;;; emacs_edits.el --- thousands of edits over many files, for a trace  -*- lexical-binding: t; -*-

;; emacs --batch -Q -l bench/loads/programs/emacs_edits.el FOLDER [FILES]
;;
;; Writes FILES (default 45) files of C, of text and of Emacs Lisp into FOLDER, a third each, and edits them one after the
;; other, in the manner of the session that Bohra and Gabber traced (FREENIX 2001: a word replaced in all files of a
;; source tree): visit, fontify, replace, sort, fill, indent, undo, save.  Sixteen files stay open; the oldest is closed
;; for the next.  Ends with an error if an edit did not do what it should.  What it does depends on nothing.

(defvar edits-state 1)
(defvar edits-done 0)
(defvar edits-index (make-hash-table :test 'equal) "Where each word stands: a list of (FILE . POSITION).")

(defun edits-random (bound)
  (setq edits-state (% (+ (* edits-state 1103515245) 12345) 2147483648))
  (% (/ edits-state 65536) bound))

(defun edits-expect (what found wanted)
  (unless (equal found wanted)
    (error "%s of %s: found %S, wanted %S" what (buffer-name) found wanted)))

(defun edits-word ()
  (let ((letters (make-string (+ 2 (edits-random 9)) ?a)))
    (dotimes (i (length letters) letters)
      (aset letters i (+ ?a (edits-random 26))))))

(defun edits-write-c ()
  (dotimes (i (+ 5 (edits-random 16)))
    (insert (format "/* %s %s. */\nint %s_%d(int %s, const char *text)\n{\nint sum = 0;\n"
                    (edits-word) (edits-word) (edits-word) i (edits-word)))
    (dotimes (_ (+ 2 (edits-random 6)))
      (insert (format "for (int i = 0; i < %d; i++) {\nif (text[i] == '%c') {\nsum += %d; /* %s */\n}\n}\n"
                      (edits-random 1000) (+ ?a (edits-random 26)) (edits-random 100) (edits-word))))
    (insert "return sum;\n}\n\n")))

(defun edits-write-text ()
  (dotimes (_ (+ 30 (edits-random 90)))
    (dotimes (_ (+ 20 (edits-random 100)))
      (insert (edits-word) (if (zerop (edits-random 12)) " int\n" " ")))
    (insert "\n\n")))

(defun edits-write-lisp ()
  (dotimes (i (+ 20 (edits-random 60)))
    (insert (format "(defun %s-%d (int %s)\n\"%s %s.\"\n(let ((sum 0))\n(dotimes (i int)\n(setq sum (+ sum (* i %d))))\n(list sum int '%s)))\n\n"
                    (edits-word) i (edits-word) (capitalize (edits-word)) (edits-word) (edits-random 1000) (edits-word)))))

(defun edits-replace (from to)
  "Every match of FROM, and how many there were."
  (let ((count 0))
    (goto-char (point-min))
    (while (re-search-forward from nil t)
      (replace-match to t)
      (setq count (1+ count) edits-done (1+ edits-done)))
    count))

(defun edits-by-hand ()
  "What is typed here and there, a part of it undone."
  (dotimes (_ 60)
    (goto-char (+ (point-min) (edits-random (buffer-size))))
    (undo-boundary)
    (pcase (edits-random 4)
      (0 (insert (edits-word) " "))
      (1 (delete-region (point) (min (point-max) (+ (point) (edits-random 40)))))
      (2 (kill-region (line-beginning-position) (line-end-position)) (yank))
      (3 (insert-and-inherit (make-string (edits-random 30) ?.)) (put-text-property (line-beginning-position) (point) 'face 'bold)))
    (setq edits-done (1+ edits-done))
    (when (zerop (edits-random 3))
      (undo-boundary)
      (let ((last-command nil)) (undo-start) (undo-more 1))
      (setq pending-undo-list nil))))

(defun edits-kind (file)
  "What is done to a file of this kind alone."
  (pcase (file-name-extension file)
    ("c" (let ((lines (count-lines (point-min) (point-max))))
           (indent-region (point-min) (point-max))
           (edits-expect "lines" (count-lines (point-min) (point-max)) lines)))
    ("txt" (fill-region (point-min) (point-max))
     (sort-paragraphs nil (point-min) (point-max))
     (goto-char (point-min))
     (forward-line 40)
     (sort-lines nil (point-min) (point)))
    ("el" (indent-region (point-min) (point-max))
     (goto-char (point-min))
     (let ((forms 0))
       (condition-case nil
           (while t (read (current-buffer)) (setq forms (1+ forms)))
         (end-of-file nil))
       (edits-expect "forms read" (> forms 19) t)))))

(defun edits-index-words (file)
  (goto-char (point-min))
  (while (re-search-forward "\\_<[a-z]\\{2,\\}\\_>" nil t)
    (push (cons file (point)) (gethash (match-string-no-properties 0) edits-index))))

(defun edits-file (file)
  (find-file file)
  (buffer-enable-undo)
  (font-lock-mode 1)
  (font-lock-ensure)
  (edits-kind file)
  (let ((count (edits-replace "\\_<int\\_>" "uint32")))
    (edits-expect "back again" (edits-replace "\\_<uint\\(32\\)\\_>" "uint_\\1") count))
  (edits-by-hand)
  (edits-index-words file)
  (let ((buffer-undo-list nil))
    (font-lock-flush)
    (font-lock-ensure))
  (save-buffer))

(defun edits-run (folder files)
  (let* ((default-directory (file-name-as-directory folder))
         (gc-cons-threshold 2000000)
         (make-backup-files nil) (create-lockfiles nil) (auto-save-default nil) (inhibit-message t)
         (kinds '(("c" . edits-write-c) ("txt" . edits-write-text) ("el" . edits-write-lisp)))
         (names (mapcar (lambda (i) (format "file-%03d.%s" i (car (nth (% i 3) kinds)))) (number-sequence 0 (1- files))))
         (open nil))
    (dolist (name names)
      (with-temp-buffer
        (funcall (cdr (assoc (file-name-extension name) kinds)))
        (write-region (point-min) (point-max) name nil 'silent)))
    (dolist (name names)
      (edits-file name)
      (setq open (append open (list (current-buffer))))
      (when (> (length open) 40)
        (kill-buffer (pop open))))))

(condition-case problem
    (let ((folder (pop command-line-args-left)))
      (edits-run folder (string-to-number (or (pop command-line-args-left) "45")))
      (princ (format "%d edits, %d collections\n" edits-done gcs-done))
      (kill-emacs 0))
  (error (message "emacs_edits.el: %s" (error-message-string problem)) (kill-emacs 1)))
