# Marks prompts and commands for `neocode shell`, and shows at the prompt what it is told to. Elsewhere it does nothing.
# Rules: $? and $LASTEXITCODE are read first and put back; the user's prompt is called, never rewritten; the nonce is in
# no prompt, environment or history; a language mode that forbids any of this leaves everything as it is.

if ($env:NEOCODE_SESSION_DIR -and -not $Global:__NeocodeState -and
    $ExecutionContext.SessionState.LanguageMode -eq 'FullLanguage' -and
    (Test-Path -LiteralPath (Join-Path $env:NEOCODE_SESSION_DIR 'nonce')) -and
    -not [Console]::IsOutputRedirected -and $env:TERM -ne 'dumb') {

    $Global:__NeocodeState = @{
        Dir = $env:NEOCODE_SESSION_DIR
        Nonce = [IO.File]::ReadAllText((Join-Path $env:NEOCODE_SESSION_DIR 'nonce')).Trim()
        Key = $env:NEOCODE_HOTKEY
        LastId = -1
        First = $true
        Line = ''
        Ran = $false
        Asked = $false
        Prompt = $function:prompt
        ReadLine = $function:PSConsoleHostReadLine
    }
    [IO.File]::Delete((Join-Path $env:NEOCODE_SESSION_DIR 'nonce'))
    Remove-Item Env:NEOCODE_HOTKEY -ErrorAction Ignore

    # A mark, as a string. $Fields are encoded already.
    function Global:__Neocode-Mark([string]$Kind, [string]$Fields, [switch]$Secret) {
        $nonce = if ($Secret) { ";nc=$($Global:__NeocodeState.Nonce)" } else { '' }
        return "$([char]27)]7781;neocode;$Kind$nonce$Fields$([char]7)"
    }

    # A value of a mark: UTF-8, all but unreserved characters as %XX.
    function Global:__Neocode-Encode([string]$Text) {
        $encoded = New-Object Text.StringBuilder
        foreach ($byte in [Text.Encoding]::UTF8.GetBytes($Text)) {
            if ($byte -ge 0x20 -and $byte -lt 0x7f -and $byte -ne 0x25 -and $byte -ne 0x3b) {
                [void]$encoded.Append([char]$byte)
            } else {
                [void]$encoded.Append('%' + $byte.ToString('X2'))
            }
        }
        return $encoded.ToString()
    }

    # The marks that tell the command line, in parts of 110 characters.
    function Global:__Neocode-Command([string]$Text) {
        $cut = ''
        if ($Text.Length -gt 4000) { $Text = $Text.Substring(0, 4000); $cut = ';cut=1' }
        $value = __Neocode-Encode $Text
        if ($value.Length -le 110 -and -not $cut) { return (__Neocode-Mark C ";cmd=$value" -Secret) }
        $total = [Math]::Min(100, [Math]::Ceiling($value.Length / 110))
        if ($value.Length -gt $total * 110) { $cut = ';cut=1' }
        $marks = ''
        for ($part = 1; $part -le $total; $part++) {
            $at = ($part - 1) * 110
            $piece = $value.Substring($at, [Math]::Min(110, $value.Length - $at))
            $lost = if ($part -eq $total) { $cut } else { '' }
            $marks += __Neocode-Mark C ";part=$part/$total$lost;cmd=$piece" -Secret
        }
        return $marks
    }

    function Global:prompt {
        $ok = $?
        $code = $Global:LASTEXITCODE
        $state = $Global:__NeocodeState
        $before = ''
        try {
            if ($state.First) {
                $state.First = $false
                $facts = ";shell=$(if ($PSVersionTable.PSEdition -eq 'Core') { 'pwsh' } else { 'powershell' }) $($PSVersionTable.PSVersion)"
                $before += __Neocode-Mark D "$facts;hotkey=$(__Neocode-Bind);hooks=prompt" -Secret
            }
            $entry = Get-History -Count 1
            $exit = if ($ok) { 0 } elseif ($code -is [int] -and $code -ne 0) { $code } else { 1 }
            # nothing ran when the history did not grow: a parse error, or an empty line
            if ($state.Ran -and $entry -and $entry.Id -eq $state.LastId -and $ok) { $exit = 0 }
            if ($state.Asked) { $exit = 0; $state.Asked = $false }
            $state.LastId = if ($entry) { $entry.Id } else { -1 }
            $state.Ran = $false
            $state.Line = ''
            $where = ''
            if ($PWD.Provider.Name -eq 'FileSystem') { $where = ";cwd=$(__Neocode-Encode $PWD.ProviderPath)" }
            $before += __Neocode-Mark D ";exit=$exit$where" -Secret
        } catch { }
        # their prompt is to see what the command left behind
        $Global:LASTEXITCODE = $code
        if (-not $ok) { Write-Error 'failed' -ErrorAction Ignore }
        $text = & $state.Prompt
        $Global:LASTEXITCODE = $code
        return $before + (__Neocode-Mark A '') + (-join @($text)) + (__Neocode-Mark B '')
    }

    if ($Global:__NeocodeState.ReadLine) {
        function Global:PSConsoleHostReadLine {
            $state = $Global:__NeocodeState
            $line = & $state.ReadLine
            if ($line) {
                $state.Ran = $true
                try { [Console]::Write((__Neocode-Command $line)) } catch { }
                # `@ai why didn't it work?` is for the proxy, as it was typed
                if ($line -match '^\s*@ai(\s|$)') { $state.Asked = $true; return '' }
            }
            return $line
        }
    }

    # Binds the widget and the hotkey in PSReadLine; who has the hotkey.
    function Global:__Neocode-Bind {
        if (-not (Get-Module PSReadLine)) { return 'none' }
        $state = $Global:__NeocodeState
        Set-PSReadLineKeyHandler -Chord 'Ctrl+Alt+Shift+F12' -BriefDescription 'neocode' -ScriptBlock { __Neocode-Widget }
        if (-not $state.Key) { return 'none' }
        $chord = "Ctrl+$($state.Key)"
        $bound = Get-PSReadLineKeyHandler -Bound | Where-Object { $_.Key -eq $chord -or $_.Key -like "$chord,*" }
        if ($bound | Where-Object { $_.Group -eq 'Custom' -or $_.Key -ne $chord }) { return 'user' }
        Set-PSReadLineKeyHandler -Chord $chord -BriefDescription 'neocode hotkey' -ScriptBlock { __Neocode-Hotkey }
        return 'ours'
    }

    # The hotkey: tells what stands in the line, nothing else.
    function Global:__Neocode-Hotkey {
        $buffer = ''; $cursor = 0
        [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$buffer, [ref]$cursor)
        $line = if (-not $buffer) { 'empty' } elseif ($buffer -ceq $Global:__NeocodeState.Line) { 'same' } else { 'other' }
        [Console]::Write((__Neocode-Mark K ";line=$line" -Secret))
    }

    # The proxy's key: takes its orders.
    function Global:__Neocode-Widget {
        $state = $Global:__NeocodeState
        $buffer = ''; $cursor = 0
        [Microsoft.PowerShell.PSConsoleReadLine]::GetBufferState([ref]$buffer, [ref]$cursor)
        $lineFile = Join-Path $state.Dir 'line'
        $showFile = Join-Path $state.Dir 'show'
        if (Test-Path -LiteralPath $lineFile) {
            $line = [IO.File]::ReadAllText($lineFile)
            [IO.File]::Delete($lineFile)
            if (-not $buffer -or $buffer -ceq $state.Line) {
                [Microsoft.PowerShell.PSConsoleReadLine]::Replace(0, $buffer.Length, $line)
                $state.Line = $line
            }
        }
        if (Test-Path -LiteralPath $showFile) {
            $text = [IO.File]::ReadAllText($showFile)
            [IO.File]::Delete($showFile)
            # below what is there; InvokePrompt then draws the prompt, and the line, at the cursor
            [Console]::Write("`r`n$([char]27)[J" + $text.Replace("`n", "`r`n"))
            [Microsoft.PowerShell.PSConsoleReadLine]::InvokePrompt($null, [Console]::CursorTop)
        } else {
            [Console]::Write((__Neocode-Mark B ''))
        }
    }
}
