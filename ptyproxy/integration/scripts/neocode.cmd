@rem Puts the marks of `neocode shell` round a PROMPT that something else has set since (AutoRun, a batch file), when it is
@rem called after that. Elsewhere it does nothing. Save what `neocode shell --init cmd` prints as a .cmd file and call it.
@if not defined NEOCODE_SESSION_DIR goto :eof
@if not exist "%NEOCODE_SESSION_DIR%\prompt" goto :eof
@if not defined PROMPT set "PROMPT=$P$G"
@if not "%PROMPT:neocode;=%"=="%PROMPT%" goto :eof
@for /f "usebackq delims=" %%m in ("%NEOCODE_SESSION_DIR%\prompt") do @set "PROMPT=%%m%PROMPT%$e]7781;neocode;B$e\"
