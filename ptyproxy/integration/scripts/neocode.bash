# shellcheck shell=bash
# Marks prompts and commands for `neocode shell`, and shows at the prompt what it is told to. Elsewhere it does nothing.
# Rules: no fork in a hook; the nonce is in no prompt, environment or trace; nothing here can end the shell or change
# $?, $_, PIPESTATUS, BASH_REMATCH, options or traps; start-up files run as bash itself would have run them.

__neocode_start=${NEOCODE_BASH-}
if [ "$__neocode_start" = login ]; then
  # bash was started with --posix and ENV, the one way to be first in a login shell; undo what that brought
  set +o posix
  [ -n "${NEOCODE_BASH_ERREXIT-}" ] || shopt -u inherit_errexit
  if [ -n "${NEOCODE_BASH_ENV+x}" ]; then ENV=$NEOCODE_BASH_ENV; else unset ENV; fi
  [ -n "${NEOCODE_BASH_HISTFILE-}" ] || HISTFILE=~/.bash_history
  [ -z "${NEOCODE_BASH_NOPROFILE-}" ] || __neocode_start=noprofile
fi
__neocode_key=${NEOCODE_HOTKEY-}
unset NEOCODE_BASH NEOCODE_BASH_ENV NEOCODE_BASH_ERREXIT NEOCODE_BASH_HISTFILE NEOCODE_BASH_NOPROFILE NEOCODE_HOTKEY

if [ -n "${BASH_VERSION-}" ] && [ -z "${__neocode_nonce-}" ] && [ -r "${NEOCODE_SESSION_DIR:-/dev/null/x}/nonce" ] &&
  [ "${TERM:-dumb}" != dumb ] && [ -z "${INSIDE_EMACS-}" ] && [[ $- == *i* && -t 1 ]]; then

  __neocode_dir=$NEOCODE_SESSION_DIR
  IFS= read -r __neocode_nonce <"$__neocode_dir/nonce" || :
  builtin command -p rm -f -- "$__neocode_dir/nonce" || :
  __neocode_ran=0 __neocode_told=0 __neocode_ended=0 __neocode_first=1 __neocode_number='' __neocode_line='' __neocode_pwd='' __neocode_cwd='' __neocode_keymap=''
  __neocode_hook='{ __neocode_precmd; } 3>&2 2>/dev/null' __neocode_last='{ __neocode_prompt; } 3>&2 2>/dev/null'
  # where PROMPT_COMMAND is one string, what follows in it must find $? as it was
  __neocode_string_hook='{ __neocode_precmd && :; } 3>&2 2>/dev/null'
  # A is printed with D and not a part of PS1: with some 26 bytes between \[ and \] readline leaves text behind when a
  # search that filled the row is given up; B alone has 18
  __neocode_a='' __neocode_b='\[\e]7781;neocode;B\a\]'
  __neocode_head=$'\e]7781;neocode;' __neocode_tail=";nc=$__neocode_nonce"
  # what PS0 refers to: the beginning of C, whose command line follows as its second part
  __neocode_ps0=('' "${__neocode_head}C$__neocode_tail;part=1/2;cmd="$'\a')
  declare +x __neocode_start __neocode_key __neocode_dir __neocode_nonce __neocode_ran __neocode_told __neocode_ended __neocode_first \
    __neocode_number __neocode_line __neocode_pwd __neocode_cwd __neocode_hook __neocode_last __neocode_a __neocode_b \
    __neocode_string_hook __neocode_head __neocode_tail __neocode_keymap

  # Sets __neocode_value, which the caller declares, to $1 as a mark's value: all but safe ASCII becomes %XX.
  __neocode_encode() {
    local LC_ALL=C rest='' byte='' hex=''
    __neocode_value=${1//%/%25}
    __neocode_value=${__neocode_value//;/%3B}
    [[ $__neocode_value == *[!\ -~]* ]] || return 0
    rest=${__neocode_value//[ -~]/}
    while [[ -n $rest ]]; do
      byte=${rest:0:1}
      printf -v hex '%d' "'$byte"
      printf -v hex '%%%02X' "$((hex & 255))"
      __neocode_value=${__neocode_value//"$byte"/$hex}
      rest=${rest//"$byte"/}
    done
  }

  # Tells the command line of the command that PS0 announced: the last line of the history, if the history grew by it.
  # `sure=0`: it did not (ignored, a duplicate, history off); then the screen decides whether this is the line.
  __neocode_tell() {
    local HISTTIMEFORMAT='' line='' number='' sure='' out='' cut='' __neocode_value=''
    local -a lines=()
    local -i part=0 total=0
    __neocode_told=1
    # no command substitution, which would fork; and over the file's old content up to a NUL, since a file that was cut
    # to nothing is written to the disk at once when it is closed
    if { builtin history 1 && printf '\0'; } 1<>"$__neocode_dir/history"; then
      mapfile -d '' -n 1 lines <"$__neocode_dir/history"
      line=${lines[0]-}
      line=${line%$'\n'}
      line=${line#"${line%%[! ]*}"}
      number=${line%%[!0-9]*}
      line=${line#"$number"??}
      line=${line%$'\n'}
    fi
    [[ -n $number && $number == "$__neocode_number" ]] || sure=';sure=0'
    (( ${#line} <= 12000 )) || line=${line:0:12000} cut=';cut=1'
    __neocode_encode "$line"
    total=$(( (${#__neocode_value} + 109) / 110 ))
    (( total > 0 )) || total=1
    (( total < 99 )) || total=99 cut=';cut=1'
    for (( part = 0; part < total; part++ )); do
      out+="${__neocode_head}C$__neocode_tail;part=$((part + 2))/$((total + 1))$sure"
      (( part + 1 < total )) || out+=$cut
      out+=";cmd=${__neocode_value:part*110:110}"$'\a'
    done
    printf '%s' "$out" >&3
  }

  # The number that the next line gets in the history; none while the history takes no lines.
  __neocode_count() {
    __neocode_number=''
    [[ ! -o history ]] || __neocode_number=${HISTCMD-}
  }

  # Before the user's own hooks: the command has ended. Standard error is 3; bash restores $? and PIPESTATUS after it.
  __neocode_precmd() {
    local __neocode_status=$? -
    set +aeuvx
    [[ -t 3 ]] || return 0
    __neocode_ended=1
    __neocode_end "$__neocode_status"
    __neocode_arrange
    __neocode_count
    [[ $__neocode_way != string ]] || return "$__neocode_status"
    return 0
  }

  # After the user's hooks, which may have printed something or made PS1 anew.
  __neocode_prompt() {
    local __neocode_status=$? -
    set +aeuvx
    [[ -t 3 ]] || return 0
    if (( __neocode_ended == 0 )); then
      # somebody assigned PROMPT_COMMAND, which replaces the first of the list. Not while bash 5.1 walks the list itself
      __neocode_end "$__neocode_status"
      (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 502 )) || PROMPT_COMMAND=("$__neocode_hook" "${PROMPT_COMMAND[@]}")
    fi
    __neocode_ended=0
    __neocode_arrange
    __neocode_count
    [[ -n $__neocode_a ]] || printf '%s' "${__neocode_head}A"$'\a' >&3
    return 0
  }

  # Tells of the command that ended with status $1.
  __neocode_end() {
    local __neocode_value='' keymap=emacs
    (( __neocode_ran == 0 || __neocode_told )) || __neocode_tell
    if [[ $PWD != "$__neocode_pwd" ]]; then
      __neocode_encode "$PWD"
      __neocode_pwd=$PWD __neocode_cwd=$__neocode_value
    fi
    (( __neocode_first == 0 )) || __neocode_begin
    [[ ! -o vi ]] || keymap='vi'
    # said when it changes: `set -o vi` may come at any time
    if [[ $keymap == "$__neocode_keymap" ]]; then keymap=''; else __neocode_keymap=$keymap keymap=";keymap=$keymap"; fi
    printf '%s' "${__neocode_head}D$__neocode_tail;exit=$1$keymap;cwd=$__neocode_cwd"$'\a' >&3
    __neocode_ran=0 __neocode_told=0 __neocode_line=''
  }

  # What has to be in its place for the prompt that comes: the mark in PS1, the reference in PS0.
  __neocode_arrange() {
    local remade=0
    if [[ ${PS1-} != "$__neocode_a"*"$__neocode_b" ]]; then
      remade=1
      __neocode_wrap
    fi
    if (( __neocode_debug )); then
      # a hook after the user's would fire their DEBUG trap once more: a timer would count the time at the prompt
      printf '%s' "${__neocode_head}A"$'\a' >&3
      # PS1 may be made anew after this and then have no mark
      (( remade == 0 )) || printf '%s' "${__neocode_head}B"$'\a' >&3
    fi
    if ! shopt -q promptvars; then
      # shellcheck disable=SC2016 # the text of PS0 itself
      [[ ${PS0-} != *__neocode_ps0* ]] || PS0=${PS0%'${__neocode_ps0['*}
    elif [[ ${PS0-} != *__neocode_ps0* && ${PS0@a} != *r* ]]; then
      # shellcheck disable=SC2016 # expanded by bash before each command
      PS0=${PS0-}'${__neocode_ps0[__neocode_ran=1]-}'
    fi
  }

  __neocode_wrap() {
    local bare=${PS1-} slashes=''
    [[ ${PS1@a} != *r* ]] || return 0
    [[ -z $__neocode_a ]] || bare=${bare//"$__neocode_a"/}
    bare=${bare//"$__neocode_b"/}
    slashes=${bare##*[!\\]}
    (( ${#slashes} % 2 == 0 )) || bare+=\\
    PS1=$__neocode_a$bare$__neocode_b
  }

  # At the first prompt: the key bindings, which the user's files may have made by now; says how all of it went.
  __neocode_begin() {
    local keymap='' hotkey=ours
    __neocode_first=0
    if [[ :${SHELLOPTS-}: != *:emacs:* && :${SHELLOPTS-}: != *:vi:* ]]; then
      hotkey=none
    else
      for keymap in emacs vi-insert vi-command; do
        # not to a terminal: by that bash-preexec's DEBUG trap knows that this is no command of the user's
        bind -m "$keymap" -x '"\e[7781~": { __neocode_widget && :; } 3>&2 >/dev/null 2>&1'
      done
      [[ -n $__neocode_key ]] || hotkey=none
      if [[ $hotkey == ours ]] && __neocode_is_bound; then hotkey=user; fi
      if [[ $hotkey == ours ]]; then
        for keymap in emacs vi-insert vi-command; do
          # not the key itself: readline's search knows Ctrl+G as its end only while a function of its own has it, so
          # the proxy sends this instead, where no search can be running
          bind -m "$keymap" -x '"\e[7782~": { __neocode_hotkey; } 3>&2 >/dev/null 2>&1'
        done
      fi
    fi
    printf '%s' "${__neocode_head}D$__neocode_tail;shell=bash ${BASH_VERSINFO[0]}.${BASH_VERSINFO[1]}.${BASH_VERSINFO[2]}" \
      ";hotkey=$hotkey;hooks=$__neocode_way"$'\a' >&3
  }

  # Whether the user bound the hotkey, or a sequence that begins with it, in any keymap. Readline's own default does
  # not count; for another key than Ctrl+G no function does, since defaults cannot be told from the user's.
  __neocode_is_bound() {
    local keymap='' line='' key="\"\\C-$__neocode_key"
    local -a lines=()
    for keymap in emacs vi-insert vi-command; do
      bind -m "$keymap" -s
      bind -m "$keymap" -X
      # all functions: some 500 lines, so only where the short answer will not do
      if [[ $__neocode_key == g && ( $keymap == emacs || ! -o vi ) ]]; then
        [[ $keymap != emacs ]] || bind -m "$keymap" -q abort
      else
        bind -m "$keymap" -p
      fi
    done >|"$__neocode_dir/keys"
    mapfile -t lines <"$__neocode_dir/keys"
    for line in "${lines[@]}"; do
      case $line in
        "$key\": abort" | "$key\": self-insert") ;;
        "$key\": "[a-z]*) [[ $__neocode_key != g ]] || return 0 ;;
        "$key"*) return 0 ;;
        'abort can be invoked via '*) [[ $line == *"$key\""* ]] || return 0 ;;
        'abort is not bound'*) return 0 ;;
      esac
    done
    return 1
  }

  # The hotkey: tells what stands in the line, nothing else.
  __neocode_hotkey() {
    local line=other -
    set +aeuvx
    if [[ -z ${READLINE_LINE-} ]]; then
      line=empty
    elif [[ $READLINE_LINE == "$__neocode_line" ]]; then
      line=same
    fi
    printf '%s' "${__neocode_head}K$__neocode_tail;line=$line"$'\a' >&3
    return 0
  }

  # The proxy's key: takes its orders. Bash has cleared the line and the last line of the prompt and stands at its
  # first column. 124 makes it draw the whole prompt again, any other status only the last line.
  __neocode_widget() {
    local text='' line='' status=0 -
    set +aeuvx
    if [[ -r $__neocode_dir/line ]]; then
      IFS= read -r line <"$__neocode_dir/line" || :
      builtin command -p rm -f -- "$__neocode_dir/line"
      if [[ -z ${READLINE_LINE-} || $READLINE_LINE == "$__neocode_line" ]]; then
        READLINE_LINE=$line READLINE_POINT=${#line} __neocode_line=$line
      fi
    fi
    if [[ -r $__neocode_dir/show ]]; then
      IFS= read -r -d '' text <"$__neocode_dir/show" || :
      builtin command -p rm -f -- "$__neocode_dir/show"
      text=${text//$'\n'/$'\r\n'}
      if [[ ${HISTCMD-} == "$__neocode_number" || -z $__neocode_number ]]; then
        __neocode_climb
        printf '\r\e[J%s' "$text${__neocode_head}A"$'\a' >&3
        status=124
      else
        # a continuation prompt: the history has grown by its first line, and nothing above may be cleared
        printf '\r\e[J%s' "$text" >&3
      fi
    fi
    return "$status"
  }

  # Moves to the first row of the prompt.
  __neocode_climb() {
    local prompt=${PS1@P} line='' part='' before=''
    local -i rows=0 width=0 widest=0 cols=${COLUMNS:-80}
    while [[ $prompt == *$'\001'*$'\002'* ]]; do
      before=${prompt%%$'\001'*}
      prompt=${prompt#*$'\001'}
      prompt=$before${prompt#*$'\002'}
    done
    # escape sequences that the user did not put between \[ and \]
    while [[ $prompt == *$'\e['*[@-~]* ]]; do
      before=${prompt%%$'\e['*}
      prompt=${prompt#*$'\e['}
      line=${prompt%%[@-~]*}
      prompt=$before${prompt:${#line}+1}
    done
    while [[ $prompt == *$'\n'* ]]; do
      line=${prompt%%$'\n'*}$'\r'
      prompt=${prompt#*$'\n'}
      widest=0
      while [[ -n $line ]]; do
        part=${line%%$'\r'*}
        line=${line#*$'\r'}
        before=${part//[ᄀ-ᅟ⺀-꓏가-힣豈-﫿︰-﹏＀-｠￠-￦🌀-🫿𠀀-𿿿]/}
        width=$(( 2 * ${#part} - ${#before} ))
        (( width <= widest )) || widest=width
      done
      rows+=$(( widest > cols ? (widest + cols - 1) / cols : 1 ))
    done
    (( rows == 0 )) || printf '\e[%dA' "$rows" >&3
  }

  # `@ai why didn't it work?`: an alias comments the rest out, and this tells the line as it was typed.
  __neocode_ai() {
    local -
    set +aeuvx
    { (( __neocode_ran == 0 || __neocode_told )) || __neocode_tell; } 3>&2 2>/dev/null
    return 0
  }

  __neocode_first_function() { { __neocode_precmd; } 3>&2 2>/dev/null; }
  __neocode_last_function() { { __neocode_be_last; __neocode_prompt; } 3>&2 2>/dev/null; }

  # From the next prompt on: bash-preexec has put the user's `precmd` behind us, and others may come.
  __neocode_be_last() {
    local name='' status=$? -
    local -a others=()
    set +aeuvx
    [[ ${precmd_functions[-1]} != __neocode_last_function ]] || return "$status"
    for name in "${precmd_functions[@]}"; do
      [[ $name == __neocode_last_function ]] || others+=("$name")
    done
    precmd_functions=("${others[@]}" __neocode_last_function)
    return "$status"
  }

  # Before 4.4 there is no PS0: only where prompts are and the status are told, the latter as everybody's mark. macOS has
  # 3.2, so nothing newer here.
  __neocode_old() {
    local status=$?
    case $PS1 in *"$__neocode_b") ;; *) PS1=$PS1$__neocode_b ;; esac
    printf '\033]133;D;%s\007%s' "$status" "${__neocode_head}A"$'\a'
    return "$status"
  }

  # After the user's files: the hooks, in the way that this shell allows. $1: what $? was.
  __neocode_install() {
    [[ -n $__neocode_nonce ]] || return 0
    if (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 404 )); then
      # shellcheck disable=SC2178 # a string where lists are not known
      PROMPT_COMMAND='{ __neocode_old && :; } 2>/dev/null'$'\n'"${PROMPT_COMMAND-}"
      return "$1"
    fi
    local -
    set +aeuvx
    __neocode_debug=0
    [[ ! -s $__neocode_dir/keys ]] || __neocode_debug=1
    if [[ -n ${__bp_imported-}${bash_preexec_imported-} ]]; then
      __neocode_way=preexec __neocode_debug=0
      precmd_functions=(__neocode_first_function ${precmd_functions[@]+"${precmd_functions[@]}"} __neocode_last_function)
    elif [[ ${PROMPT_COMMAND@a} == *[rx]* ]]; then
      __neocode_way=prompt __neocode_ran=1 __neocode_debug=0
      # a complete C, whose line the screen must tell, and D as a part of PS1; after `monitor` comes `vi`, if it is set
      __neocode_ps0[1]="${__neocode_head}C$__neocode_tail;sure=0;cmd="$'\a'
      __neocode_d=('' "${__neocode_head}D$__neocode_tail;exit=" $'\a')
      # shellcheck disable=SC2016 # expanded when the prompt is drawn
      __neocode_a='\[${__neocode_d[__neocode_ran]:+${__neocode_d[1]}$?;keymap=${SHELLOPTS##*:monitor};cwd=${PWD//[%;[:cntrl:]]/?}${__neocode_d[2+(__neocode_ran=0)]}}\e]7781;neocode;A\a\]'
      { __neocode_begin; } 3>&2 2>/dev/null
      __neocode_arrange
    elif (( BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] < 501 )); then
      __neocode_way=string
      # shellcheck disable=SC2178 # a string where lists are not known
      PROMPT_COMMAND="$__neocode_string_hook"$'\n'"${PROMPT_COMMAND-}"
      # shellcheck disable=SC2179
      (( __neocode_debug )) || PROMPT_COMMAND+=$'\n'$__neocode_last
    else
      __neocode_way=array
      PROMPT_COMMAND=("$__neocode_hook" ${PROMPT_COMMAND[@]+"${PROMPT_COMMAND[@]}"})
      (( __neocode_debug )) || PROMPT_COMMAND+=("$__neocode_last")
    fi
    if [[ -z ${BASH_ALIASES[@ai]-} ]] && shopt -q interactive_comments; then
      alias '@ai=__neocode_ai #'
    fi
    return "$1"
  }
else
  __neocode_install() {
    unset -f __neocode_install
    unset __neocode_status __neocode_start __neocode_key
    return "$1"
  }
fi

case $__neocode_start in
  rc)
    # shellcheck source=/dev/null
    if [ -r ~/.bashrc ]; then builtin source ~/.bashrc; fi
    ;;
  login)
    # shellcheck source=/dev/null
    if [ -r /etc/profile ]; then builtin source /etc/profile; fi
    # shellcheck source=/dev/null
    if [ -r ~/.bash_profile ]; then
      builtin source ~/.bash_profile
    elif [ -r ~/.bash_login ]; then
      builtin source ~/.bash_login
    elif [ -r ~/.profile ]; then
      builtin source ~/.profile
    fi
    ;;
esac
__neocode_status=$?
if [[ -n ${__neocode_nonce-} ]]; then
  # here, since neither a function nor a substitution sees it
  builtin trap -p DEBUG >|"$__neocode_dir/keys" || :
  # readline reads its inputrc now, since a function that puts the options back would undo its `editing-mode vi`
  { builtin bind -q abort || :; } >/dev/null 2>&1
fi
# under `set -e` a status left of && ends no shell
__neocode_install "$__neocode_status" '' && : ''
