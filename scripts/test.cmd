@echo off
rem Runs every test. Usage: scripts\test [--wine] [PYTEST ARGUMENTS]
if exist "%~dp0..\.venv\.neocode-test" if exist "%~dp0..\.venv\Scripts\python.exe" goto run
call "%~dp0setup.cmd" test || exit /b 2
:run
"%~dp0..\.venv\Scripts\python.exe" -I "%~dp0run_tests.py" %*
