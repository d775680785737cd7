@echo off
rem Runs neocode from this checkout; the first run builds .venv from requirements.lock. Nothing is set in the environment.
if exist "%~dp0..\.venv\.neocode-run" if exist "%~dp0..\.venv\Scripts\python.exe" goto run
call "%~dp0setup.cmd" run || exit /b 2
:run
"%~dp0..\.venv\Scripts\python.exe" -I -m neocode %*
