# Marks prompts and commands for `neocode shell`, and shows at the prompt what it is told to. Elsewhere it does nothing.
# Rules: what was set to bring this in is taken back first; the nonce is in no prompt, environment or trace; handlers of
# events change neither $status nor $pipestatus; fish_prompt is called as it is, and only followed by a mark.

if set -q NEOCODE_FISH
    # fish has found this by XDG_DATA_DIRS. Before anything of the user's runs, that is theirs again
    if set -q NEOCODE_XDG_DATA_DIRS
        set -gx XDG_DATA_DIRS "$NEOCODE_XDG_DATA_DIRS"
    else
        set -e XDG_DATA_DIRS
    end
    for __neocode_name in fish_function_path fish_complete_path __fish_vendor_confdirs __fish_vendor_functionsdirs \
        __fish_vendor_completionsdirs
        if set -q $__neocode_name
            set $__neocode_name (string match -v -- "$NEOCODE_SESSION_DIR/*" $$__neocode_name)
        end
    end
    set -e __neocode_name
end
set -gu __neocode_key "$NEOCODE_HOTKEY"
set -e NEOCODE_FISH NEOCODE_XDG_DATA_DIRS NEOCODE_HOTKEY

if status is-interactive; and not set -q __neocode_nonce; and test -r "$NEOCODE_SESSION_DIR/nonce"
    and test -n "$TERM" -a "$TERM" != dumb; and not set -q INSIDE_EMACS; and isatty stdout

    set -g __neocode_dir "$NEOCODE_SESSION_DIR"
    read -g __neocode_nonce <"$__neocode_dir/nonce"
    command rm -f -- "$__neocode_dir/nonce"
    set -gu __neocode_nonce $__neocode_nonce
    set -g __neocode_tail ";nc=$__neocode_nonce"
    set -g __neocode_line ''
    set -g __neocode_where ''
    set -g __neocode_keymap ''

    # Tells the line of a command, in parts when it is long. Not while fish traces: a trace shows values.
    function __neocode_began
        set -q fish_trace[1]; and return
        set -l text "$argv[1]"
        set -l cut
        if test (string length -- "$text") -gt 12000
            set text (string sub -l 12000 -- "$text" | string collect)
            set cut ';cut=1'
        end
        set -l value (string escape --style=url -- "$text")
        set -l length (string length -- "$value")
        if test $length -le 110 -a -z "$cut"
            printf '\e]7781;neocode;C%s;cmd=%s\a' $__neocode_tail "$value"
            return
        end
        set -l total (math "ceil($length / 110)")
        if test $total -gt 100
            set total 100
            set cut ';cut=1'
        end
        for part in (seq $total)
            set -l lost
            test $part -eq $total; and set lost $cut
            printf '\e]7781;neocode;C%s;part=%s/%s%s;cmd=%s\a' $__neocode_tail $part $total "$lost" \
                (string sub -s (math "($part - 1) * 110 + 1") -l 110 -- $value)
        end
    end

    # Tells that the command ended with status $argv[1].
    function __neocode_ended
        set -q fish_trace[1]; and return
        # said when it changes: fish_vi_key_bindings may be called at any time
        set -l keymap emacs
        contains -- "$fish_key_bindings" fish_vi_key_bindings fish_hybrid_key_bindings; and set keymap vi
        set -l told
        test $keymap = "$__neocode_keymap"; or set told ";keymap=$keymap"
        set -g __neocode_keymap $keymap
        printf '\e]7781;neocode;D%s;exit=%s%s;cwd=%s\a' $__neocode_tail $argv[1] "$told" (string escape --style=url -- "$PWD")
    end

    function __neocode_preexec --on-event fish_preexec
        __neocode_began "$argv[1]"
    end

    function __neocode_postexec --on-event fish_postexec
        set -l code $status
        set -g __neocode_told
        __neocode_ended $code
    end

    # Before a prompt is drawn, not when it is drawn again.
    function __neocode_prompt --on-event fish_prompt
        set -l code $status
        set -q __neocode_where[1]; and test -z "$__neocode_where"; and __neocode_begin
        set -q __neocode_told; or __neocode_ended $code
        set -e __neocode_told
        set -g __neocode_line ''
        __neocode_wrap
        printf '\e]7781;neocode;A\a'
    end

    # fish_prompt, followed by a mark; again if the user has made another one.
    function __neocode_wrap
        functions -q fish_prompt; or return
        test "$(functions --details fish_prompt)" = "$__neocode_where"; and return
        functions -q __neocode_user_prompt; and functions -e __neocode_user_prompt
        functions -c fish_prompt __neocode_user_prompt
        function fish_prompt
            set -l lines (__neocode_user_prompt)
            test (count $lines) -gt 1; and printf '%s\n' $lines[1..-2]
            printf '%s\e]7781;neocode;B\a' "$lines[-1]"
        end
        set -g __neocode_where (functions --details fish_prompt)
    end

    # At the first prompt: the key bindings, after the files of the user; says how it went.
    function __neocode_begin
        set -l hotkey ours
        set -l modes default insert visual replace
        for mode in $modes
            bind -M $mode \e\[7781~ __neocode_widget
        end
        if test -z "$__neocode_key"
            set hotkey none
        else if bind --user 2>/dev/null | string match -qr -- "(\\\\c|ctrl-)"(string escape --style=regex -- $__neocode_key)
            set hotkey user
        else
            set -l key (printf '%b' "\\x"(math --base=hex (printf '%d' "'$__neocode_key") % 32 | string sub -s 3))
            for mode in $modes
                bind -M $mode $key __neocode_hotkey
            end
        end
        for mode in default insert
            for key in \r \n
                if not bind --user -M $mode $key >/dev/null 2>&1
                    bind -M $mode $key __neocode_enter
                end
            end
        end
        printf '\e]7781;neocode;D%s;shell=fish %s;hotkey=%s;hooks=events\a' $__neocode_tail $version $hotkey
    end

    # The hotkey: tells what stands in the line, nothing else. In a menu or a search it cancels, as Ctrl+G does elsewhere.
    function __neocode_hotkey
        if commandline --paging-mode; or commandline --search-mode
            commandline -f cancel
            return
        end
        set -q fish_trace[1]; and return
        set -l buffer (commandline | string collect)
        set -l line other
        if test -z "$buffer"
            set line empty
        else if test "$buffer" = "$__neocode_line"
            set line same
        end
        printf '\e]7781;neocode;K%s;line=%s\a' $__neocode_tail $line
    end

    # The proxy's key: takes its orders.
    function __neocode_widget
        set -l buffer (commandline | string collect)
        set -l line
        if test -r $__neocode_dir/line
            set line (cat $__neocode_dir/line | string collect --allow-empty)
            command rm -f -- $__neocode_dir/line
            if test -z "$buffer" -o "$buffer" = "$__neocode_line"
                set -g __neocode_line "$line"
            else
                set line
            end
        end
        if test -r $__neocode_dir/show
            set -l row (__neocode_row)
            printf '\r'
            test $row -gt 0; and printf '\e[%dA' $row
            printf '\e[J'
            cat $__neocode_dir/show
            command rm -f -- $__neocode_dir/show
            printf '\e]7781;neocode;A\a'
            # fish goes up as many rows as it believes to be below the top of its prompt
            test $row -gt 0; and string repeat -N -n $row \n
        end
        set -q line[1]; and commandline -r -- "$line"
        commandline -f repaint
    end

    # How many rows below the first one of the prompt the cursor is.
    function __neocode_row
        set -l prompt (fish_prompt)
        set -l width (string length --visible -- "$prompt[-1]")
        if test (count $prompt) -eq 1; and functions -q fish_mode_prompt
            set width (math $width + (string length --visible -- (fish_mode_prompt | string collect; or echo)))
        end
        set -l rows (math (count $prompt) - 1)
        for line in (commandline --cut-at-cursor)
            set rows (math "$rows + 1 + floor(($width + "(string length --visible -- "$line")") / $COLUMNS)")
        end
        math $rows - 1
    end

    # Enter: `@ai why didn't it work?` is for the proxy, which needs it as it was typed; all else is executed.
    function __neocode_enter
        set -l buffer (commandline | string collect)
        if commandline --paging-mode; or commandline --search-mode; or not string match -qr '^\s*@ai(\s|$)' -- "$buffer"
            commandline -f execute
            return
        end
        commandline -C (string length -- "$buffer")
        set -l row (__neocode_row)
        __neocode_began "$buffer"
        printf '\n'
        __neocode_ended 0
        printf '\e]7781;neocode;A\a'
        test $row -gt 0; and string repeat -N -n $row \n
        commandline -r ''
        commandline -f repaint
    end
end
set -q __neocode_nonce; or set -e __neocode_key
