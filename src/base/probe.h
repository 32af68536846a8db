// Probes: places in slow paths that tracers (perf, bpftrace, SystemTap) and GDB can stop at by name: provider snug,
// docs/probes.md names them. A probe is one instruction that does nothing, and a note in a section that no process
// loads, which says where it is and where its arguments are then, in SystemTap's format, version 3:
//
//   note's name "stapsdt", type 3;   address of the probe, of the base, of the semaphore: 0
//   provider \0 probe \0 arguments \0, of which each is its bytes, "@", and a register or constant of the assembler's
//
// The base is a byte in a section of that name, by which tools see how far the file's addresses were moved after the
// link; one for each library or program. There are none where the assembler or the processor has not been tried.
#pragma once

#include <stdint.h>

#include "base/compiler.h"

#if defined(__ELF__) && defined(__LP64__) && defined(__GNUC__) && (defined(__x86_64__) || defined(__aarch64__))
// Arguments are words of 8 bytes.
#define SNUG_PROBE_NOTE(name, arguments)                                \
  "990: nop\n"                                                          \
  ".pushsection .note.stapsdt,\"?\",%%note\n"                           \
  ".balign 4\n"                                                         \
  ".4byte 992f - 991f, 994f - 993f, 3\n"                                \
  "991: .asciz \"stapsdt\"\n"                                           \
  "992: .balign 4\n"                                                    \
  "993: .8byte 990b, _.stapsdt.base, 0\n"                               \
  ".asciz \"snug\"\n"                                                   \
  ".asciz \"" name                                                      \
  "\"\n"                                                                \
  ".asciz \"" arguments                                                 \
  "\"\n"                                                                \
  "994: .balign 4\n"                                                    \
  ".popsection\n"                                                       \
  ".ifndef _.stapsdt.base\n"                                            \
  ".pushsection .stapsdt.base,\"aG\",%%progbits,.stapsdt.base,comdat\n" \
  ".weak _.stapsdt.base\n.hidden _.stapsdt.base\n"                      \
  "_.stapsdt.base: .space 1\n.size _.stapsdt.base, 1\n"                 \
  ".popsection\n"                                                       \
  ".endif\n"
#define SNUG_PROBE_WORD(value) "nr"(static_cast<uint64_t>(value))
#define SNUG_PROBE_1(name, first) __asm__ volatile(SNUG_PROBE_NOTE(name, "8@%0") : : SNUG_PROBE_WORD(first))
#define SNUG_PROBE_2(name, first, second) \
  __asm__ volatile(SNUG_PROBE_NOTE(name, "8@%0 8@%1") : : SNUG_PROBE_WORD(first), SNUG_PROBE_WORD(second))
#define SNUG_PROBE_3(name, first, second, third)           \
  __asm__ volatile(SNUG_PROBE_NOTE(name, "8@%0 8@%1 8@%2") \
                   :                                       \
                   : SNUG_PROBE_WORD(first), SNUG_PROBE_WORD(second), SNUG_PROBE_WORD(third))
#else
#define SNUG_PROBE_1(name, first) static_cast<void>(0)
#define SNUG_PROBE_2(name, first, second) static_cast<void>(0)
#define SNUG_PROBE_3(name, first, second, third) static_cast<void>(0)
#endif
