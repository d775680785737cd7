"""The shell proxy. Imports `ringbuffer` and `conpty`; never imports `neocode`."""
