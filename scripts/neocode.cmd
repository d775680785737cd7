@echo off
rem Runs neocode from this checkout; the first run builds .venv from requirements.lock.
setlocal
set "NEOCODE_ROOT=%~dp0.."
if exist "%NEOCODE_ROOT%\.venv\.neocode-run" if exist "%NEOCODE_ROOT%\.venv\Scripts\python.exe" goto run
call "%~dp0setup.cmd" run || exit /b 2
:run
endlocal & "%~dp0..\.venv\Scripts\python.exe" -I -m neocode %*
