# bash completion of the snug command. Commands, options and settings are asked of the installed tool itself.

# Prints the words that stand first in the lines of a help text: $1 commands or options, then the tool and a command's words.
_snug_listed() {
  local kind=$1
  shift
  "$@" --help 2>/dev/null | awk -v kind="$kind" '
    /^[^ ]/ { commands = /^Subcommands:/ }
    kind == "commands" && commands && /^  [a-z]/ { print $1 }
    kind == "options" && /^  -/ { gsub(",", "\n", $1); print $1 }'
}

_snug() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD - 1]} tool=${COMP_WORDS[0]} index word
  [[ $previous == = ]] && previous=${COMP_WORDS[COMP_CWORD - 2]}
  local -a path=("$tool")
  COMPREPLY=()
  for ((index = 1; index < COMP_CWORD; ++index)); do
    word=${COMP_WORDS[index]}
    if [[ $word == -- ]]; then
      # What follows is a command line of its own.
      if declare -F _command_offset >/dev/null; then _command_offset $((index + 1)); fi
      return
    fi
    if [[ $word == [a-z]* ]] && _snug_listed commands "${path[@]}" | grep -qxF -- "$word"; then path+=("$word"); fi
  done

  # Of a list with commas the last name is completed.
  local list='' allocators='snug glibc hardened_malloc jemalloc jemalloc_tikv mimalloc mimalloc2 mimalloc3 musl rpmalloc scudo'
  allocators+=' snmalloc tbbmalloc tcmalloc tcmalloc_google tlsf'
  [[ $current == *,* ]] && list=${current%,*},
  case $previous in
    --compare | --on | --allocator | --allocators | --replay)
      mapfile -t COMPREPLY < <(compgen -P "$list" -W "$allocators" -- "${current##*,}")
      return
      ;;
    --at)
      mapfile -t COMPREPLY < <(compgen -W 'peak' -- "$current")
      return
      ;;
    --component)
      mapfile -t COMPREPLY < <(compgen -P "$list" -W 'cell pool compact tlsf' -- "${current##*,}")
      return
      ;;
    --check)
      mapfile -t COMPREPLY < <(compgen -P "$list" -S '<' -W "peak peak_blocks leaked leaked_blocks allocated allocations temporary
        copied rounding resident" -- "${current##*,}")
      compopt -o nospace 2>/dev/null
      return
      ;;
    --conf)
      mapfile -t COMPREPLY < <(compgen -P "$list" -S : -W "$("$tool" config --json 2>/dev/null |
        awk -F '"' '$2 == "key" { print $4 }')" -- "${current##*,}")
      compopt -o nospace 2>/dev/null
      return
      ;;
  esac
  if [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_snug_listed options "${path[@]}")" -- "$current")
  elif ((${#path[@]} == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_snug_listed commands "${path[@]}")" -- "$current")
  fi
}

# Where nothing of ours fits, files do.
complete -o bashdefault -o default -F _snug snug
