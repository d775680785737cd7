# Marks prompts and commands for `neocode shell`, and shows at the prompt what it is told to. Elsewhere it does nothing.
# Rules: nothing is printed before the first prompt's hooks; the nonce is in no prompt, environment or trace; PS1 is the
# only thing of the user's that is added to, RPS1 stays as it is; what runs in a hook has options of its own.
[ -n "${ZSH_VERSION-}" ] || return 0

if [[ -n "${NEOCODE_ZSH-}" ]]; then
  # zsh has read this as its .zshenv. Before anything of the user's runs, ZDOTDIR is theirs again
  if [[ -n "${NEOCODE_ZDOTDIR+x}" ]]; then
    builtin export ZDOTDIR="$NEOCODE_ZDOTDIR"
  else
    builtin unset ZDOTDIR
  fi
  # zsh looks for files of the user's when it loads this module, a moment ago, and has found ours
  if builtin zmodload -s zsh/newuser; then builtin zmodload -u zsh/newuser; fi
fi
builtin typeset -g __neocode_injected="${NEOCODE_ZSH-}" __neocode_key="${NEOCODE_HOTKEY-}"
builtin unset NEOCODE_ZSH NEOCODE_ZDOTDIR NEOCODE_HOTKEY

if [[ -o interactive && -z "${__neocode_nonce-}" && -r "${NEOCODE_SESSION_DIR:-/dev/null/x}/nonce" &&
  "${TERM:-dumb}" != dumb && -z "${INSIDE_EMACS-}" && -t 1 ]] &&
  builtin zmodload -F zsh/system b:sysopen b:sysread b:syswrite 2>/dev/null && builtin zmodload -F zsh/files b:zf_rm 2>/dev/null; then

  builtin typeset -g __neocode_dir="$NEOCODE_SESSION_DIR" __neocode_nonce= __neocode_tty= __neocode_value= \
    __neocode_line= __neocode_pwd= __neocode_cwd= __neocode_subst= __neocode_prefix= __neocode_keymap= \
    __neocode_mark=$'\e]7781;neocode;' __neocode_bel=$'\a' __neocode_esc=$'\e' __neocode_nl=$'\n' __neocode_cr=$'\r' \
    __neocode_a=$'%{\e]7781;neocode;A\a%}' __neocode_b=$'%{\e]7781;neocode;B\a%}'
  builtin typeset -gi __neocode_first=1 __neocode_asked=0
  IFS= builtin read -r __neocode_nonce <"$__neocode_dir/nonce"
  zf_rm -f -- "$__neocode_dir/nonce"
  builtin typeset -g +x __neocode_nonce
  builtin typeset -g __neocode_tail=";nc=$__neocode_nonce"

  # Functions that keep the options they are defined with (no trace, no aliases), whatever the user has set. In single
  # quotes: no single quote in here.
  builtin emulate zsh -o no_xtrace -o no_verbose -o no_aliases -o extended_glob -o no_err_exit -o no_err_return -c '
    # Writes to the terminal itself: what a hook of the user redirects is not for us.
    function __neocode_write {
      [[ -n $__neocode_tty ]] && builtin syswrite -o $__neocode_tty -- "$1" 2>/dev/null
    }

    # Sets __neocode_value to $1 as the value of a mark: all but safe ASCII becomes %XX.
    function __neocode_encode {
      builtin setopt local_options no_multibyte
      builtin local MATCH MBEGIN MEND
      __neocode_value=${1//\%/%25}
      __neocode_value=${__neocode_value//;/%3B}
      [[ $__neocode_value == [\ -~]# ]] ||
        __neocode_value=${__neocode_value//(#m)[^\ -~]/%${(l:2::0:)$(( [##16] #MATCH ))}}
    }

    # Before a command runs: its line.
    function __neocode_began {
      builtin local text=$1 cut= out=
      builtin integer part total
      (( $#text <= 12000 )) || text=$text[1,12000] cut=";cut=1"
      __neocode_encode "$text"
      if (( $#__neocode_value <= 110 )) && [[ -z $cut ]]; then
        __neocode_write "${__neocode_mark}C$__neocode_tail;cmd=$__neocode_value$__neocode_bel"
        return 0
      fi
      total=$(( ($#__neocode_value + 109) / 110 ))
      (( total <= 100 )) || total=100 cut=";cut=1"
      for (( part = 1; part <= total; part++ )); do
        out+="${__neocode_mark}C$__neocode_tail;part=$part/$total"
        (( part < total )) || out+=$cut
        out+=";cmd=${__neocode_value[part*110-109,part*110]}$__neocode_bel"
      done
      __neocode_write "$out"
    }

    # Before the hooks of the user: the command has ended.
    function __neocode_ended {
      builtin local exit_code=$1 keymap=
      if (( __neocode_first )); then
        [[ -w ${TTY-} ]] && builtin sysopen -o cloexec -wu __neocode_tty -- $TTY 2>/dev/null
        __neocode_begin
      fi
      if [[ $PWD != $__neocode_pwd ]]; then
        __neocode_encode "$PWD"
        __neocode_pwd=$PWD __neocode_cwd=$__neocode_value
      fi
      # what `@ai` asks has no status
      (( __neocode_asked )) && exit_code=0
      __neocode_asked=0 __neocode_line=
      __neocode_look_at_keymap
      __neocode_write "${__neocode_mark}D$__neocode_tail;exit=$exit_code$keymap;cwd=$__neocode_cwd$__neocode_bel"
    }

    # Sets keymap, which the caller declares, to a field for the mark when the keys have changed: `bindkey -v` may come
    # at any time. By a file, which is written over: no fork, and nothing that the disk would have to wait for.
    function __neocode_look_at_keymap {
      builtin local main=
      { builtin bindkey -lL main } 1<>$__neocode_dir/keymap
      IFS= builtin read -r main <$__neocode_dir/keymap
      [[ -n $main ]] || return 0
      [[ $main == *" viins main" ]] && main=vi || main=emacs
      [[ $main == $__neocode_keymap ]] || keymap=";keymap=$main" __neocode_keymap=$main
    }

    # After the hooks of the user, which may have made PS1 anew: the marks around it.
    function __neocode_wrap {
      builtin local bare=${${PS1//$__neocode_a/}//$__neocode_b/} percents
      percents=${(M)bare%%%#}
      # a single % at the end shows nothing, and would take the mark for its own
      (( $#percents % 2 )) && bare=$bare[1,-2]
      PS1=$__neocode_a$bare$__neocode_b
    }

    # At the first prompt: key bindings and the order of hooks, after all files of the user; says how it went.
    function __neocode_begin {
      builtin local keymap hotkey=ours
      __neocode_first=0
      precmd_functions=(__neocode_precmd ${precmd_functions:#__neocode_*} __neocode_prompt)
      preexec_functions=(${preexec_functions:#__neocode_*} __neocode_preexec)
      if [[ -o zle ]]; then
        builtin zle -N __neocode_widget
        builtin zle -N __neocode_hotkey
        for keymap in emacs viins vicmd; do
          builtin bindkey -M $keymap "^[[7781~" __neocode_widget
        done
        [[ -n $__neocode_key ]] || hotkey=none
        [[ $hotkey == ours ]] && __neocode_is_bound && hotkey=user
        if [[ $hotkey == ours ]]; then
          for keymap in emacs viins vicmd; do
            builtin bindkey -M $keymap "^${(U)__neocode_key}" __neocode_hotkey
          done
          # in its searches and menus the key is what it was
          if [[ $__neocode_key == g ]]; then
            for keymap in isearch command menuselect; do
              builtin bindkey -M $keymap "^G" send-break 2>/dev/null
            done
          fi
        fi
        if [[ -n ${widgets[accept-line]-} && $widgets[accept-line] != user:__neocode_accept ]]; then
          builtin zle -A accept-line __neocode_accept_line
          builtin zle -N accept-line __neocode_accept
        fi
      fi
      __neocode_write "${__neocode_mark}D$__neocode_tail;shell=zsh $ZSH_VERSION;hotkey=$hotkey;hooks=array$__neocode_bel"
    }

    # Whether the user bound the hotkey, or a sequence that begins with it, in any keymap. By a file: no fork.
    function __neocode_is_bound {
      builtin local keymap name line key="^${(U)__neocode_key}"
      for keymap in emacs viins vicmd; do
        # -p gives the longer ones only, -L tells a macro
        builtin bindkey -M $keymap -p "$key"
        builtin print
        builtin bindkey -M $keymap -L "$key"
      done >|$__neocode_dir/keys
      for line in "${(@f)$(<$__neocode_dir/keys)}"; do
        case $line in
          (bindkey\ -s\ *) return 0 ;;
          (bindkey\ *)
            name=${line##* }
            [[ ${widgets[$name]-builtin} == user:* ]] && return 0
            [[ $__neocode_key != g || $name == (undefined-key|send-break|list-expand) ]] || return 0
            ;;
          (?*) return 0 ;;
        esac
      done
      return 1
    }

    # Takes the order for the line. Only what is empty, or was put in by us, is replaced.
    function __neocode_take_line {
      builtin local file=$__neocode_dir/line line=
      [[ -r $file ]] || return 1
      IFS= builtin read -r line <$file
      zf_rm -f -- $file
      if [[ -z $BUFFER || $BUFFER == $__neocode_line ]]; then
        BUFFER=$line CURSOR=$#line __neocode_line=$line
      fi
    }

    # Prints what was ordered in place of the prompt, which zsh then draws again below. `zle -I` has gone to the row
    # below the last one of the line. $1: the prompt, expanded.
    function __neocode_show {
      builtin local text= part= chunk= bare=
      builtin local -a rows
      builtin integer height=$BUFFERLINES fd
      builtin sysopen -r -u fd -- $__neocode_dir/show 2>/dev/null || return 1
      while builtin sysread -i $fd chunk; do text+=$chunk; done
      exec {fd}<&-
      zf_rm -f -- $__neocode_dir/show
      if [[ $CONTEXT == start ]]; then
        bare=${1//$__neocode_esc\[[0-?]#[\ -\/]#[@-~]/}
        bare=${bare//$__neocode_esc\][^$__neocode_bel$__neocode_esc]#($__neocode_bel|$__neocode_esc\\)/}
        rows=("${(@f)bare}")
        rows[-1]=()
        for part in "${(@)rows}"; do
          part=${part##*$__neocode_cr}
          height+=$(( ${(m)#part} > COLUMNS ? (${(m)#part} + COLUMNS - 1) / COLUMNS : 1 ))
        done
        __neocode_write "${__neocode_esc}[${height}A"
      fi
      __neocode_write "$__neocode_cr${__neocode_esc}[J${text//$__neocode_nl/$__neocode_cr$__neocode_nl}"
    }

    # The hotkey: tells what stands in the line, nothing else.
    function __neocode_tell_key {
      builtin local line=other
      if [[ -z $BUFFER ]]; then
        line=empty
      elif [[ $BUFFER == $__neocode_line ]]; then
        line=same
      fi
      __neocode_write "${__neocode_mark}K$__neocode_tail;line=$line$__neocode_bel"
    }

    # Whether the line is for `@ai`. It is told, put into the history, and shown without being in the line that runs.
    function __neocode_takes_line {
      [[ $CONTEXT == start && $BUFFER == [[:blank:]]#@ai(|[[:space:]]*) ]] || return 1
      [[ $BUFFER == [[:blank:]]* ]] || builtin print -rs -- "$BUFFER"
      __neocode_asked=1
      __neocode_began "$BUFFER"
      POSTDISPLAY=$BUFFER BUFFER=
      return 0
    }

    function __neocode_precmd { __neocode_ended $? 2>/dev/null }
    function __neocode_preexec { __neocode_began "${1:-${3-}}" 2>/dev/null }
    function __neocode_prompt { [[ ! -o prompt_percent ]] || __neocode_wrap 2>/dev/null }
    function __neocode_hotkey { __neocode_tell_key 2>/dev/null }
    function __neocode_widget {
      __neocode_take_line 2>/dev/null
      if [[ -r "$__neocode_dir/show" ]]; then
        builtin zle -I
        __neocode_show "${(%%)PS1}" 2>/dev/null
      else
        builtin zle reset-prompt
      fi
    }
    # the first time the last of the hooks runs by way of `sched`, which comes after all of them: the list is not ours yet
    function __neocode_start {
      __neocode_ended $? 2>/dev/null
      builtin zmodload -F zsh/sched b:sched 2>/dev/null && builtin sched +0 "__neocode_prompt; : \"\""
    }
  '

  # a widget of the user's is called from outside: it is to have the options of the user
  function __neocode_accept {
    __neocode_takes_line 2>/dev/null || :
    builtin zle __neocode_accept_line
  }

  builtin typeset -ga precmd_functions
fi

if [[ -n "$__neocode_injected" ]]; then
  {
    if [[ -r "${ZDOTDIR-$HOME}/.zshenv" ]]; then
      builtin source "${ZDOTDIR-$HOME}/.zshenv"
    fi
  } always {
    [[ -z "${__neocode_nonce-}" ]] || precmd_functions=(__neocode_start "${precmd_functions[@]}")
  }
else
  [[ -z "${__neocode_nonce-}" ]] || precmd_functions=(__neocode_start "${precmd_functions[@]}")
fi
[[ -n "${__neocode_nonce-}" ]] || builtin unset __neocode_key
builtin unset __neocode_injected
