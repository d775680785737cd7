@echo off
rem Runs every test. Usage: scripts\test [--wine] [PYTEST ARGUMENTS]
setlocal
set "NEOCODE_ROOT=%~dp0.."
if exist "%NEOCODE_ROOT%\.venv\.neocode-test" if exist "%NEOCODE_ROOT%\.venv\Scripts\python.exe" goto run
call "%~dp0setup.cmd" test || exit /b 2
:run
endlocal & "%~dp0..\.venv\Scripts\python.exe" -I "%~dp0run_tests.py" %*
