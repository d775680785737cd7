"""What differs between systems: the pseudo terminal and the user's terminal. One module per system, same names."""
