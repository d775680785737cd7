@echo off
rem Finds a Python that can run us and hands over to setup.py. Usage: setup.cmd run^|test
setlocal
set "NEOCODE_TRY=import sys; sys.exit(sys.version_info < (3, 10))"
set "NEOCODE_FOUND="
if defined NEOCODE_PYTHON call :try "%NEOCODE_PYTHON:"=%"
if not defined NEOCODE_FOUND call :try py -3
if not defined NEOCODE_FOUND call :try python
if not defined NEOCODE_FOUND call :try python3
if not defined NEOCODE_FOUND (
    echo neocode: no Python 3.10 or newer was found; install one ^(or set NEOCODE_PYTHON to its path^) and run this again 1>&2
    exit /b 2
)
%NEOCODE_FOUND% -I "%~dp0setup.py" %1
exit /b %errorlevel%

rem Not "if errorlevel 1": a Python that crashes has a negative code.
:try
%* -I -c "%NEOCODE_TRY%" >nul 2>nul
if %errorlevel% equ 0 set NEOCODE_FOUND=%*
exit /b 0
