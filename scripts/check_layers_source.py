"""What check_layers reads of one C or C++ file, without compiling it: its includes, its conditionals, what it defines.

Comments and string literals are never code.
"""

import re
from typing import Iterator, NamedTuple

LEXEME = re.compile(
    r"""(?P<comment> //(?:\\\n|[^\n])* | /\*.*?\*/ )
      | (?P<raw> (?:u8|[uUL])?R"(?P<fence>[^()\\\s]{0,16})\(.*?\)(?P=fence)" )
      | (?P<string> "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+' )
      | \.?\d(?:[eEpP][+-]|'?[\w.])*      # a number: its ' separates digits
      | [A-Za-z_]\w*""",
    re.X | re.S,
)
DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(\w+)((?:\\\n|[^\n])*)", re.M)
CONDITIONALS = {"if", "ifdef", "ifndef", "elif", "elifdef", "elifndef"}
OS_MACRO = re.compile(
    r"\b(?:_*(?:linux|unix|gnu_linux|APPLE|FreeBSD|NetBSD|OpenBSD|ANDROID|BIONIC|WIN32|WIN64|CYGWIN)_*"
    r"|__U?C?GLIBC\w*|__MUSL__|_GNU_SOURCE|_POSIX_\w+|SYS_\w+|__NR_\w+|(?:MAP|MADV|MREMAP|PROT|PR|RSEQ)_[A-Z]\w*)\b"
)
CPU_MACRO = re.compile(r"\b(?:__(?:x86_64|i386|amd64|aarch64|arm|riscv|powerpc64|s390x)(?:__)?|__(?:SSE|AVX|BMI)\w*)\b")
DIALECT = re.compile(
    r"\b(?:__attribute__|__attribute|__declspec|__builtin_\w+|__sync_\w+|__atomic_\w+|__GNUC__|__GNUC_\w+|__clang_*\w*"
    r"|__has_builtin|__has_attribute|__has_feature|__SANITIZE_\w+|__extension__|__typeof__|__typeof|__restrict_*"
    r"|__int128|__thread|__seg_[fg]s|__inline_*|__PRETTY_FUNCTION__|__asm_*|asm|_Pragma)\b"
    r"|\[\[\s*(?:using\s+)?(?:gnu|clang)\b"
)
ENVIRONMENT = re.compile(r"\b_*(?:secure_)?getenv\b|\b_*environ\b")
EXTERN_C = re.compile(r'\bextern\s*"C"\s*')
SNUG_FUNCTION = re.compile(
    r"^(?!inline\b|static\b|constexpr\b)[A-Za-z_][\w \t:*&]*\b(snug_\w+)\s*\((?:[^(){};]|\([^(){};]*\))*\)[\w\s]*\{", re.M
)
# A form that takes a type of ours is no program's to replace, nor to call by chance.
GLOBAL_OPERATOR = re.compile(r"^(?:\w+ )*?void\s*\*?\s*operator\s+(?:new|delete)\b(?!(?:\[\])?\(size_t, snug::)", re.M)


class Include(NamedTuple):
    line: int
    opener: str  # '"', '<', or '' for a macro
    target: str


def blank(text: str) -> str:
    """Spaces in place of everything but line ends, so that offsets and line numbers stay true."""
    return re.sub(r"[^\n]", " ", text)


class Source:
    """One C or C++ file: `code` is its text without comments, `bare` also without what its strings say."""

    def __init__(self, text: str) -> None:
        def drop(match: re.Match, strings: bool) -> str:
            if match["comment"]:
                return blank(match[0])
            literal = match["raw"] or match["string"]
            return literal[0] + blank(literal[1:-1]) + literal[-1] if strings and literal else match[0]

        self.code = LEXEME.sub(lambda match: drop(match, strings=False), text)
        self.bare = LEXEME.sub(lambda match: drop(match, strings=True), text)

    def line_at(self, offset: int) -> int:
        return self.code.count("\n", 0, offset) + 1

    def includes(self) -> Iterator[Include]:
        # Found in the bare text, so that a string that shows an include is none; read where strings still speak.
        for match in DIRECTIVE.finditer(self.bare):
            if match[1] in {"include", "include_next", "import"}:
                text = self.code[slice(*match.span(2))]
                operand = re.match(r"""\s*(["<])([^">]*)""", text)
                opener, target = operand.groups() if operand else ("", text.strip())
                yield Include(self.line_at(match.start(1)), opener, target)

    def conditionals(self, macro: re.Pattern) -> Iterator[tuple[int, str]]:
        for match in DIRECTIVE.finditer(self.bare):
            found = macro.search(match[2]) if match[1] in CONDITIONALS else None
            if found:
                yield self.line_at(match.start(1)), found[0]

    def uses(self, token: re.Pattern) -> Iterator[tuple[int, str]]:
        for match in token.finditer(self.bare):
            yield self.line_at(match.start()), match[0]

    def dialect(self) -> Iterator[tuple[int, str]]:
        yield from self.uses(DIALECT)
        for match in DIRECTIVE.finditer(self.bare):
            if match[1] in {"include_next", "import"} or (match[1] == "pragma" and match[2].split() != ["once"]):
                yield self.line_at(match.start(1)), f"#{match[1]}{match[2].rstrip()}"

    def global_definitions(self) -> Iterator[tuple[int, str]]:
        """Definitions under extern "C", of snug_ functions and of the global operators."""
        found = {}
        text = DIRECTIVE.sub(lambda match: blank(match[0]), self.bare)
        for match in EXTERN_C.finditer(self.code):
            if not text.startswith("extern", match.start()):
                continue  # words in a string
            start = match.end()
            in_block = text[start : start + 1] == "{"
            for offset, statement in statements(text, start + in_block, single=not in_block):
                if is_definition(statement, in_block):
                    found[self.line_at(offset)] = 'a definition under extern "C"'
        for match in SNUG_FUNCTION.finditer(text):
            found.setdefault(self.line_at(match.start(1)), f"a definition of {match[1]}")
        for match in GLOBAL_OPERATOR.finditer(text):
            if not re.match(r"(?:static|inline|constexpr)\b", match[0]):
                found.setdefault(self.line_at(match.start()), "a global operator new or delete")
        yield from found.items()


def statements(text: str, start: int, single: bool) -> Iterator[tuple[int, str]]:
    """Top-level statements from `start` to the brace that closes the block, or only the first."""
    depth, begin = 0, start
    for offset in range(start, len(text)):
        symbol = text[offset]
        depth += (symbol in "({[") - (symbol in ")}]")
        if depth < 0:
            return
        body_ends = symbol == "}" and not re.match(r"\s*[;,=]", text[offset + 1 :])
        if depth == 0 and (symbol == ";" or body_ends):
            statement = text[begin : offset + 1]
            yield begin + len(statement) - len(statement.lstrip()), statement.strip()
            begin = offset + 1
            if single:
                return


def is_definition(statement: str, in_block: bool) -> bool:
    if statement == ";" or re.match(r"(?:typedef|using|struct|union|enum|class|namespace|static_assert)\b", statement):
        return False
    if re.search(r"\balias\b", statement):
        return True
    head, brace, _ = statement.partition("{")
    if brace or "=" in re.sub(r"\(.*\)", "", head, flags=re.S):
        return True
    return in_block and "(" not in head and not head.startswith("extern")
