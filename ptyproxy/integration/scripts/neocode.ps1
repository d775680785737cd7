# Marks prompts and commands for `neocode shell`, and shows at the prompt what it is told to. Elsewhere it does nothing.
# Rules: $? is read first and put back, $LASTEXITCODE only read; the user's prompt and line reader are called, never
# rewritten; strict mode, error preference and $Error of the session stay theirs; the nonce is in no prompt, environment
# or history. PowerShell 5.1 and later, Windows and Unix, ASCII only.

& {
    Microsoft.PowerShell.Core\Set-StrictMode -Off
    $ErrorActionPreference = 'SilentlyContinue'
    if (-not $env:NEOCODE_SESSION_DIR -or (Test-Path -LiteralPath 'Variable:Global:__NeocodeState') -or
        $ExecutionContext.SessionState.LanguageMode -ne 'FullLanguage' -or
        [Console]::IsOutputRedirected -or $env:TERM -eq 'dumb') { return }
    $nonce = [IO.Path]::Combine($env:NEOCODE_SESSION_DIR, 'nonce')
    if (-not [IO.File]::Exists($nonce)) { return }

    $Global:__NeocodeState = @{
        Dir = $env:NEOCODE_SESSION_DIR
        Nonce = [IO.File]::ReadAllText($nonce).Trim()
        Key = $env:NEOCODE_HOTKEY
        Windows = ($PSVersionTable.PSEdition -ne 'Core') -or $IsWindows
        Prompts = New-Object System.Collections.ArrayList  # the functions that were wrapped; each wrapper knows its own
        Readers = New-Object System.Collections.ArrayList
        Depth = 0         # of wrapped prompts that call one another
        Reads = 0
        ReadCalled = $true
        Accepted = $true  # a line was read since the last prompt
        Ran = $false      # and it was not blank
        Asked = $false
        Question = ''     # an `@ai` line that the Enter key took
        LastId = -1       # of the history, at the last prompt
        Ok = $true
        Code = $null      # $LASTEXITCODE and the newest error before the command
        Error = $null
        Line = ''         # what was put into the line
        Rows = 0          # of the prompt's text above its last one
        Height = 0        # the same as the console saw it: more when the prompt writes to the host itself
        Top = 0
        Coloured = $false
        Redraw = $false
        Mode = ''         # the edit mode that our keys were bound in
        Rebind = $true
        Keys = ''
        Told = ''
    }
    [IO.File]::Delete($nonce)
    Remove-Item -LiteralPath 'Env:NEOCODE_HOTKEY' -ErrorAction Ignore

    # A mark. $Fields are encoded already.
    function Global:__Neocode-Mark([string]$Kind, [string]$Fields, [switch]$Secret) {
        $nonce = if ($Secret) { ";nc=$($Global:__NeocodeState.Nonce)" } else { '' }
        return "$([char]27)]7781;neocode;$Kind$nonce$Fields$([char]7)"
    }

    # A value of a mark: UTF-8, all but safe ASCII as %XX.
    function Global:__Neocode-Encode([string]$Text) {
        if ($Text -cnotmatch '[^ -~]|[%;]') { return $Text }
        $encoded = New-Object System.Text.StringBuilder
        foreach ($byte in [Text.Encoding]::UTF8.GetBytes($Text)) {
            if ($byte -ge 0x20 -and $byte -lt 0x7f -and $byte -ne 0x25 -and $byte -ne 0x3b) {
                [void]$encoded.Append([char]$byte)
            } else {
                [void]$encoded.Append('%' + $byte.ToString('X2'))
            }
        }
        return $encoded.ToString()
    }

    # The marks that tell the command line, in parts of 110 characters. $Late: the command has run already.
    function Global:__Neocode-Command([string]$Text, [string]$Late) {
        $cut = ''
        if ($Text.Length -gt 4000) { $Text = $Text.Substring(0, 4000); $cut = ';cut=1' }
        $value = __Neocode-Encode $Text
        if ($value.Length -le 110 -and -not $cut) { return (__Neocode-Mark C "$Late;cmd=$value" -Secret) }
        $total = [Math]::Min(100, [Math]::Ceiling($value.Length / 110))
        if ($value.Length -gt $total * 110) { $cut = ';cut=1' }
        $marks = ''
        for ($part = 1; $part -le $total; $part++) {
            $at = ($part - 1) * 110
            $piece = $value.Substring($at, [Math]::Min(110, $value.Length - $at))
            $lost = if ($part -eq $total) { $cut } else { '' }
            $marks += __Neocode-Mark C "$Late;part=$part/$total$lost;cmd=$piece" -Secret
        }
        return $marks
    }

    # The newest error, or nothing.
    function Global:__Neocode-Newest {
        if ($Global:Error.Count) { return $Global:Error[0] }
        return $null
    }

    # Forgets the errors that we made ourselves since $Newest was the newest one: those in front of it. Their number tells
    # nothing, for it does not grow past $MaximumErrorCount.
    function Global:__Neocode-Forget($Newest) {
        while ($Global:Error.Count -and -not [object]::ReferenceEquals($Global:Error[0], $Newest)) {
            $Global:Error.RemoveAt(0)
        }
    }

    # How the command ended: its exit code, or nothing when that is not known.
    function Global:__Neocode-Exit([bool]$Ok, $Entry) {
        $state = $Global:__NeocodeState
        if ($state.Asked) { return 0 }
        $newest = __Neocode-Newest
        $failed = -not [object]::ReferenceEquals($newest, $state.Error)
        if ($state.Ran -and $Entry -and $Entry.Id -eq $state.LastId) {
            # the history did not grow: nothing ran. A parse error leaves an error, Ctrl+C none
            if ($failed) { return 1 } else { return $null }
        }
        if ($Entry -and "$($Entry.ExecutionStatus)" -eq 'Stopped') { return 130 }
        if ($Ok) { return 0 }
        $code = Get-Variable -Name LASTEXITCODE -Scope Global -ValueOnly -ErrorAction Ignore
        if ($code -isnot [int] -or $code -eq 0) { return 1 }
        # the code of an earlier program, and an error since that no program made: a cmdlet failed
        $programs = "$($newest.FullyQualifiedErrorId)" -match '^(NativeCommandError|ProgramExitedWithNonZeroCode)'
        if ($failed -and -not $programs -and $code -eq $state.Code) { return 1 }
        return $code
    }

    # The marks that say that the last command has ended; none when the prompt is only drawn again.
    function Global:__Neocode-Ended([bool]$Ok) {
        $state = $Global:__NeocodeState
        $entry = Microsoft.PowerShell.Core\Get-History -Count 1
        $id = if ($entry) { $entry.Id } else { 0 }
        $marks = ''
        $fields = ''
        $new = $true
        if ($state.Readers.Count) {
            $new = $state.Accepted
        } else {
            # nobody told the command line before it ran, the history does now
            $state.Ran = $entry -and $state.LastId -ge 0 -and $id -ne $state.LastId
            if ($state.Ran) { $marks = __Neocode-Command $entry.CommandLine ';late=1' }
        }
        if ($new) {
            if ($state.Ran) {
                $exit = __Neocode-Exit $Ok $entry
                if ($null -ne $exit) { $fields = ";exit=$exit" }
            }
            if ($PWD.Provider.Name -eq 'FileSystem') { $fields += ";cwd=$(__Neocode-Encode $PWD.ProviderPath)" }
            $marks += __Neocode-Mark D $fields -Secret
            $state.Accepted = $false
            $state.Ran = $false
            $state.Asked = $false
            $state.Line = ''
            if (-not $state.Readers.Count) {
                $state.Error = __Neocode-Newest
                $state.Code = Get-Variable -Name LASTEXITCODE -Scope Global -ValueOnly -ErrorAction Ignore
            }
        }
        $state.LastId = $id
        $facts = __Neocode-Facts
        if ($facts -ne $state.Told) {
            $state.Told = $facts
            $marks += __Neocode-Mark D $facts -Secret
        }
        return $marks
    }

    # What we say of ourselves.
    function Global:__Neocode-Facts {
        $state = $Global:__NeocodeState
        $name = if ($PSVersionTable.PSEdition -eq 'Core') { 'pwsh' } else { 'powershell' }
        $starts = if ($state.Readers.Count) { 'marks' } else { 'enter' }
        return ";shell=$name $($PSVersionTable.PSVersion);hooks=prompt;starts=$starts$($state.Keys)"
    }

    # Wraps what is not wrapped, or was replaced since by somebody who does not call us.
    function Global:__Neocode-Repair {
        $state = $Global:__NeocodeState
        if ("$function:prompt" -notmatch '__Neocode-Begin') {
            $index = $state.Prompts.Add($function:prompt)
            Set-Item -LiteralPath 'Function:Global:prompt' -Value ([scriptblock]::Create(@'
    $__neocodeOk = $?
    $__neocodeOk = __Neocode-Begin $__neocodeOk
    $__neocodeText = $null
    $__neocodeTheirs = $Global:__NeocodeState.Prompts[INDEX]
    try {
        if (-not $__neocodeOk) { Microsoft.PowerShell.Utility\Write-Error 'failed' -ErrorAction Ignore }
        $__neocodeText = & $__neocodeTheirs
    } finally {
        $Global:__NeocodeState.Depth--
    }
    __Neocode-Shown $__neocodeText
'@.Replace('INDEX', "$index")))
        }
        $reader = $function:PSConsoleHostReadLine
        if (-not $reader) {
            $state.Readers.Clear()
        } elseif ("$reader" -notmatch '__Neocode-Accepted' -and -not ($state.Readers.Count -and $state.ReadCalled)) {
            $index = $state.Readers.Add($reader)
            Set-Item -LiteralPath 'Function:Global:PSConsoleHostReadLine' -Value ([scriptblock]::Create(@'
    $__neocodeOk = $?
    __Neocode-Reading $__neocodeOk
    $__neocodeLine = $null
    $__neocodeTheirs = $Global:__NeocodeState.Readers[INDEX]
    try {
        if (-not $__neocodeOk) { Microsoft.PowerShell.Utility\Write-Error 'failed' -ErrorAction Ignore }
        $__neocodeLine = & $__neocodeTheirs
    } finally {
        $Global:__NeocodeState.Reads--
    }
    __Neocode-Accepted $__neocodeLine
'@.Replace('INDEX', "$index")))
        }
        $state.ReadCalled = $false
    }

    # Before the user's prompt is called; returns what $? shall be to it.
    function Global:__Neocode-Begin([bool]$Ok) {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $state = $Global:__NeocodeState
        $state.Depth++
        if ($state.Depth -gt 1) { return $Ok }
        if ($state.Redraw) { $Ok = $state.Ok }
        $state.Ok = $Ok
        $newest = __Neocode-Newest
        try {
            if (-not $state.Redraw) {
                __Neocode-Repair
                __Neocode-Bind
                [Console]::Write((__Neocode-Ended $Ok))
            }
            if ($state.Windows) { $state.Top = [Console]::CursorTop }
            [Console]::Write((__Neocode-Mark A ''))
        } catch { }
        __Neocode-Forget $newest
        return $Ok
    }

    # After it: what the host is to print. It takes the first object, and has a prompt of its own for none.
    function Global:__Neocode-Shown($Text) {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $state = $Global:__NeocodeState
        $shown = "$(@($Text)[0])"
        if (-not $shown) { $shown = 'PS>' }
        if ($state.Depth) { return $shown }
        $state.Rows = $shown.Split("`n").Count - 1
        __Neocode-KeepColour $shown
        return $shown + (__Neocode-Mark B '')
    }

    # PSReadLine colours the end of a prompt that runs no command when the line has an error. It cannot see any more that
    # the user's prompt is one.
    function Global:__Neocode-KeepColour([string]$Shown) {
        $state = $Global:__NeocodeState
        if ($state.Coloured -or -not $state.Mode) { return }
        $state.Coloured = $true
        $newest = __Neocode-Newest
        try {
            $runs = $state.Prompts[0].Ast.Find({
                    $args[0] -is [System.Management.Automation.Language.CommandAst] -or
                    $args[0] -is [System.Management.Automation.Language.InvokeMemberExpressionAst] }, $true)
            $end = [regex]::Match($Shown, '\S\s*$').Value
            if (-not $runs -and $end -and $null -eq (Get-PSReadLineOption).PromptText) {
                Set-PSReadLineOption -PromptText $end
            }
        } catch { }
        __Neocode-Forget $newest
    }

    # Before a line is read: the prompt is drawn.
    function Global:__Neocode-Reading([bool]$Ok) {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $state = $Global:__NeocodeState
        $state.Reads++
        $state.ReadCalled = $true
        if ($state.Reads -gt 1) { return }
        $state.Depth = 0  # whatever broke off
        $newest = __Neocode-Newest
        try {
            if ($state.Accepted) {
                # a prompt that is not ours was drawn: from the next one on it is, and for this one the marks come now
                $marks = __Neocode-Ended $Ok
                __Neocode-Repair
                $state.ReadCalled = $true
                [Console]::Write($marks + (__Neocode-Mark A '') + (__Neocode-Mark B ''))
                $state.Rows = 0
                $state.Height = 0
            } elseif ($state.Windows) {
                $state.Height = [Console]::CursorTop - $state.Top
            }
        } catch { }
        __Neocode-Forget $newest
    }

    # A line was read; returns what is to run.
    function Global:__Neocode-Accepted($Line) {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $state = $Global:__NeocodeState
        if ($state.Reads -gt 0) { return $Line }
        $state.Accepted = $true
        $text = if ($state.Question) { $state.Question } else { "$Line" }
        $state.Question = ''
        if (-not $text.Trim()) { return $Line }
        $state.Ran = $true
        $state.Error = __Neocode-Newest
        $state.Code = Get-Variable -Name LASTEXITCODE -Scope Global -ValueOnly -ErrorAction Ignore
        $state.Rebind = $state.Rebind -or $text -match 'PSReadLine'
        [Console]::Write((__Neocode-Command $text ''))
        # `@ai why didn't it work?` is for the proxy, as it was typed
        if ($text -match '^\s*@ai(\s|$)') {
            $state.Asked = $true
            return ''
        }
        return $Line
    }

    # Binds our keys in PSReadLine: keys that no keyboard has, which the proxy sends, and Enter where it is PSReadLine's.
    function Global:__Neocode-Bind {
        $state = $Global:__NeocodeState
        $module = Get-Module -Name PSReadLine
        if (-not $module -or -not $state.Readers.Count) {
            $state.Mode = ''
            $state.Keys = ';hotkey=taken;widget=none'
            return
        }
        $mode = "$((Get-PSReadLineOption).EditMode)"
        if ($mode -eq $state.Mode -and -not $state.Rebind) { return }
        $state.Mode = $mode
        $state.Rebind = $false
        $keymap = if ($mode -eq 'Vi') { ';keymap=vi' } else { ';keymap=emacs' }
        # older .NET does not know function keys with modifiers on Unix
        $version = $PSVersionTable.PSVersion
        if (-not $state.Windows -and ($version.Major -lt 7 -or ($version.Major -eq 7 -and $version.Minor -lt 3))) {
            $state.Keys = ";hotkey=none;widget=none$keymap"
            return
        }
        $bound = @(Get-PSReadLineKeyHandler -Bound)
        $hotkey = __Neocode-Owner $bound
        $maps = @(if ($mode -eq 'Vi') { @{ ViMode = 'Insert' }, @{ ViMode = 'Command' } } else { @{} })
        foreach ($map in $maps) {
            $named = @{ BriefDescription = 'neocode' }
            Set-PSReadLineKeyHandler @map @named -Chord 'Ctrl+Alt+Shift+F12' -ScriptBlock { __Neocode-Widget }
            Set-PSReadLineKeyHandler @map @named -Chord 'Ctrl+Alt+Shift+F11' -ScriptBlock { __Neocode-Hotkey }
        }
        if ($bound | Where-Object { $_.Key -eq 'Enter' -and $_.Function -eq 'AcceptLine' }) {
            Set-PSReadLineKeyHandler -Chord Enter -BriefDescription AcceptLine -ScriptBlock {
                param($key, $arg) __Neocode-Enter $key $arg }
        }
        if ($bound | Where-Object { $_.Key -eq '<Enter>' -and $_.Function -eq 'ViAcceptLine' }) {
            Set-PSReadLineKeyHandler -Chord Enter -ViMode Command -BriefDescription ViAcceptLine -ScriptBlock {
                param($key, $arg) __Neocode-Enter $key $arg -Vi }
        }
        $state.Keys = ";hotkey=$hotkey;widget=psreadline$keymap"
    }

    # Who has the hotkey: `ours` unless the user bound it, or a chord that begins with it.
    function Global:__Neocode-Owner($Bound) {
        $key = $Global:__NeocodeState.Key
        if (-not $key) { return 'none' }
        foreach ($each in $Bound) {
            $name = "$($each.Key)".Trim('<', '>')
            if ($name -like "Ctrl+$key,*") { return 'user' }
            if ($name -ne "Ctrl+$key") { continue }
            if ("$($each.Group)" -eq 'Custom' -or ($key -eq 'g' -and $each.Function -ne 'Abort')) { return 'user' }
        }
        return 'ours'
    }

    # An order of the proxy's, which is taken once.
    function Global:__Neocode-Order([string]$Name) {
        $file = [IO.Path]::Combine($Global:__NeocodeState.Dir, $Name)
        if (-not [IO.File]::Exists($file)) { return $null }
        $text = [IO.File]::ReadAllText($file)
        [IO.File]::Delete($file)
        return $text
    }

    # The proxy's key: takes its orders. Only a line that is empty, or was put in by us, is replaced.
    function Global:__Neocode-Widget {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $state = $Global:__NeocodeState
        $newest = __Neocode-Newest
        try {
            $buffer = $null
            $cursor = $null
            [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$buffer, [ref]$cursor)
            $line = __Neocode-Order 'line'
            if ($null -ne $line -and (-not $buffer -or $buffer -ceq $state.Line)) {
                if ($buffer) { [Microsoft.PowerShell.PSConsoleReadLine]::Delete(0, $buffer.Length) }
                if ($line) { [Microsoft.PowerShell.PSConsoleReadLine]::Insert($line) }
                $state.Line = $line
            }
            $text = __Neocode-Order 'show'
            if ($null -ne $text) { __Neocode-Show $text } else { [Console]::Write((__Neocode-Mark B '')) }
        } catch { }
        __Neocode-Forget $newest
    }

    # Prints in place of the prompt, which PSReadLine then draws again below, and the line after it. Where the prompt is,
    # the cursor tells: PSReadLine does not know what was drawn on the terminal since.
    function Global:__Neocode-Show([string]$Text) {
        $state = $Global:__NeocodeState
        $buffer = $null
        $cursor = $null
        [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$buffer, [ref]$cursor)
        $reset = "$([char]27)[m"
        [Console]::Write($reset)  # .NET on Unix forgets by that where it believes the cursor to be
        $top = [Console]::CursorTop - [Math]::Max($state.Rows, $state.Height)
        if ($cursor) {
            [Microsoft.PowerShell.PSConsoleReadLine]::SetCursorPosition(0)
            $first = [Console]::CursorTop
            [Microsoft.PowerShell.PSConsoleReadLine]::SetCursorPosition($cursor)
            $top -= [Console]::CursorTop - $first
        }
        [Console]::SetCursorPosition(0, [Math]::Max(0, $top))
        # not by [Console], which has the OEM code page in 5.1
        $Host.UI.Write("$([char]27)[J" + $Text.Replace("`n", "`r`n") + $reset)
        $state.Redraw = $true
        try {
            [Microsoft.PowerShell.PSConsoleReadLine]::InvokePrompt($null, [Console]::CursorTop)
        } finally {
            $state.Redraw = $false
        }
    }

    # The hotkey: tells what stands in the line, nothing else.
    function Global:__Neocode-Hotkey {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $newest = __Neocode-Newest
        try {
            $buffer = $null
            $cursor = $null
            [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$buffer, [ref]$cursor)
            $line = if (-not $buffer) { 'empty' } elseif ($buffer -ceq $Global:__NeocodeState.Line) { 'same' } else { 'other' }
            [Console]::Write((__Neocode-Mark K ";line=$line" -Secret))
        } catch { }
        __Neocode-Forget $newest
    }

    # Enter. PSReadLine would wait for the end of the quotation that an apostrophe in an `@ai` line begins.
    function Global:__Neocode-Enter($Key, $Arg, [switch]$Vi) {
        Microsoft.PowerShell.Core\Set-StrictMode -Off
        $ErrorActionPreference = 'SilentlyContinue'
        $newest = __Neocode-Newest
        $buffer = $null
        $cursor = $null
        try {
            [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$buffer, [ref]$cursor)
            if ($buffer -match '^\s*@ai(\s|$)') {
                [Microsoft.PowerShell.PSConsoleReadLine]::AddToHistory($buffer)
                [Microsoft.PowerShell.PSConsoleReadLine]::Delete(0, $buffer.Length)
                $Host.UI.Write($buffer)
                $Global:__NeocodeState.Question = $buffer
                $Vi = $false
            }
        } catch { }
        __Neocode-Forget $newest
        if ($Vi) {
            [Microsoft.PowerShell.PSConsoleReadLine]::ViAcceptLine($Key, $Arg)
        } else {
            [Microsoft.PowerShell.PSConsoleReadLine]::AcceptLine($Key, $Arg)
        }
    }

    $newest = __Neocode-Newest
    __Neocode-Repair
    $Global:__NeocodeState.ReadCalled = $true
    __Neocode-Forget $newest
}
