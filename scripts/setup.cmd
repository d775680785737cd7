@echo off
rem Finds a Python that can run us and hands over to setup.py. Usage: setup.cmd run^|test
setlocal
set "NEOCODE_TRY=import sys; sys.exit(sys.version_info < (3, 10))"
for %%P in ("%NEOCODE_PYTHON%" "py -3" "python" "python3") do (
    if not "%%~P"=="" (
        %%~P -I -c "%NEOCODE_TRY%" >nul 2>nul
        if not errorlevel 1 (
            %%~P -I "%~dp0setup.py" %1
            goto done
        )
    )
)
echo neocode: no Python 3.10 or newer was found; install one ^(or set NEOCODE_PYTHON to its path^) and run this again 1>&2
exit /b 2
:done
exit /b %errorlevel%
