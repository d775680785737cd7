# shellcheck shell=sh
# Tells `neocode shell` where dash's prompts are and how the command before ended. Elsewhere it does nothing.
# Rules: what was set to bring this in is taken back, and the user's ENV file run, first; no nonce, for nothing here
# could keep it out of the prompt. dash has no line editor that would count the marks as text.

if [ -n "${NEOCODE_SH-}" ]; then
  if [ -n "${NEOCODE_ENV+x}" ]; then
    ENV=$NEOCODE_ENV
  else
    unset ENV
  fi
  unset NEOCODE_SH NEOCODE_ENV
  if [ -n "${ENV-}" ]; then
    __neocode_file=
    # dash expands it, as a string between double quotes
    eval "__neocode_file=\"$ENV\""
    # shellcheck source=/dev/null
    [ ! -r "$__neocode_file" ] || . "$__neocode_file"
    unset __neocode_file
  fi
fi

if [ -n "${NEOCODE_SESSION_DIR-}" ] && [ "${TERM:-dumb}" != dumb ] && [ -z "${INSIDE_EMACS-}" ] && [ -t 1 ]; then
  case ${PS1-} in
    *7781* | '') ;;
    *)
      __neocode_esc=$(printf '\033]') __neocode_bel=$(printf '\007')
      # $? is expanded whenever the prompt is
      PS1="${__neocode_esc}133;D;\$?${__neocode_bel}${__neocode_esc}7781;neocode;A${__neocode_bel}${PS1}${__neocode_esc}7781;neocode;B${__neocode_bel}"
      unset __neocode_esc __neocode_bel
      ;;
  esac
fi
